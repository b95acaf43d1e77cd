//! The derived store behind search: sources, chunks, vectors, and the facts that texts say.

mod graph;
mod names;

use async_trait::async_trait;
use onyx_types::{Hash, Origin, PersonId, RunId, Scope, SessionId, Timestamp, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StoreError;

pub use graph::{
    ChunkFacts, EntityName, EntityRow, FactId, FactRow, Holds, ObjectKind, StoredFact,
};
pub use names::NameDecisions;

/// A document of a person (or of everybody, for shared ones) by its storage key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceKey {
    pub person: Option<PersonId>,
    pub path: String,
}

impl SourceKey {
    /// The path from the root of what a person may read; shared documents lie in `shared/` there.
    pub fn rooted_path(&self) -> String {
        match self.person {
            Some(_) => self.path.clone(),
            None => format!("shared/{}", self.path),
        }
    }

    /// The session and the run of a conversation; `None` for a file.
    pub fn session(&self) -> Option<(SessionId, Option<RunId>)> {
        let mut parts = self.path.strip_prefix("sessions/")?.split('/');
        let session = parts.next()?.parse().ok()?;
        Some((session, parts.next().and_then(|run| run.parse().ok())))
    }
}

/// What a document is.
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
    /// Text of a knowledge source that a person attached.
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

/// The state of a file when it was read; while it is equal, the file need not be read again.
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
    /// How its text was cut; it is cut again when that differs.
    pub chunking: String,
    /// Why nothing of it can be found.
    pub problem: Option<String>,
    pub indexed_at: Timestamp,
    /// Messages of all its sources stand in one order. `None`: it holds no messages.
    pub conversation: Option<String>,
    /// When it says it is of, whenever its file was written.
    pub dated: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChunkRow {
    pub start_line: u32,
    pub end_line: u32,
    /// The headings it stands under, outermost first.
    pub heading: String,
    pub origin: Origin,
    pub text: String,
    /// The hash of what is embedded for it: a chunk that says the same keeps its vector.
    pub hash: Hash,
    /// `None` for notes.
    pub message: Option<Message>,
}

/// What is known of a message, of which a chunk holds all or a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `None`: it stands in a transcript, not in a log of turns.
    pub turn: Option<TurnId>,
    /// A name or an id, as it is shown.
    pub author: String,
    pub at: Option<Timestamp>,
    /// A later message of the conversation has a greater one.
    pub position: u64,
}

/// An id is never used twice within an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SourceId(pub u64);

/// An id is never used twice within an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChunkId(pub u64);

/// Sources that the same searches may see: of one person, scope and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupId(pub u32);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub id: GroupId,
    pub person: Option<PersonId>,
    pub scope: Scope,
    pub kind: SourceKind,
}

/// A source that was changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceChange {
    pub seq: u64,
    /// When its text changed last; a later `seq` was only about vectors.
    pub text_seq: u64,
    pub source: SourceId,
}

/// What a source holds now.
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

/// Where a chunk stands, without its text: what ranking goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinedChunk {
    pub chunk: ChunkId,
    pub source: SourceId,
    pub group: GroupId,
    /// When it was said, else the day it says it is of, else when its file was written.
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

/// A chunk with all that is known of it.
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
    /// Sources of which nothing can be found.
    pub problems: u64,
}

/// Where a store stands; followers compare it with where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePosition {
    pub epoch: u64,
    pub last_change: u64,
    pub served_vectors: Option<String>,
}

/// The derived store behind search: deleting it loses nothing.
#[async_trait]
pub trait ChunkStore: Send + Sync {
    /// Replaces everything of these sources in one transaction and returns the last change's
    /// sequence. Chunks that say what any chunk said before take over its vector.
    async fn replace_all(
        &self,
        sources: Vec<(SourceRow, Vec<ChunkRow>)>,
    ) -> Result<u64, StoreError>;

    async fn replace(&self, source: &SourceRow, chunks: &[ChunkRow]) -> Result<u64, StoreError> {
        self.replace_all(vec![(source.clone(), chunks.to_vec())]).await
    }

    /// The file was written again with the same content.
    async fn touch(&self, key: &SourceKey, stamp: Stamp, at: Timestamp) -> Result<(), StoreError>;

    async fn remove(&self, key: &SourceKey) -> Result<u64, StoreError>;

    /// Every source whose path begins so.
    async fn remove_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<u64, StoreError>;

    /// The paths of every source whose path begins so, sorted.
    async fn paths_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<Vec<String>, StoreError>;

    async fn source(&self, key: &SourceKey) -> Result<Option<SourceRow>, StoreError>;

    /// Sources of one person (or the shared ones), sorted by path. Sessions are left out: there
    /// are as many as runs, and no file answers to one.
    async fn sources(&self, person: Option<&PersonId>) -> Result<Vec<SourceRow>, StoreError>;

    /// Sources of which nothing can be found, and why.
    async fn problems(
        &self,
        person: Option<&PersonId>,
        limit: u32,
    ) -> Result<Vec<SourceRow>, StoreError>;

    /// Counts sources and chunks, and the vectors of a model if one is given.
    async fn counts(
        &self,
        person: Option<&PersonId>,
        model: Option<&str>,
    ) -> Result<ChunkCounts, StoreError>;

