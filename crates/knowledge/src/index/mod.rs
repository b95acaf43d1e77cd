//! The public face of the crate. It connects the parts, and passes each question to the part that
//! answers it; it does no work itself.

mod counts;
mod maintenance;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use onyx_storage::{ChunkStore, EntityRow, Files, SourceKey, SourceRow, Store};
use onyx_types::{Cancel, Clock, Embedder, Pauses, PersonId, ScopeSet, SessionId};
use tokio::sync::Notify;

use crate::backlog::Backlog;
use crate::files::changes::{FileChanges, WrittenPlace};
use crate::files::indexer::{FileIndexer, SyncReport};
use crate::files::observe::ObservedFiles;
use crate::files::watch::FolderWatch;
use crate::follow::{ChangeFollower, KnownGroups};
use crate::graph::{EntityPage, FactFinder, FactReader, Graph};
use crate::indexing::Indexing;
use crate::search::{Hit, Retrieval, RetrievedHits, Search, SearchResults, Searcher};
use crate::sessions::SessionIndexer;
use crate::settings::{CurrentSearchSettings, SearchSettings};
use crate::status::{EmbeddingState, IndexStatus, IndexWork, LoadedTables, Progress};
use crate::sync::TableSync;
use crate::vectors::{EmbedderChange, Embedders, VectorMaker};
use crate::{Chunking, KnowledgeError};
use maintenance::Maintenance;

/// The index of a home. It is cheap to clone.
#[derive(Clone)]
pub struct Index {
    parts: Arc<Parts>,
}

#[derive(Clone, Debug)]
pub struct IndexSettings {
    /// The folder of the home, which is watched. Derived data is in its `cache` folder.
    pub home: PathBuf,
    pub chunking: Chunking,
}

struct Parts {
    chunks: Arc<dyn ChunkStore>,
    settings: Arc<CurrentSearchSettings>,
    backlog: Arc<Backlog>,
    changes: Arc<FileChanges>,
    embedders: Arc<Embedders>,
    vectors: Arc<VectorMaker>,
    facts: Arc<FactReader>,
    sync: Arc<TableSync>,
    maintenance: Maintenance,
    searcher: Searcher,
    graph: Graph,
}

impl Parts {
    fn new(store: Store, clock: Arc<dyn Clock>, settings: IndexSettings) -> Self {
        let IndexSettings { home, chunking } = settings;
        let Store { chunks, files, ledger, turns, duties, steps, .. } = store;
        let (chunks, files) = (|| Arc::clone(&chunks), || Arc::clone(&files));
        let settings = Arc::<CurrentSearchSettings>::default();
        let embedders = Arc::<Embedders>::default();
        let backlog = Arc::new(Backlog::new());
        let changes = Arc::new(FileChanges::new(Arc::clone(&backlog)));
        let indexing = Indexing::new(chunks(), Arc::clone(&clock), chunking, embedders.clone());
        let indexing = Arc::new(indexing);
        let groups = Arc::new(KnownGroups::new(chunks()));
        let follower = Arc::new(ChangeFollower::new(
            chunks(),
            Arc::clone(&embedders),
            Arc::clone(&settings),
            Arc::clone(&groups),
            Arc::clone(&clock),
            home.join("cache/text"),
        ));
        let sync = Arc::new(TableSync::new(
            Arc::clone(&indexing),
            files(),
            FileIndexer::new(Arc::clone(&indexing), files(), Arc::clone(&backlog)),
            SessionIndexer::new(indexing, files(), ledger, turns, Arc::clone(&backlog)),
            Arc::clone(&backlog),
            Arc::new(FolderWatch::new(home, Arc::clone(&changes))),
        ));
        let vectors = VectorMaker::new(chunks(), Arc::clone(&embedders), Arc::clone(&settings));
        let vectors = Arc::new(vectors);
        let facts = Arc::new(FactReader::new(chunks(), Arc::clone(&clock), Arc::clone(&duties)));
        let maintenance = Maintenance {
            backlog: Arc::clone(&backlog),
            sync: Arc::clone(&sync),
            follower: Arc::clone(&follower),
            embedders: Arc::clone(&embedders),
            vectors: Arc::clone(&vectors),
            facts: Arc::clone(&facts),
            duties,
            wake_vectors: Notify::new(),
            wake_facts: Notify::new(),
        };
        let searcher = Searcher {
            chunks: chunks(),
            clock,
            settings: Arc::clone(&settings),
            sync: Arc::clone(&sync),
            embedders: Arc::clone(&embedders),
            vectors: Arc::clone(&vectors),
            follower,
            groups: Arc::clone(&groups),
            steps,
        };
        let graph = Graph {
            chunks: chunks(),
            files: files(),
            sync: Arc::clone(&sync),
            groups,
            facts: Arc::clone(&facts),
        };
        Self {
            chunks: chunks(),
            settings,
            backlog,
            changes,
            embedders,
            vectors,
            facts,
            sync,
            maintenance,
            searcher,
            graph,
        }
    }
}

