//! The derived store behind search: sources, their chunks, vectors, and the facts that texts state.

mod entities;
mod graph;
mod names;

use async_trait::async_trait;
use onyx_types::{Hash, Origin, PersonId, RunId, Scope, SessionId, Timestamp, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StoreError;

pub(crate) use entities::{EntityMerge, NewestEntities};
pub use graph::{
    ChunkFacts, EntityName, EntityRow, FactId, FactRow, Holds, ObjectKind, StoredFact,
};
pub use names::NameDecisions;

/// A document of a person, or a shared one of everybody, named by its storage key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceKey {
    pub person: Option<PersonId>,
    pub path: String,
}

impl SourceKey {
    /// The path from the root of everything that a person may read. Shared documents are below
    /// `shared/` there.
    pub fn rooted_path(&self) -> String {
        match self.person {
            Some(_) => self.path.clone(),
            None => format!("shared/{}", self.path),
        }
    }

    /// The session of a conversation, and its run if the path names one; `None` for a file.
    pub fn session(&self) -> Option<(SessionId, Option<RunId>)> {
        let mut parts = self.path.strip_prefix("sessions/")?.split('/');
        let session = parts.next()?.parse().ok()?;
        Some((session, parts.next().and_then(|run| run.parse().ok())))
    }
}

/// The kinds of documents.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    Memory,
    Daily,
    Note,
    Page,
    Task,
    Ref,
    Project,
    /// The text of a knowledge source that a person attached.
    Source,
    Session,
    Shared,
}

impl SourceKind {
    pub const ALL: [Self; 10] = [
        Self::Memory,
        Self::Daily,
        Self::Note,
        Self::Page,
        Self::Task,
        Self::Ref,
        Self::Project,
        Self::Source,
        Self::Session,
        Self::Shared,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Daily => "daily",
            Self::Note => "note",
            Self::Page => "page",
            Self::Task => "task",
            Self::Ref => "ref",
            Self::Project => "project",
            Self::Source => "source",
            Self::Session => "session",
            Self::Shared => "shared",
        }
    }
}

/// The size and time of a file when it was read. While they are unchanged, the file need not be
/// read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub size: u64,
    pub modified: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SourceRow {
    pub key: SourceKey,
    pub kind: SourceKind,
    pub scope: Scope,
    pub origin: Origin,
    pub title: String,
    pub checksum: Hash,
    pub stamp: Stamp,
    /// The version of the rules by which the text was cut. It is cut again when the rules differ.
    pub chunking: String,
    /// The reason why nothing of this source can be found, if that is so.
    pub problem: Option<String>,
    pub indexed_at: Timestamp,
    /// The conversation to which the source's messages belong; the messages of all its sources have
    /// one common order. `None`: the source holds no messages.
    pub conversation: Option<String>,
    /// The day that the document says it is about, regardless of when its file was written.
    pub dated: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChunkRow {
    pub start_line: u32,
    pub end_line: u32,
    /// The headings above the chunk, outermost first.
    pub heading: String,
    pub origin: Origin,
    pub text: String,
    /// The hash of the text that is embedded for this chunk. A chunk with the same text as before
    /// keeps its vector.
    pub hash: Hash,
    /// The message that the chunk is from; `None` for notes.
    pub message: Option<Message>,
}

/// What is known of a message. A chunk holds all or part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The message's turn; `None`: it comes from a transcript, not from a log of turns.
    pub turn: Option<TurnId>,
    /// The author's name or id, as it is displayed.
    pub author: String,
    pub at: Option<Timestamp>,
    /// The place in the conversation: a later message has a greater position.
    pub position: u64,
}

/// The id of a source. An id is never used twice within an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SourceId(pub u64);

/// The id of a chunk. An id is never used twice within an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChunkId(pub u64);

/// The id of a group: sources of one person, scope and kind, which the same searches may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupId(pub u32);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub id: GroupId,
    pub person: Option<PersonId>,
    pub scope: Scope,
    pub kind: SourceKind,
}

/// The record that a source was changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceChange {
    pub seq: u64,
    /// The sequence when the source's text changed last. If `seq` is later, that change was only
    /// about vectors.
    pub text_seq: u64,
    pub source: SourceId,
}

/// What a source holds at present.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    pub group: GroupId,
    pub title: String,
    pub chunks: Vec<(ChunkId, ChunkRow)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    pub chunk: ChunkId,
    pub source: SourceId,
    pub group: GroupId,
    pub vector: Vec<f32>,
}

/// A chunk without its text: what ranking needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinedChunk {
    pub chunk: ChunkId,
    pub source: SourceId,
    pub group: GroupId,
    /// When the text was said; if that is unknown, the day that it is about, else when its file was
    /// written.
    pub at: Timestamp,
    pub message: Option<OutlinedMessage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinedMessage {
    pub person: Option<PersonId>,
    pub conversation: String,
    pub author: String,
    pub position: u64,
}

