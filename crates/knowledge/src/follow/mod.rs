//! Keeps the tables that searches read up to date. They are derived from the chunk table: each asks
//! for the changes since it last looked, and applies them. The text index is on the disk and holds
//! the chunks of all people. The vectors and outlines are in memory, and only those of the people
//! who searched lately.

mod groups;
mod load;
pub(crate) mod outline;
mod people;
mod person;
mod person_outline;
mod positions;
mod tables;
mod uses;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use onyx_storage::{ChunkStore, StorePosition};
use onyx_types::{Clock, PersonId};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::KnowledgeError;
use crate::settings::CurrentSearchSettings;
use crate::status::LoadedTables;
use crate::text::TextIndex;
use crate::vectors::Embedders;
use load::TablesLoader;
use person::TablesKey;
use uses::TableUses;

pub(crate) use groups::KnownGroups;
pub(crate) use person_outline::PersonOutline;
pub(crate) use tables::SearchTables;
pub(crate) use uses::TableUse;

/// Keeps the tables that searches read up to date with the chunk table.
pub(crate) struct ChangeFollower {
    chunks: Arc<dyn ChunkStore>,
    embedders: Arc<Embedders>,
    settings: Arc<CurrentSearchSettings>,
    /// The folder of the text index.
    text_folder: PathBuf,
    loader: TablesLoader,
    groups: Arc<KnownGroups>,
    uses: TableUses,
    /// This lock is held while a search loads a person's tables. It is taken before that of the
    /// tables.
    one_load_at_a_time: Mutex<()>,
    tables: Arc<Mutex<SearchTables>>,
    /// What was in memory when the tables were last brought up to date. It is kept beside them,
    /// because whoever only looks at it must not wait for their lock.
    loaded: RwLock<LoadedTables>,
}

/// Whether the tables have seen every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    Current,
    Behind,
}

/// Why the tables are brought up to date.
#[derive(Clone, Copy, Debug)]
enum Purpose<'a> {
    /// A search of this person is about to read the tables, so the text index commits at once, and
    /// the person's tables are loaded. The position is that of the chunk table when it began.
    Search { person: &'a PersonId, position: &'a StorePosition },
    /// Nobody waits. The text index commits at the end or after many changes, because every commit
    /// creates a segment that must be merged later. No tables are loaded.
    Background,
}

impl Purpose<'_> {
    /// The tables in memory that are needed.
    fn wanted(self) -> Vec<TablesKey> {
        match self {
            Self::Search { person, .. } => vec![TablesKey::of(Some(person)), TablesKey::Shared],
            Self::Background => Vec::new(),
        }
    }
}

const CHANGES_AT_ONCE: u32 = 64;
/// How long a search waits for the tables. The remaining changes are applied in the background.
const PATIENCE: Duration = Duration::from_millis(400);

impl ChangeFollower {
    pub(crate) fn new(
        chunks: Arc<dyn ChunkStore>,
        embedders: Arc<Embedders>,
        settings: Arc<CurrentSearchSettings>,
        groups: Arc<KnownGroups>,
        clock: Arc<dyn Clock>,
        text_folder: PathBuf,
    ) -> Self {
        Self {
            loader: TablesLoader::new(Arc::clone(&chunks), Arc::clone(&groups), clock),
            groups,
            chunks,
            embedders,
            settings,
            text_folder,
            uses: TableUses::default(),
            one_load_at_a_time: Mutex::default(),
            tables: Arc::default(),
            loaded: RwLock::default(),
        }
    }

    pub(crate) async fn follow_to_the_end(&self) -> Result<(), KnowledgeError> {
        loop {
            let tables = self.lock().await;
            let (tables, freshness) = self.follow(tables, Purpose::Background).await?;
            drop(tables);
            match freshness {
                Freshness::Current => return Ok(()),
                Freshness::Behind => tokio::task::yield_now().await,
            }
        }
    }

    pub(crate) async fn lock(&self) -> OwnedMutexGuard<SearchTables> {
        Arc::clone(&self.tables).lock_owned().await
    }

    /// The tables for a search of a person. They are at least as new as the position, unless that
    /// took too long.
    pub(crate) async fn tables_for(
        &self,
        person: &PersonId,
        position: &StorePosition,
    ) -> Result<(OwnedMutexGuard<SearchTables>, Freshness), KnowledgeError> {
        let _in_use = self.hold(person);
        let purpose = Purpose::Search { person, position };
        let mut tables = self.lock().await;
        if !purpose.wanted().iter().all(|key| tables.people.has(key)) {
            drop(tables);
            self.load(purpose).await?;
            tables = self.lock().await;
        }
        self.follow(tables, purpose).await
    }

    /// Keeps the tables of a person in memory for work that locks them several times.
    pub(crate) fn hold(&self, person: &PersonId) -> TableUse {
        self.uses.hold(person)
    }

