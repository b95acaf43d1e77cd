//! The derived chunk store in `cache/index.db`.

mod entities;
mod facts;
mod file;
mod outline;
mod read;
mod tokens;
mod vectors;
mod write;

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onyx_types::{Clock, Hash, PersonId, Timestamp};
use rusqlite::Connection;

use crate::blocking::Blocking;
use crate::{
    ChunkCounts, ChunkFacts, ChunkId, ChunkRow, ChunkStore, Contents, EntityRow, FactRow, Group,
    GroupId, OutlinedChunk, SourceChange, SourceId, SourceKey, SourceRow, Stamp, StoreError,
    StorePosition, StoredChunk, StoredFact, StoredVector,
};
use file::IndexFile;

#[derive(Clone, Debug)]
pub(crate) struct SqliteChunks {
    file: Arc<IndexFile>,
    blocking: Blocking,
}

/// Opens a chunk store in its own file, for servers whose other data is in PostgreSQL.
pub fn open_chunks(path: &Path, clock: Arc<dyn Clock>) -> Arc<dyn ChunkStore> {
    Arc::new(SqliteChunks::new(path, clock, Blocking::new()))
}

impl SqliteChunks {
    pub(crate) fn new(path: &Path, clock: Arc<dyn Clock>, blocking: Blocking) -> Self {
        let file = IndexFile { path: path.to_owned(), clock, open: Mutex::default() };
        Self { file: Arc::new(file), blocking }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let file = Arc::clone(&self.file);
        self.blocking.run(move || file.with(&work)).await
    }
}

#[async_trait]
impl ChunkStore for SqliteChunks {
    async fn replace_all(
        &self,
        sources: Vec<(SourceRow, Vec<ChunkRow>)>,
    ) -> Result<u64, StoreError> {
        self.run(move |connection| write::replace_all(connection, &sources)).await
    }

    async fn touch(&self, key: &SourceKey, stamp: Stamp, at: Timestamp) -> Result<(), StoreError> {
        let key = key.clone();
        self.run(move |connection| write::touch(connection, &key, stamp, at)).await
    }

    async fn remove(&self, key: &SourceKey) -> Result<u64, StoreError> {
        let key = key.clone();
        self.run(move |connection| write::remove(connection, &key)).await
    }

    async fn remove_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<u64, StoreError> {
        let (person, prefix) = (person_column(person), prefix.to_owned());
        self.run(move |connection| write::remove_under(connection, &person, &prefix)).await
    }

    async fn paths_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<Vec<String>, StoreError> {
        let (person, prefix) = (person_column(person), prefix.to_owned());
        self.run(move |connection| read::paths_under(connection, &person, &prefix)).await
    }

    async fn source(&self, key: &SourceKey) -> Result<Option<SourceRow>, StoreError> {
        let key = key.clone();
        self.run(move |connection| read::source(connection, &key)).await
    }

    async fn sources(&self, person: Option<&PersonId>) -> Result<Vec<SourceRow>, StoreError> {
        let person = person_column(person);
        self.run(move |connection| read::sources(connection, &person)).await
    }

    async fn problems(
        &self,
        person: Option<&PersonId>,
        limit: u32,
    ) -> Result<Vec<SourceRow>, StoreError> {
        let person = person_column(person);
        self.run(move |connection| read::problems(connection, &person, limit)).await
    }

    async fn counts(
        &self,
        person: Option<&PersonId>,
        model: Option<&str>,
    ) -> Result<ChunkCounts, StoreError> {
        let (person, model) = (person_column(person), model.map(str::to_owned));
        self.run(move |connection| read::counts(connection, &person, model.as_deref())).await
    }

    async fn chunks(&self, key: &SourceKey) -> Result<Vec<ChunkRow>, StoreError> {
        let key = key.clone();
        self.run(move |connection| read::chunks(connection, &key)).await
    }

    async fn epoch(&self) -> Result<u64, StoreError> {
        self.run(|connection| read::epoch(connection)).await
    }

    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<SourceChange>, StoreError> {
        self.run(move |connection| read::changes(connection, after, limit)).await
    }

    async fn last_change(&self) -> Result<u64, StoreError> {
        self.run(|connection| read::last_change(connection)).await
    }

    async fn standing(&self) -> Result<StorePosition, StoreError> {
        self.run(|connection| {
            Ok(StorePosition {
                epoch: read::epoch(connection)?,
                last_change: read::last_change(connection)?,
                served_vectors: vectors::served(connection)?,
            })
        })
        .await
    }

    async fn contents(&self, sources: &[SourceId]) -> Result<Vec<Option<Contents>>, StoreError> {
        let sources = sources.to_vec();
        self.run(move |connection| {
            sources.iter().map(|source| read::contents(connection, *source)).collect()
        })
        .await
    }

    async fn groups_after(&self, after: GroupId) -> Result<Vec<Group>, StoreError> {
        self.run(move |connection| read::groups_after(connection, after)).await
    }

    async fn stored(&self, chunks: &[ChunkId]) -> Result<Vec<StoredChunk>, StoreError> {
        let chunks = chunks.to_vec();
        self.run(move |connection| read::stored(connection, &chunks)).await
    }

    async fn source_ids(&self, person: Option<&PersonId>) -> Result<Vec<SourceId>, StoreError> {
        let person = person_column(person);
        self.run(move |connection| read::source_ids(connection, &person)).await
    }

