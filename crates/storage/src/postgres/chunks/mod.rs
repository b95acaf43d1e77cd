//! The derived store behind search: sources, chunks, vectors and facts as rows. Every gateway
//! follows them with an index of its own; no search happens in the database.

mod changes;
mod entities;
mod facts;
mod outline;
mod read;
mod settled;
mod tokens;
mod vectors;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{Hash, PersonId, Timestamp};

use super::connect::Database;
use super::convert::{count, integer};
use super::query::{execute, row};
use super::transaction::transact;
use crate::{
    ChunkCounts, ChunkFacts, ChunkId, ChunkRow, ChunkStore, Contents, EntityRow, FactRow, Group,
    GroupId, OutlinedChunk, SourceChange, SourceId, SourceKey, SourceRow, Stamp, StoreError,
    StorePosition, StoredChunk, StoredFact, StoredVector,
};
use settled::{NumberedTable, SettledRows};

#[derive(Clone, Debug)]
pub(crate) struct PostgresChunks {
    database: Database,
    /// Held while it is asked again, because what was read last must also be noted last.
    settled: Arc<tokio::sync::Mutex<SettledRows>>,
    /// Held for the same reason.
    settled_groups: Arc<tokio::sync::Mutex<SettledRows>>,
}

impl PostgresChunks {
    pub(crate) fn new(database: Database) -> Self {
        let settled = |table| Arc::new(tokio::sync::Mutex::new(SettledRows::new(table)));
        let settled_groups = settled(NumberedTable::Groups);
        Self { database, settled: settled(NumberedTable::Chunks), settled_groups }
    }
}

#[async_trait]
impl ChunkStore for PostgresChunks {
    async fn replace_all(
        &self,
        mut sources: Vec<(SourceRow, Vec<ChunkRow>)>,
    ) -> Result<u64, StoreError> {
        // All gateways write sources in the same order, so that two that index the same sources at
        // once never wait for each other in a circle.
        sources.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
        transact!(self.database, transaction => {
            for (source, chunks) in &sources {
                write::replace(&transaction, source, chunks).await?;
            }
            Ok(())
        })?;
        self.last_change().await
    }

    async fn touch(&self, key: &SourceKey, stamp: Stamp, at: Timestamp) -> Result<(), StoreError> {
        write::touch(&self.database.client().await?, key, stamp, at).await
    }

    async fn remove(&self, key: &SourceKey) -> Result<u64, StoreError> {
        transact!(self.database, transaction => { write::remove(&transaction, key).await })?;
        self.last_change().await
    }

    async fn remove_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<u64, StoreError> {
        transact!(self.database, transaction => {
            write::remove_under(&transaction, person_column(person), prefix).await
        })
    }

    async fn paths_under(
        &self,
        person: Option<&PersonId>,
        prefix: &str,
    ) -> Result<Vec<String>, StoreError> {
        read::paths_under(&self.database.client().await?, person_column(person), prefix).await
    }

    async fn source(&self, key: &SourceKey) -> Result<Option<SourceRow>, StoreError> {
        read::source(&self.database.client().await?, key).await
    }

    async fn sources(&self, person: Option<&PersonId>) -> Result<Vec<SourceRow>, StoreError> {
        read::sources(&self.database.client().await?, person_column(person)).await
    }

    async fn problems(
        &self,
        person: Option<&PersonId>,
        limit: u32,
    ) -> Result<Vec<SourceRow>, StoreError> {
        read::problems(&self.database.client().await?, person_column(person), limit).await
    }

    async fn counts(
        &self,
        person: Option<&PersonId>,
        model: Option<&str>,
    ) -> Result<ChunkCounts, StoreError> {
        read::counts(&self.database.client().await?, person_column(person), model).await
    }

    async fn chunks(&self, key: &SourceKey) -> Result<Vec<ChunkRow>, StoreError> {
        read::chunks(&self.database.client().await?, key).await
    }

    async fn epoch(&self) -> Result<u64, StoreError> {
        read::epoch(&self.database.client().await?).await
    }

    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<SourceChange>, StoreError> {
        changes::number(&self.database).await?;
        changes::after(&self.database.client().await?, after, limit).await
    }

    async fn last_change(&self) -> Result<u64, StoreError> {
        changes::number(&self.database).await?;
        changes::last(&self.database.client().await?).await
    }

    async fn standing(&self) -> Result<StorePosition, StoreError> {
        changes::number(&self.database).await?;
        let client = self.database.client().await?;
        Ok(StorePosition {
            epoch: read::epoch(&client).await?,
            last_change: changes::last(&client).await?,
            served_vectors: vectors::served(&client).await?,
        })
    }

    async fn contents(&self, sources: &[SourceId]) -> Result<Vec<Option<Contents>>, StoreError> {
        read::contents(&self.database.client().await?, sources).await
    }

    async fn groups_after(&self, after: GroupId) -> Result<Vec<Group>, StoreError> {
        read::groups_after(&self.database.client().await?, after).await
    }