/// The methods that configure the index, and those that report changes to it.
impl Index {
    pub fn new(store: Store, clock: Arc<dyn Clock>, settings: IndexSettings) -> Self {
        Self { parts: Arc::new(Parts::new(store, clock, settings)) }
    }

    /// Lets tests delay the work of the index.
    pub fn set_pauses(&self, pauses: Pauses) {
        self.parts.backlog.set_pauses(pauses);
    }

    pub fn set_search(&self, settings: SearchSettings) {
        self.parts.settings.set(settings);
        // Token vectors may have more room now, or less.
        self.parts.maintenance.wake_slow_work();
    }

    /// Sets the embedder; with `None` searches use words alone. If another embedder made the
    /// existing vectors, they serve searches until the new one has made as many.
    pub fn set_embedder(&self, embedder: Option<Arc<dyn Embedder>>) {
        match self.parts.embedders.set(embedder) {
            // The new embedder may measure texts in another way than the one by which they were
            // cut.
            EmbedderChange::Other => self.parts.backlog.add_everything(),
            EmbedderChange::Same => self.parts.backlog.wake(),
        }
    }

    /// Notes that an embedder is configured but not available now.
    pub fn set_failing_embedder(&self, model: &str, reason: &str) {
        self.parts.embedders.set_failing(model, reason);
    }

    /// Adds an embedder that is not configured any more but can make query vectors that fit the
    /// existing vectors.
    pub fn add_retired_embedder(&self, embedder: Arc<dyn Embedder>) {
        self.parts.embedders.add_retired(embedder);
    }

    /// The embedder, as `<provider>/<model>`, whose vectors serve searches until the present one
    /// has made its own, if that embedder is not available.
    pub async fn missing_embedder(&self) -> Result<Option<String>, KnowledgeError> {
        self.parts.vectors.missing_embedder().await
    }

    /// Sets the model that finds facts besides the rules; with `None` only the rules find facts.
    pub fn set_fact_finder(&self, finder: Option<Arc<dyn FactFinder>>, daily_tokens: u64) {
        self.parts.facts.set_finder(finder, daily_tokens);
        self.parts.maintenance.wake_slow_work();
    }

    /// Wraps files so that writes through them are indexed at once.
    pub fn observe(&self, files: Arc<dyn Files>) -> Arc<dyn Files> {
        Arc::new(ObservedFiles::new(files, Arc::clone(&self.parts.changes)))
    }

    /// Notes that a file of a person or a shared file was written.
    pub fn file_changed(&self, key: SourceKey) {
        self.parts.changes.file_changed(key);
    }

    /// Waits until something was written since the last call, and returns it. Only one listener may
    /// call this.
    pub async fn touched(&self) -> BTreeSet<WrittenPlace> {
        self.parts.changes.touched().await
    }

    /// Notes that a session has new turns, has a new name, or was deleted. It is indexed at the
    /// next search of sessions, or when nothing has happened for a while, so that an active chat is
    /// not slowed down.
    pub fn session_changed(&self, person: PersonId, session: SessionId) {
        self.parts.backlog.add_session(person, session);
    }