    async fn outline_of(&self, sources: &[SourceId]) -> Result<Vec<OutlinedChunk>, StoreError> {
        let sources = sources.to_vec();
        self.run(move |connection| outline::of_sources(connection, &sources)).await
    }

    async fn served_vectors(&self) -> Result<Option<String>, StoreError> {
        self.run(|connection| vectors::served(connection)).await
    }

    async fn serve_vectors_of(&self, model: &str) -> Result<(), StoreError> {
        let model = model.to_owned();
        self.run(move |connection| vectors::serve(connection, &model)).await
    }

    async fn without_vector(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        let model = model.to_owned();
        self.run(move |connection| vectors::missing(connection, &model, after, limit)).await
    }

    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(ChunkId, Vec<f32>)>,
    ) -> Result<(), StoreError> {
        let model = model.to_owned();
        self.run(move |connection| vectors::keep(connection, &model, &vectors)).await
    }

    async fn vectors_after(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let model = model.to_owned();
        self.run(move |connection| vectors::after(connection, &model, after, limit)).await
    }

    async fn newest_vector(&self, model: &str) -> Result<Option<ChunkId>, StoreError> {
        let model = model.to_owned();
        self.run(move |connection| vectors::newest(connection, &model)).await
    }

    async fn vectors_of(
        &self,
        model: &str,
        sources: &[SourceId],
    ) -> Result<Vec<StoredVector>, StoreError> {
        let (model, sources) = (model.to_owned(), sources.to_vec());
        self.run(move |connection| vectors::of_sources(connection, &model, &sources)).await
    }

    async fn vectors(
        &self,
        model: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<(ChunkId, Vec<f32>)>, StoreError> {
        let (model, chunks) = (model.to_owned(), chunks.to_vec());
        self.run(move |connection| vectors::of_chunks(connection, &model, &chunks)).await
    }

    async fn keep_tokens(
        &self,
        model: &str,
        tokens: Vec<(ChunkId, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        let model = model.to_owned();
        self.run(move |connection| tokens::keep(connection, &model, &tokens)).await
    }

    async fn tokens(
        &self,
        model: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<(ChunkId, Vec<u8>)>, StoreError> {
        let (model, chunks) = (model.to_owned(), chunks.to_vec());
        self.run(move |connection| tokens::of_chunks(connection, &model, &chunks)).await
    }

    async fn without_tokens(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        let model = model.to_owned();
        let order = tokens::ScanOrder::OldestFirst { after };
        self.run(move |connection| tokens::missing(connection, &model, order, limit)).await
    }

    async fn without_tokens_before(
        &self,
        model: &str,
        before: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        let model = model.to_owned();
        let order = tokens::ScanOrder::NewestFirst { before };
        self.run(move |connection| tokens::missing(connection, &model, order, limit)).await
    }

    async fn token_bytes(&self, model: &str) -> Result<u64, StoreError> {
        let model = model.to_owned();
        self.run(move |connection| tokens::bytes(connection, &model)).await
    }

    async fn drop_oldest_tokens(
        &self,
        model: &str,
        most: u64,
    ) -> Result<Option<ChunkId>, StoreError> {
        let model = model.to_owned();
        self.run(move |connection| tokens::drop_oldest(connection, &model, most)).await
    }

    async fn keep_facts(&self, found: Vec<ChunkFacts>) -> Result<(), StoreError> {
        self.run(move |connection| facts::keep(connection, &found)).await
    }

    async fn facts_about(
        &self,
        keys: &[String],
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<StoredFact>, StoreError> {
        let (keys, groups) = (keys.to_vec(), groups.to_vec());
        self.run(move |connection| facts::about(connection, &keys, &groups, limit)).await
    }

    async fn entities(
        &self,
        part: &str,
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<EntityRow>, StoreError> {
        let (part, groups) = (part.to_owned(), groups.to_vec());
        self.run(move |connection| entities::newest(connection, &part, &groups, limit)).await
    }

    async fn reading(&self, text: Hash, maker: &str) -> Result<Option<Vec<FactRow>>, StoreError> {
        let maker = maker.to_owned();
        self.run(move |connection| facts::reading(connection, text, &maker)).await
    }

    async fn keep_reading(
        &self,
        text: Hash,
        maker: &str,
        facts: &[FactRow],
    ) -> Result<(), StoreError> {
        let (maker, facts) = (maker.to_owned(), facts.to_vec());
        self.run(move |connection| facts::keep_reading(connection, text, &maker, &facts)).await
    }

    async fn chunks_after(
        &self,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        self.run(move |connection| read::stored_after(connection, after, limit)).await
    }

    async fn marks(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        let prefix = prefix.to_owned();
        self.run(move |connection| read::marks(connection, &prefix)).await
    }

    async fn set_marks(&self, marks: Vec<(String, String)>) -> Result<(), StoreError> {
        self.run(move |connection| write::set_marks(connection, &marks)).await
    }

    async fn add_to_mark(&self, name: &str, period: &str, by: u64) -> Result<u64, StoreError> {
        let (name, period) = (name.to_owned(), period.to_owned());
        self.run(move |connection| write::add_to_mark(connection, &name, &period, by)).await
    }
}

/// The text of the `person` column: the person's id, or empty for shared documents.
fn person_column(person: Option<&PersonId>) -> String {
    person.map_or_else(String::new, ToString::to_string)
}

/// The ids as a JSON array, which a statement reads as a table.
fn id_list(sources: &[SourceId]) -> String {
    let ids: Vec<String> = sources.iter().map(|source| source.0.to_string()).collect();
    format!("[{}]", ids.join(","))
}