/// A chunk with everything that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredChunk {
    pub id: ChunkId,
    pub source: SourceRow,
    pub row: ChunkRow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCounts {
    pub sources: u64,
    pub chunks: u64,
    pub vectors: u64,
    /// The number of sources of which nothing can be found.
    pub problems: u64,
}

/// The current position of a store. Followers compare it with their own position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePosition {
    pub epoch: u64,
    pub last_change: u64,
    pub served_vectors: Option<String>,
}

/// The derived store behind search. Everything in it can be made again, so deleting it loses
/// nothing.
#[async_trait]
pub trait ChunkStore: Send + Sync {
    /// Replaces everything of these sources in one transaction and returns the sequence of the last
    /// change. A chunk whose text any chunk had before takes over that chunk's vector.
    async fn replace_all(
        &self,
        sources: Vec<(SourceRow, Vec<ChunkRow>)>,
    ) -> Result<u64, StoreError>;

    async fn replace(&self, source: &SourceRow, chunks: &[ChunkRow]) -> Result<u64, StoreError> {
        self.replace_all(vec![(source.clone(), chunks.to_vec())]).await
    }

    /// Stores the new size and time of a file that was written again with the same content.
    async fn touch(&self, key: &SourceKey, stamp: Stamp, at: Timestamp) -> Result<(), StoreError>;

    async fn remove(&self, key: &SourceKey) -> Result<u64, StoreError>;

    /// Removes all sources whose paths begin with a prefix.
    async fn remove_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<u64, StoreError>;

    /// Lists the paths of all sources that begin with a prefix, sorted.
    async fn paths_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<Vec<String>, StoreError>;

    async fn source(&self, key: &SourceKey) -> Result<Option<SourceRow>, StoreError>;

    /// Lists the sources of one person, or the shared ones, sorted by path. Sessions are left out:
    /// there are as many sources as runs, and no file corresponds to one.
    async fn sources(&self, person: Option<&PersonId>) -> Result<Vec<SourceRow>, StoreError>;

    /// Lists the sources of which nothing can be found, each with the reason.
    async fn problems(
        &self,
        person: Option<&PersonId>,
        limit: u32,
    ) -> Result<Vec<SourceRow>, StoreError>;

    /// Counts sources and chunks, and the vectors of one model if one is given.
    async fn counts(
        &self,
        person: Option<&PersonId>,
        model: Option<&str>,
    ) -> Result<ChunkCounts, StoreError>;

    async fn chunks(&self, key: &SourceKey) -> Result<Vec<ChunkRow>, StoreError>;

    /// The epoch of the store. It changes when the store is created again. Sequences of different
    /// epochs cannot be compared, so a follower then starts again from 0 with nothing.
    async fn epoch(&self) -> Result<u64, StoreError>;

    /// Lists sources that were changed or removed after a sequence, oldest first. Followers, such
    /// as the text index and the vector codes, use this to keep up.
    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<SourceChange>, StoreError>;

    /// The sequence of the newest change; 0 when there is none.
    async fn last_change(&self) -> Result<u64, StoreError>;

    /// The position of the store. Every search asks for it, so stores that can answer with one
    /// query should do so.
    async fn standing(&self) -> Result<StorePosition, StoreError> {
        Ok(StorePosition {
            epoch: self.epoch().await?,
            last_change: self.last_change().await?,
            served_vectors: self.served_vectors().await?,
        })
    }

    /// Returns the contents of each source, in the order of the ids; `None` where the source was
    /// removed.
    async fn contents(&self, sources: &[SourceId]) -> Result<Vec<Option<Contents>>, StoreError>;

    /// Lists groups in the order of their ids, after a group. The first id is 1. A group is never
    /// changed or removed within an epoch, so a reader may remember those it has read, as far as
    /// `groups_settled_through` says.
    async fn groups_after(&self, after: GroupId) -> Result<Vec<Group>, StoreError>;

    /// Returns the id up to which no new group can appear any more, as `settled_through` does for
    /// chunks. A reader asks this before it reads groups.
    async fn groups_settled_through(&self) -> Result<GroupId, StoreError> {
        Ok(GroupId(u32::MAX))
    }

    /// Returns those of the chunks that still exist.
    async fn stored(&self, chunks: &[ChunkId]) -> Result<Vec<StoredChunk>, StoreError>;

    /// Lists the ids of all sources of one person, or of the shared ones, in ascending order.
    async fn source_ids(&self, person: Option<&PersonId>) -> Result<Vec<SourceId>, StoreError>;