    /// Notes that a person begins a session. Their files are looked through in the background,
    /// unless that was done recently.
    pub fn session_begins(&self, person: &PersonId) {
        self.parts.sync.session_begins(person);
    }
}

/// The methods that do the work of the index, and those that report its progress.
impl Index {
    /// Keeps the index up to date until it is stopped. At most one such task may run at a time.
    pub async fn tend(&self, stop: Cancel) {
        self.parts.maintenance.run(stop).await;
    }

    /// Does all work that is known to be left.
    pub async fn catch_up(&self) -> Result<(), KnowledgeError> {
        self.parts.maintenance.catch_up().await
    }

    /// Looks through all files and sessions for changes.
    pub async fn sync(&self) -> Result<SyncReport, KnowledgeError> {
        self.parts.maintenance.sync().await
    }

    /// Reads and cuts every file and conversation again; searches use the old chunks until then.
    pub async fn rebuild(&self) -> Result<SyncReport, KnowledgeError> {
        self.parts.maintenance.rebuild().await
    }

    pub async fn status(&self, person: &PersonId) -> Result<IndexStatus, KnowledgeError> {
        let Parts { chunks, sync, embedders, vectors, .. } = &*self.parts;
        sync.notice_loss(chunks.epoch().await?);
        let model = vectors.counted_model().await?;
        let counted = counts::count(&**chunks, person, model.as_deref()).await?;
        Ok(counted.status(sync.work(), sync.synced_at(), embedders.status(), sync.watching()))
    }

    /// The work that is left for the files and conversations of all people.
    pub fn work(&self) -> IndexWork {
        self.parts.sync.work()
    }

    pub fn progress(&self) -> Option<Progress> {
        self.work().progress
    }

    /// The people whose vectors and outlines are in memory, and how much memory they take.
    pub fn loaded(&self) -> LoadedTables {
        self.parts.searcher.follower.loaded()
    }

    /// The state of the embedder that makes vectors.
    pub fn embedding(&self) -> EmbeddingState {
        self.parts.embedders.status()
    }
}

/// The methods that answer questions.
impl Index {
    /// All scopes of the person, and the shared one.
    pub async fn all_scopes(&self, person: &PersonId) -> Result<ScopeSet, KnowledgeError> {
        self.parts.searcher.all_scopes(person).await
    }

    /// Searches for what a person typed: words, "phrases" and prefixes*.
    pub async fn search(&self, search: &Search) -> Result<SearchResults, KnowledgeError> {
        self.parts.searcher.search(search).await
    }

    /// Searches for the text of a message, in which quotes and stars have no meaning. It does not
    /// wait until the latest messages are indexed.
    pub async fn search_said(&self, search: &Search) -> Result<SearchResults, KnowledgeError> {
        self.parts.searcher.search_said(search).await
    }

    /// The conversations of a person in which all of these words were said, best first. Each is
    /// represented by the message that matches best.
    pub async fn search_sessions(
        &self,
        person: &PersonId,
        text: &str,
    ) -> Result<Vec<Hit>, KnowledgeError> {
        self.parts.searcher.search_sessions(person, text).await
    }

    /// Finds texts for a message, which the model is given without asking for them.
    pub async fn retrieve(&self, retrieval: &Retrieval) -> Result<RetrievedHits, KnowledgeError> {
        self.parts.searcher.retrieve(retrieval).await
    }

    /// The indexed files of a person, sorted by path.
    pub async fn files(&self, person: &PersonId) -> Result<Vec<SourceRow>, KnowledgeError> {
        self.parts.searcher.files(person).await
    }

    /// The entities whose names contain `part`, with the last mentioned first.
    pub async fn graph_entities(
        &self,
        scopes: &ScopeSet,
        part: &str,
        limit: usize,
    ) -> Result<Vec<EntityRow>, KnowledgeError> {
        self.parts.graph.entities(scopes, part, limit).await
    }

    /// Every fact in which an entity is the subject or the object; `None` if there is none.
    pub async fn graph_entity(
        &self,
        scopes: &ScopeSet,
        name: &str,
    ) -> Result<Option<EntityPage>, KnowledgeError> {
        self.parts.graph.entity(scopes, name).await
    }
}
