//! Keeps the tables that searches read up to date. They are derived from the chunk table: each asks
//! for the changes since it last looked, and applies them.

pub(crate) mod outline;
mod positions;
mod tables;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onyx_storage::{
    ChunkId, ChunkStore, Contents, GroupId, OutlinedChunk, SourceChange, SourceId, StorePosition,
    StoredVector,
};
use onyx_types::{Clock, Zone};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::KnowledgeError;
use crate::chunk::zone_of;
use crate::text::TextIndex;
use crate::vectors::{Embedders, VectorSet};
use outline::Outline;
use tables::{FollowedOutline, FollowedVectors, Update};

pub(crate) use tables::SearchTables;

/// Keeps the tables that searches read up to date with the chunk table.
pub(crate) struct ChangeFollower {
    chunks: Arc<dyn ChunkStore>,
    embedders: Arc<Embedders>,
    clock: Arc<dyn Clock>,
    /// The folder of the text index.
    text_folder: PathBuf,
    tables: Arc<Mutex<SearchTables>>,
}

/// Whether the tables have seen every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lag {
    None,
    Some,
}

/// When the text index commits what it has taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// The index commits at once, because a search is about to read it.
    Now,
    /// The index commits at the end or after many changes, because every commit creates a segment
    /// that must be merged later.
    Seldom,
}

const CHANGES_AT_ONCE: u32 = 64;
const VECTORS_AT_ONCE: u32 = 1_000;
const OUTLINED_AT_ONCE: u32 = 4_000;
/// How long a search waits for the tables. The remaining changes are applied in the background.
const PATIENCE: Duration = Duration::from_millis(400);

impl ChangeFollower {
    pub(crate) fn new(
        chunks: Arc<dyn ChunkStore>,
        embedders: Arc<Embedders>,
        clock: Arc<dyn Clock>,
        text_folder: PathBuf,
    ) -> Self {
        Self { chunks, embedders, clock, text_folder, tables: Arc::default() }
    }

    pub(crate) async fn follow_to_the_end(&self) -> Result<(), KnowledgeError> {
        loop {
            let tables = self.lock().await;
            let (tables, lag) = self.follow(tables, Commit::Seldom).await?;
            drop(tables);
            match lag {
                Lag::None => return Ok(()),
                Lag::Some => tokio::task::yield_now().await,
            }
        }
    }

    pub(crate) async fn lock(&self) -> OwnedMutexGuard<SearchTables> {
        Arc::clone(&self.tables).lock_owned().await
    }

    /// Brings the tables up to date, but stops after `PATIENCE`.
    pub(crate) async fn follow(
        &self,
        tables: OwnedMutexGuard<SearchTables>,
        commit: Commit,
    ) -> Result<(OwnedMutexGuard<SearchTables>, Lag), KnowledgeError> {
        let began = Instant::now();
        let standing = self.chunks.standing().await?;
        let last = standing.last_change;
        if last == 0 {
            // Nothing was ever indexed, so there is nothing to open.
            let mut tables = tables;
            *tables = SearchTables::default();
            return Ok((tables, Lag::None));
        }
        let mut tables = self.open(tables, standing, commit).await?;
        let mut lag = Lag::None;
        while tables.seen() < last {
            let changes = self.chunks.changes(tables.seen(), CHANGES_AT_ONCE).await?;
            if changes.is_empty() {
                break;
            }
            let updates = self.read_updates(&tables, changes).await?;
            tables = on_a_thread(tables, move |tables| tables.take(&updates)).await?;
            if began.elapsed() > PATIENCE {
                lag = Lag::Some;
                break;
            }
        }
        let due = lag == Lag::None || commit == Commit::Now || tables.holds_many_uncommitted();
        if tables.uncommitted.is_some() && due {
            tables = on_a_thread(tables, SearchTables::commit).await?;
            tables.groups = self.chunks.groups().await?;
        }
        Ok((tables, lag))
    }

    async fn open(
        &self,
        mut tables: OwnedMutexGuard<SearchTables>,
        StorePosition { epoch, last_change: last, served_vectors }: StorePosition,
        commit: Commit,
    ) -> Result<OwnedMutexGuard<SearchTables>, KnowledgeError> {
        // A text index that is ahead of the chunk table has seen commits that were lost in a power
        // cut.
        let usable = |text: &TextIndex| {
            text.followed.epoch == epoch && text.followed.seq <= last && text.is_there()
        };
        if !tables.text.as_ref().is_some_and(usable) {
            let folder = self.text_folder.clone();
            tables = on_a_thread(tables, move |tables| {
                tables.text = None;
                tables.uncommitted = None;
                tables.text = Some(TextIndex::open(&folder, epoch, last)?);
                Ok(())
            })
            .await?;
            tables.groups = self.chunks.groups().await?;
        }
        // The outline and the vectors are loaded by the first search, so that a start is as quick
        // with a large index as with a small one.
        let wanted = |is_there: bool| commit == Commit::Now || is_there;
        if tables.outline.as_ref().is_some_and(|outline| outline.epoch != epoch) {
            tables.outline = None;
        }
        if tables.outline.is_none() && wanted(false) {
            tables.outline = Some(self.load_outline(epoch).await?);
        }
        if !wanted(tables.vectors.is_some()) {
            return Ok(tables);
        }
        let model = self.embedders.serving(served_vectors).map(|serving| serving.model);
        let known = tables.vectors.as_ref().map(|vectors| (vectors.epoch, &vectors.model));
        if known != model.as_ref().map(|model| (epoch, model)) {
            tables.vectors = match model {
                Some(model) => Some(self.load_vectors(epoch, model).await?),
                None => None,
            };
        }
        Ok(tables)
    }