    async fn outline_of(&self, sources: &[SourceId]) -> Result<Vec<OutlinedChunk>, StoreError>;

    /// The model whose vectors searches use. The vectors of one more model are kept beside them, so
    /// that they can be made while the current ones are in use; those of a third model replace the
    /// second's.
    async fn served_vectors(&self) -> Result<Option<String>, StoreError>;

    /// Makes searches use the vectors of this model from now on. The vectors of all other models
    /// are deleted.
    async fn serve_vectors_of(&self, model: &str) -> Result<(), StoreError>;

    /// Lists chunks after a chunk that have no vector of a model yet.
    async fn without_vector(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// Stores vectors of chunks. Chunks that no longer exist are skipped.
    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(ChunkId, Vec<f32>)>,
    ) -> Result<(), StoreError>;

    /// Lists vectors in the order of chunk ids, after a chunk.
    async fn vectors_after(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError>;

    /// The newest chunk that has a vector of a model.
    async fn newest_vector(&self, model: &str) -> Result<Option<ChunkId>, StoreError>;

    async fn vectors_of(
        &self,
        model: &str,
        sources: &[SourceId],
    ) -> Result<Vec<StoredVector>, StoreError>;

    async fn vectors(
        &self,
        model: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<(ChunkId, Vec<f32>)>, StoreError>;

    /// Stores the vectors of chunks' tokens, in a form that only their maker reads. They are stored
    /// with the vector of the chunk; chunks that have no vector are skipped.
    async fn keep_tokens(
        &self,
        model: &str,
        tokens: Vec<(ChunkId, Vec<u8>)>,
    ) -> Result<(), StoreError>;

    /// Returns the token vectors of those chunks that have any, in no particular order.
    async fn tokens(
        &self,
        model: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<(ChunkId, Vec<u8>)>, StoreError>;

    /// Lists chunks after a chunk that have a vector of a model but no token vectors.
    async fn without_tokens(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// Lists chunks before a chunk that have a vector of a model but no token vectors, newest
    /// first.
    async fn without_tokens_before(
        &self,
        model: &str,
        before: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// The number of bytes that the token vectors take. It is updated with every change, so that
    /// asking costs the same however many there are.
    async fn token_bytes(&self, model: &str) -> Result<u64, StoreError>;

    /// Deletes the token vectors of the oldest chunks until the rest takes at most `most` bytes.
    /// Returns the newest chunk that lost its token vectors, if any did.
    async fn drop_oldest_tokens(
        &self,
        model: &str,
        most: u64,
    ) -> Result<Option<ChunkId>, StoreError>;

    /// Returns the id up to which no new chunk can appear any more. After it, a chunk may still appear before one that is
    /// there already, so no reader remembers to have read further than this. A reader asks this before it reads chunks. In
    /// a home, chunks are written one after the other, so there is no bound.
    async fn settled_through(&self) -> Result<ChunkId, StoreError> {
        Ok(ChunkId(u64::MAX))
    }

    /// Lists chunks in the order of their ids, after a chunk.
    async fn chunks_after(
        &self,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// Stores facts. They replace what the same makers found in the same chunks before. Chunks that
    /// no longer exist are skipped.
    async fn keep_facts(&self, found: Vec<ChunkFacts>) -> Result<(), StoreError>;

    /// Lists facts within groups whose subject or object is one of these names, those stated last
    /// first.
    async fn facts_about(
        &self,
        keys: &[String],
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<StoredFact>, StoreError>;

    /// Lists the entities that facts within groups are about and whose key contains a part; those
    /// stated last come first. The list is kept for each group, so that asking costs the same
    /// however many facts there are; only a part is looked for in the name of each entity.
    async fn entities(
        &self,
        part: &str,
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<EntityRow>, StoreError>;

    /// The facts that a maker found in a text before; `None`: it has not read this text.
    async fn reading(&self, text: Hash, maker: &str) -> Result<Option<Vec<FactRow>>, StoreError>;

    async fn keep_reading(
        &self,
        text: Hash,
        maker: &str,
        facts: &[FactRow],
    ) -> Result<(), StoreError>;

    /// Lists the marks whose names begin with a prefix. Marks are small notes of the indexers that
    /// fill the store.
    async fn marks(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError>;

    /// Sets all of the marks in one transaction.
    async fn set_marks(&self, marks: Vec<(String, String)>) -> Result<(), StoreError>;

    async fn set_mark(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.set_marks(vec![(name.to_owned(), value.to_owned())]).await
    }

    /// Adds to the count that a mark holds as `period count`. The addition is atomic for all who
    /// count, and a new period begins at zero. Returns the new count.
    async fn add_to_mark(&self, name: &str, period: &str, by: u64) -> Result<u64, StoreError>;
}