    async fn chunks(&self, key: &SourceKey) -> Result<Vec<ChunkRow>, StoreError>;

    /// Changes when the store is created again: sequences of another epoch mean nothing, and a
    /// follower starts from 0 with nothing.
    async fn epoch(&self) -> Result<u64, StoreError>;

    /// Sources changed or removed after a sequence, oldest first, each with its own; followers
    /// (text index, vector codes) keep up by this.
    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<SourceChange>, StoreError>;

    /// The sequence of the newest change; 0 when there is none.
    async fn last_change(&self) -> Result<u64, StoreError>;

    /// Every search asks for this, so it takes only one look where the store can do that.
    async fn standing(&self) -> Result<StorePosition, StoreError> {
        Ok(StorePosition {
            epoch: self.epoch().await?,
            last_change: self.last_change().await?,
            served_vectors: self.served_vectors().await?,
        })
    }

    /// One for each, in their order; `None` where the source was removed.
    async fn contents(&self, sources: &[SourceId]) -> Result<Vec<Option<Contents>>, StoreError>;

    async fn groups(&self) -> Result<Vec<Group>, StoreError>;

    /// Those of the chunks that are still there.
    async fn stored(&self, chunks: &[ChunkId]) -> Result<Vec<StoredChunk>, StoreError>;

    /// The outline in the order of chunks, after this one.
    async fn outline_after(
        &self,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<OutlinedChunk>, StoreError>;

    async fn outline_of(&self, sources: &[SourceId]) -> Result<Vec<OutlinedChunk>, StoreError>;

    /// The model whose vectors searches go by. Those of one other are kept beside them, so that
    /// they can be made while these serve; those of a third take the place of the second.
    async fn served_vectors(&self) -> Result<Option<String>, StoreError>;

    /// From now on searches go by the vectors of this model. All others are dropped.
    async fn serve_vectors_of(&self, model: &str) -> Result<(), StoreError>;

    /// Chunks after this one that have no vector of a model yet.
    async fn without_vector(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// Chunks that are gone by now are passed over.
    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(ChunkId, Vec<f32>)>,
    ) -> Result<(), StoreError>;

    /// Vectors in the order of chunks, after this one.
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

    /// Keeps the vectors of chunks' tokens, in a form that only their maker reads. They are stored
    /// with the vector of the chunk; those of chunks without one are skipped.
    async fn keep_tokens(
        &self,
        model: &str,
        tokens: Vec<(ChunkId, Vec<u8>)>,
    ) -> Result<(), StoreError>;

    /// The tokens' vectors of those chunks that have any, in no order.
    async fn tokens(
        &self,
        model: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<(ChunkId, Vec<u8>)>, StoreError>;

    /// Chunks after this one that have a vector of a model and none of their tokens.
    async fn without_tokens(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// The same before a chunk, the newest first.
    async fn without_tokens_before(
        &self,
        model: &str,
        before: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// How much the vectors of tokens take. It is counted with every change, so that asking costs the
    /// same however many there are.
    async fn token_bytes(&self, model: &str) -> Result<u64, StoreError>;

    /// Deletes the tokens' vectors of the oldest chunks until the others take at most so many bytes. The
    /// newest chunk that lost its own, if any did.
    async fn drop_oldest_tokens(
        &self,
        model: &str,
        most: u64,
    ) -> Result<Option<ChunkId>, StoreError>;

    /// Up to here every chunk is there that will ever have such a number. Chunks after it may still appear before ones that
    /// are there already, so nobody remembers to have read further than this. It is asked before the chunks are read. In
    /// a home chunks are written one after the other, so this is no bound.
    async fn settled_through(&self) -> Result<ChunkId, StoreError> {
        Ok(ChunkId(u64::MAX))
    }

    /// Chunks in order, after this one.
    async fn chunks_after(
        &self,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError>;

    /// Takes the place of what the same makers found in the same chunks. Chunks that are gone by now
    /// are passed over.
    async fn keep_facts(&self, found: Vec<ChunkFacts>) -> Result<(), StoreError>;

    /// Facts that begin or end at one of these names, within groups, those said last first.
    async fn facts_about(
        &self,
        keys: &[String],
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<StoredFact>, StoreError>;

    /// Who and what facts within groups are about, by a part of their key; those said of last first.
    async fn entities(
        &self,
        part: &str,
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<EntityRow>, StoreError>;

    /// What a maker found in a text before.
    async fn reading(&self, text: Hash, maker: &str) -> Result<Option<Vec<FactRow>>, StoreError>;

    async fn keep_reading(
        &self,
        text: Hash,
        maker: &str,
        facts: &[FactRow],
    ) -> Result<(), StoreError>;

    /// Small notes of the indexers that fill the store, by name.
    async fn marks(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError>;

    /// Sets all of them in one transaction.
    async fn set_marks(&self, marks: Vec<(String, String)>) -> Result<(), StoreError>;

    async fn set_mark(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.set_marks(vec![(name.to_owned(), value.to_owned())]).await
    }

    /// Adds to the count that a mark holds as `period count`, at once for all who count; a new period
    /// begins at zero. Gives back the count.
    async fn add_to_mark(&self, name: &str, period: &str, by: u64) -> Result<u64, StoreError>;
}