    async fn groups_settled_through(&self) -> Result<GroupId, StoreError> {
        let mut settled = self.settled_groups.lock().await;
        let through = settled.through(&self.database.client().await?).await?;
        Ok(GroupId(u32::try_from(through).unwrap_or(u32::MAX)))
    }

    async fn stored(&self, chunks: &[ChunkId]) -> Result<Vec<StoredChunk>, StoreError> {
        read::stored(&self.database.client().await?, chunks).await
    }

    async fn source_ids(&self, person: Option<&PersonId>) -> Result<Vec<SourceId>, StoreError> {
        read::source_ids(&self.database.client().await?, person_column(person)).await
    }

    async fn outline_of(&self, sources: &[SourceId]) -> Result<Vec<OutlinedChunk>, StoreError> {
        outline::of_sources(&self.database.client().await?, sources).await
    }

    async fn served_vectors(&self) -> Result<Option<String>, StoreError> {
        vectors::served(&self.database.client().await?).await
    }

    async fn serve_vectors_of(&self, model: &str) -> Result<(), StoreError> {
        transact!(self.database, transaction => { vectors::serve(&transaction, model).await })
    }

    async fn without_vector(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        vectors::missing(&self.database.client().await?, model, after, limit).await
    }

    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(ChunkId, Vec<f32>)>,
    ) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            vectors::keep(&transaction, model, &vectors).await
        })
    }

    async fn vectors_after(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        vectors::after(&self.database.client().await?, model, after, limit).await
    }

    async fn newest_vector(&self, model: &str) -> Result<Option<ChunkId>, StoreError> {
        vectors::newest(&self.database.client().await?, model).await
    }

    async fn vectors_of(
        &self,
        model: &str,
        sources: &[SourceId],
    ) -> Result<Vec<StoredVector>, StoreError> {
        vectors::of_sources(&self.database.client().await?, model, sources).await
    }

    async fn vectors(
        &self,
        model: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<(ChunkId, Vec<f32>)>, StoreError> {
        vectors::of_chunks(&self.database.client().await?, model, chunks).await
    }

    async fn keep_tokens(
        &self,
        model: &str,
        tokens: Vec<(ChunkId, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            tokens::keep(&transaction, model, &tokens).await
        })
    }

    async fn tokens(
        &self,
        model: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<(ChunkId, Vec<u8>)>, StoreError> {
        tokens::of_chunks(&self.database.client().await?, model, chunks).await
    }

    async fn without_tokens(
        &self,
        model: &str,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        tokens::missing(&self.database.client().await?, model, after, limit).await
    }

    async fn without_tokens_before(
        &self,
        model: &str,
        before: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        tokens::missing_before(&self.database.client().await?, model, before, limit).await
    }

    async fn token_bytes(&self, model: &str) -> Result<u64, StoreError> {
        tokens::bytes(&self.database.client().await?, model).await
    }

    async fn drop_oldest_tokens(
        &self,
        model: &str,
        most: u64,
    ) -> Result<Option<ChunkId>, StoreError> {
        transact!(self.database, transaction => {
            tokens::drop_oldest(&transaction, model, most).await
        })
    }

    async fn chunks_after(
        &self,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        read::stored_after(&self.database.client().await?, after, limit).await
    }

    async fn settled_through(&self) -> Result<ChunkId, StoreError> {
        let mut settled = self.settled.lock().await;
        Ok(ChunkId(settled.through(&self.database.client().await?).await?))
    }

    async fn keep_facts(&self, found: Vec<ChunkFacts>) -> Result<(), StoreError> {
        transact!(self.database, transaction => { facts::keep(&transaction, &found).await })?;
        entities::bring_up_to_date(&self.database).await
    }

    async fn facts_about(
        &self,
        keys: &[String],
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<StoredFact>, StoreError> {
        facts::about(&self.database.client().await?, keys, groups, limit).await
    }

    async fn entities(
        &self,
        part: &str,
        groups: &[GroupId],
        limit: u32,
    ) -> Result<Vec<EntityRow>, StoreError> {
        entities::bring_up_to_date(&self.database).await?;
        entities::newest(&self.database.client().await?, part, groups, limit).await
    }

    async fn reading(&self, text: Hash, maker: &str) -> Result<Option<Vec<FactRow>>, StoreError> {
        facts::reading(&self.database.client().await?, text, maker).await
    }

    async fn keep_reading(
        &self,
        text: Hash,
        maker: &str,
        facts: &[FactRow],
    ) -> Result<(), StoreError> {
        facts::keep_reading(&self.database.client().await?, text, maker, facts).await
    }

    async fn marks(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        read::marks(&self.database.client().await?, prefix).await
    }

    async fn set_marks(&self, marks: Vec<(String, String)>) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            for (name, value) in &marks {
                execute(&transaction, write::SET_MARK, &[name, value]).await?;
            }
            Ok(())
        })
    }

    async fn add_to_mark(&self, name: &str, period: &str, by: u64) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        count(&row(&client, write::ADD_TO_MARK, &[&name, &period, &integer(by)]).await?, 0)
    }
}

/// The text of the `person` column: the person's id, or empty for shared documents.
fn person_column(person: Option<&PersonId>) -> &str {
    person.map_or("", PersonId::as_str)
}