    async fn load_vectors(
        &self,
        epoch: u64,
        model: String,
    ) -> Result<FollowedVectors, KnowledgeError> {
        let chunks = &self.chunks;
        // The position is read first, so that changes made meanwhile are applied afterwards.
        let seq = chunks.last_change().await?;
        let mut set = VectorSet::default();
        let mut after = ChunkId::default();
        loop {
            let page = chunks.vectors_after(&model, after, VECTORS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = last.chunk;
            page.iter().for_each(|vector| set.add(vector));
        }
        Ok(FollowedVectors { epoch, seq, model, set })
    }

    async fn load_outline(&self, epoch: u64) -> Result<FollowedOutline, KnowledgeError> {
        let chunks = &self.chunks;
        let seq = chunks.last_change().await?;
        let mut outline = Outline::default();
        let mut after = ChunkId::default();
        loop {
            let page = chunks.outline_after(after, OUTLINED_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = last.chunk;
            page.iter().for_each(|chunk| outline.add(chunk));
        }
        Ok(FollowedOutline { epoch, seq, outline })
    }

    async fn read_updates(
        &self,
        tables: &SearchTables,
        changes: Vec<SourceChange>,
    ) -> Result<Vec<Update>, KnowledgeError> {
        let chunks = &self.chunks;
        let of = |wanted: &dyn Fn(&SourceChange) -> bool| -> Vec<SourceId> {
            changes.iter().filter(|change| wanted(change)).map(|change| change.source).collect()
        };
        let texts = of(&|change| tables.wants_text(change));
        let mut contents: HashMap<SourceId, Contents> = HashMap::with_capacity(texts.len());
        for (source, held) in texts.iter().zip(chunks.contents(&texts).await?) {
            contents.extend(held.map(|held| (*source, held)));
        }
        let zones = self.zones(&contents).await?;
        let mut vectors: HashMap<SourceId, Vec<StoredVector>> = HashMap::new();
        if let Some(followed) = &tables.vectors {
            let wanted = of(&|change| followed.wants(change));
            for vector in chunks.vectors_of(&followed.model, &wanted).await? {
                vectors.entry(vector.source).or_default().push(vector);
            }
        }
        let mut outlined: HashMap<SourceId, Vec<OutlinedChunk>> = HashMap::new();
        if let Some(followed) = &tables.outline {
            let wanted = of(&|change| followed.wants(change));
            for chunk in chunks.outline_of(&wanted).await? {
                outlined.entry(chunk.source).or_default().push(chunk);
            }
        }
        let update = |change: SourceChange| {
            let contents = contents.remove(&change.source);
            let zone = contents.as_ref().and_then(|contents| zones.get(&contents.group));
            Update {
                outline: outlined.remove(&change.source).unwrap_or_default(),
                zone: zone.cloned().unwrap_or_default(),
                contents,
                vectors: vectors.remove(&change.source).unwrap_or_default(),
                change,
            }
        };
        Ok(changes.into_iter().map(update).collect())
    }

    /// The time zone of each group's person.
    async fn zones(
        &self,
        contents: &HashMap<SourceId, Contents>,
    ) -> Result<HashMap<GroupId, Zone>, KnowledgeError> {
        if contents.is_empty() {
            return Ok(HashMap::new());
        }
        let groups = self.chunks.groups().await?.into_iter();
        Ok(groups.map(|group| (group.id, zone_of(&*self.clock, group.person.as_ref()))).collect())
    }

    /// Deletes the text index. It is rebuilt the next time the tables are brought up to date.
    pub(crate) async fn forget_text(&self) -> Result<(), KnowledgeError> {
        let folder = self.text_folder.clone();
        let tables = self.lock().await;
        let forgotten = on_a_thread(tables, move |tables| {
            tables.text = None;
            tables.uncommitted = None;
            match std::fs::remove_dir_all(folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                Ok(()) | Err(_) => Ok(()),
            }
        });
        forgotten.await.map(drop)
    }

    /// Releases the memory that is needed only for writing.
    pub(crate) async fn rest(&self) {
        let tables = self.lock().await;
        let rested = on_a_thread(tables, |tables| {
            // Changes that are not committed would be lost with the writer.
            tables.commit()?;
            tables.text.as_mut().map_or(Ok(()), TextIndex::rest)
        });
        if let Err(error) = rested.await {
            tracing::warn!(%error, "the idle text index could not be closed");
        }
    }
}

/// Runs long work on a separate thread and holds the lock throughout. If the work fails, the text
/// index is opened again the next time.
async fn on_a_thread(
    mut tables: OwnedMutexGuard<SearchTables>,
    work: impl FnOnce(&mut SearchTables) -> Result<(), KnowledgeError> + Send + 'static,
) -> Result<OwnedMutexGuard<SearchTables>, KnowledgeError> {
    let task = tokio::task::spawn_blocking(move || {
        let worked = work(&mut tables);
        if worked.is_err() {
            tables.text = None;
            tables.uncommitted = None;
        }
        worked.map(|()| tables)
    });
    task.await.map_err(|error| KnowledgeError::Text(error.to_string()))?
}