    /// The people whose tables are in memory.
    pub(crate) fn loaded(&self) -> LoadedTables {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_loaded(&self, tables: &SearchTables) {
        let loaded = tables.people.loaded();
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
    }

    /// Loads what is not loaded yet. The tables are not locked meanwhile, so that the searches of
    /// other people do not wait.
    async fn load(&self, purpose: Purpose<'_>) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.one_load_at_a_time.lock().await;
        let StorePosition { epoch, last_change, served_vectors } = self.chunks.standing().await?;
        if last_change == 0 {
            return Ok(());
        }
        let model = self.serving_model(served_vectors);
        for key in purpose.wanted() {
            let is_loaded = self.lock().await.people.has(&key);
            if !is_loaded {
                let loaded = self.loader.load(&key, epoch, model.as_deref()).await?;
                self.lock().await.people.insert(key, loaded);
            }
        }
        Ok(())
    }

    fn serving_model(&self, served_vectors: Option<String>) -> Option<String> {
        self.embedders.serving(served_vectors).map(|serving| serving.model)
    }

    /// The position of the chunk table to which the tables are brought. A search has asked for it
    /// before, so it is asked for again only if another task has brought the tables further since
    /// then, or has loaded vectors of another model.
    async fn position_to_reach(
        &self,
        tables: &SearchTables,
        purpose: Purpose<'_>,
    ) -> Result<StorePosition, KnowledgeError> {
        if let Purpose::Search { position, .. } = purpose {
            let model = self.serving_model(position.served_vectors.clone());
            let loaded = tables.people.vectors_seen().map(|(model, _)| model);
            if loaded == model.as_deref() && !tables.are_beyond(position) {
                return Ok(position.clone());
            }
        }
        Ok(self.chunks.standing().await?)
    }

    /// Brings the tables up to date, but stops after `PATIENCE`.
    async fn follow(
        &self,
        tables: OwnedMutexGuard<SearchTables>,
        purpose: Purpose<'_>,
    ) -> Result<(OwnedMutexGuard<SearchTables>, Freshness), KnowledgeError> {
        let began = Instant::now();
        let standing = self.position_to_reach(&tables, purpose).await?;
        let (epoch, last) = (standing.epoch, standing.last_change);
        if last == 0 {
            // Nothing was ever indexed, so there is nothing to open.
            let mut tables = tables;
            *tables = SearchTables::default();
            self.note_loaded(&tables);
            return Ok((tables, Freshness::Current));
        }
        let tables = self.open_text(tables, &standing).await?;
        // The text index may hold chunks from before this process started, and no change names their
        // groups again.
        self.groups.make_known(&[], epoch).await?;
        let mut tables = self.open_people(tables, standing, purpose).await?;
        let mut freshness = Freshness::Current;
        while tables.seen() < last {
            let changes = self.chunks.changes(tables.seen(), CHANGES_AT_ONCE).await?;
            if changes.is_empty() {
                break;
            }
            let updates = self.loader.updates(&tables, changes, epoch).await?;
            tables = on_a_thread(tables, move |tables| tables.take(&updates)).await?;
            // What has seen every change is not behind, however long that took.
            if tables.seen() < last && began.elapsed() > PATIENCE {
                freshness = Freshness::Behind;
                break;
            }
        }
        let is_read_now = matches!(purpose, Purpose::Search { .. });
        let due = freshness == Freshness::Current || is_read_now || tables.holds_many_uncommitted();
        if tables.uncommitted.is_some() && due {
            tables = on_a_thread(tables, SearchTables::commit).await?;
        }
        tables.people.evict(self.settings.get().most_table_bytes, &self.uses);
        self.note_loaded(&tables);
        Ok((tables, freshness))
    }

    async fn open_text(
        &self,
        mut tables: OwnedMutexGuard<SearchTables>,
        &StorePosition { epoch, last_change: last, .. }: &StorePosition,
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
        }
        Ok(tables)
    }

    /// Drops tables in memory that are of another epoch or of another model's vectors, and loads
    /// them again. Nothing is loaded before the first search, so that a start is as quick with a
    /// large index as with a small one.
    async fn open_people(
        &self,
        mut tables: OwnedMutexGuard<SearchTables>,
        StorePosition { epoch, served_vectors, .. }: StorePosition,
        purpose: Purpose<'_>,
    ) -> Result<OwnedMutexGuard<SearchTables>, KnowledgeError> {
        let model = self.serving_model(served_vectors);
        let wanted = purpose.wanted();
        tables.people.keep_epoch(epoch);
        for key in &wanted {
            // The tables of a search were loaded before, unless the epoch has changed since then.
            if !tables.people.has(key) {
                let loaded = self.loader.load(key, epoch, model.as_deref()).await?;
                tables.people.insert(key.clone(), loaded);
            }
        }
        for key in tables.people.with_other_vectors(model.as_deref(), &wanted) {
            let vectors = self.loader.vectors(&key, model.as_deref()).await?;
            tables.people.set_vectors(&key, vectors);
        }
        if let Purpose::Search { person, .. } = purpose {
            tables.people.note_search(person);
        }
        Ok(tables)
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
