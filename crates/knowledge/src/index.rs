use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use onyx_storage::{SourceKey, Store};
use onyx_types::{Cancel, Clock, Embedder, Pauses, PersonId, SessionId, Timestamp};
use tokio::sync::Notify;

use crate::files::watch::Watcher;
use crate::follow::Followers;
use crate::graph::FinderState;
use crate::search::SearchSettings;
use crate::status::{IndexStatus, IndexWork, Problem, Progress, Watching};
use crate::vectors::embedding::{EmbedderChange, EmbedderState, Made};
use crate::{Chunking, KnowledgeError};

/// The index of a home; cheap to clone.
#[derive(Clone)]
pub struct Index {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
pub struct IndexSettings {
    /// The folder of the home, to be watched; what is derived lies in its `cache`.
    pub home: PathBuf,
    pub chunking: Chunking,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: IndexSettings,
    pub(crate) search: RwLock<SearchSettings>,
    pub(crate) embedder: RwLock<EmbedderState>,
    pub(crate) followers: Arc<tokio::sync::Mutex<Followers>>,
    /// Held while a file is read and filed, so that an older reading never covers a newer one.
    pub(crate) filing: tokio::sync::Mutex<()>,
    /// How many files were filed one by one, apart from looking through all of them.
    pub(crate) filed_singly: AtomicU64,
    /// Held while sessions that are known to have changed are filed.
    pub(crate) settling_sessions: tokio::sync::Mutex<()>,
    /// Held while everything is looked through.
    pub(crate) looking: tokio::sync::Mutex<()>,
    pub(crate) embedding: tokio::sync::Mutex<()>,
    /// Held while rules look for facts.
    pub(crate) finding_facts: tokio::sync::Mutex<()>,
    pub(crate) finder: RwLock<FinderState>,
    pending: Mutex<Pending>,
    pub(crate) state: Mutex<State>,
    wake: Notify,
    pub(crate) wake_embedding: Notify,
    touched: Mutex<BTreeSet<Touched>>,
    wake_told: Notify,
    watcher: Mutex<Option<Watcher>>,
    pauses: RwLock<Pauses>,
}

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// An agent's own files.
    Agents,
    /// Files that searches see: a person's, or the shared ones.
    Files(Option<PersonId>),
}

/// What is known to differ from what is indexed.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) files: BTreeSet<SourceKey>,
    pub(crate) sessions: BTreeSet<(PersonId, SessionId)>,
    /// People whose files must be looked through.
    pub(crate) people: BTreeSet<PersonId>,
    /// Everybody's, and the shared ones.
    pub(crate) everything: bool,
    /// The one of `files` that is being filed, which is still to be waited for.
    pub(crate) file: Option<SourceKey>,
    /// Those of `sessions` that are.
    pub(crate) sessions_at_work: BTreeSet<(PersonId, SessionId)>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.waiting() == 0 && self.people.is_empty() && !self.everything
    }

    pub(crate) fn has_files(&self) -> bool {
        !self.files.is_empty() || self.file.is_some()
    }

    pub(crate) fn has_sessions(&self) -> bool {
        !self.sessions.is_empty() || !self.sessions_at_work.is_empty()
    }

    /// Files and sessions of which the index does not hold the newest.
    fn waiting(&self) -> usize {
        let at_work = usize::from(self.file.is_some()) + self.sessions_at_work.len();
        self.files.len() + self.sessions.len() + at_work
    }
}

#[derive(Default)]
pub(crate) struct State {
    /// Everything was looked through, into the table of this epoch.
    pub(crate) complete: bool,
    pub(crate) epoch: Option<u64>,
    pub(crate) progress: Option<Progress>,
    pub(crate) synced_at: Option<Timestamp>,
    pub(crate) error: Option<String>,
    /// Every chunk up to this change had a vector of this model: epoch, change, model.
    pub(crate) embedded: Option<(u64, u64, String)>,
    /// All chunks were looked at for vectors of tokens: epoch, model, and the room there was.
    pub(crate) tokens_checked: Option<(u64, String, u64)>,
    /// How much the vectors of tokens of a model take.
    pub(crate) token_bytes: Option<(String, u64)>,
    /// While the first vectors of a model are made: how far.
    pub(crate) made: Option<Made>,
    /// When the files of each person were looked through for a session.
    looked: HashMap<PersonId, Duration>,
}

/// How long nothing must have been written before the memory for writing is given back.
const REST_AFTER: Duration = Duration::from_secs(20);
/// How long edits by other programs are gathered before they are read.
const GATHER: Duration = Duration::from_millis(300);
/// How long an embedder that failed is left alone.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// Sessions of one person that begin within this share a look through the files.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// The same while the system tells of edits: a look at 20,000 files takes as much of the processor as
/// a hundred turns.
const LOOK_AGAIN_WATCHED: Duration = Duration::from_secs(3_600);
const MOST_PROBLEMS: u32 = 200;

impl Index {
    pub fn new(store: Store, clock: Arc<dyn Clock>, settings: IndexSettings) -> Self {
        let inner = Inner {
            store,
            clock,
            settings,
            search: RwLock::default(),
            embedder: RwLock::default(),
            followers: Arc::default(),
            filing: tokio::sync::Mutex::default(),
            filed_singly: AtomicU64::new(0),
            settling_sessions: tokio::sync::Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            embedding: tokio::sync::Mutex::default(),
            finding_facts: tokio::sync::Mutex::default(),
            finder: RwLock::default(),
            pending: Mutex::new(Pending { everything: true, ..Pending::default() }),
            state: Mutex::default(),
            wake: Notify::new(),
            wake_embedding: Notify::new(),
            touched: Mutex::default(),
            wake_told: Notify::new(),
            watcher: Mutex::default(),
            pauses: RwLock::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// For tests that hold its work up.
    pub fn set_pauses(&self, pauses: Pauses) {
        *self.inner.pauses.write().unwrap_or_else(PoisonError::into_inner) = pauses;
    }

    pub(crate) async fn pause(&self, point: &'static str) {
        let pauses = self.inner.pauses.read().unwrap_or_else(PoisonError::into_inner).clone();
        pauses.at(point).await;
    }

    /// `None`: searches go by words alone. Where another one made the vectors that are there, these
    /// serve until it has made as many.
    pub fn set_embedder(&self, embedder: Option<Arc<dyn Embedder>>) {
        let mut state = self.inner.embedder.write().unwrap_or_else(PoisonError::into_inner);
        let change = state.set(embedder);
        drop(state);
        if change == EmbedderChange::Other {
            // It may measure texts otherwise than they were cut by.
            self.pending().everything = true;
        }
        self.inner.wake.notify_one();
    }

    /// There is an embedder, but it cannot be had now.
    pub fn set_failing_embedder(&self, model: &str, reason: &str) {
        let mut state = self.inner.embedder.write().unwrap_or_else(PoisonError::into_inner);
        state.set_failing(model, reason);
    }

    pub(crate) fn settings(&self) -> SearchSettings {
        *self.inner.search.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_search(&self, settings: SearchSettings) {
        *self.inner.search.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// A file of a person (or a shared one) was written, by whomever.
    pub fn file_changed(&self, key: SourceKey) {
        if crate::files::places::place_of(&key).is_some() {
            self.touch(Touched::Files(key.person.clone()));
            self.pending().files.insert(key);
            self.inner.wake.notify_one();
        }
    }

    pub(crate) fn touch(&self, what: Touched) {
        self.inner.touched.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
        self.inner.wake_told.notify_one();
    }

    /// What was written since this was asked last, once there is something. For one listener.
    pub async fn touched(&self) -> BTreeSet<Touched> {
        loop {
            let told = {
                let mut touched = self.inner.touched.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *touched)
            };
            if !told.is_empty() {
                return told;
            }
            self.inner.wake_told.notified().await;
        }
    }

    /// A session has new turns, another name, or is gone. It is indexed when somebody searches
    /// sessions, or when nothing has happened for a while: a chat at work is not kept waiting.
    pub fn session_changed(&self, person: PersonId, session: SessionId) {
        self.pending().sessions.insert((person, session));
    }

    /// A person begins a session: their files are looked through in the background, unless that
    /// was done a moment ago.
    pub fn session_begins(&self, person: &PersonId) {
        let now = self.inner.clock.now().mono;
        let rest = match self.watching() {
            Watching::On => LOOK_AGAIN_WATCHED,
            Watching::Off | Watching::Failing { .. } => LOOK_AGAIN,
        };
        {
            let mut state = self.state();
            let recent = state.looked.get(person).is_some_and(|at| now < *at + rest);
            if recent || !state.complete {
                return;
            }
            state.looked.insert(person.clone(), now);
        }
        self.folders_changed(person.clone());
    }

    /// Whole folders of a person came or went.
    pub(crate) fn folders_changed(&self, person: PersonId) {
        self.pending().people.insert(person);
        self.inner.wake.notify_one();
    }

    pub(crate) fn look_through_everything(&self) {
        self.pending().everything = true;
        self.inner.wake.notify_one();
    }

    /// Keeps the index in step until it is told to stop. At most one at a time.
    pub async fn tend(&self, stop: Cancel) {
        tokio::select! {
            ((), ()) = async { tokio::join!(self.keep_in_step(), self.keep_embedding()) } => {}
            () = stop.cancelled() => {}
        }
        *self.inner.watcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.rest().await;
    }

    async fn keep_in_step(&self) {
        loop {
            self.watch_more().await;
            let outcome = self.catch_up_with_files().await;
            if let Err(error) = &outcome {
                tracing::warn!(%error, "the index could not be kept in step");
            }
            self.state().error = outcome.err().map(|error| error.to_string());
            self.inner.wake_embedding.notify_one();
            tokio::select! {
                // More is likely to come at once.
                () = self.inner.wake.notified() => tokio::time::sleep(GATHER).await,
                () = tokio::time::sleep(REST_AFTER) => {
                    if let Err(error) = self.settle_sessions().await {
                        tracing::warn!(%error, "conversations could not be indexed");
                    }
                    if self.pending().is_empty() {
                        self.rest().await;
                    }
                }
            }
        }
    }

    /// Apart from the rest: it may take hours, and files must not wait for it.
    async fn keep_embedding(&self) {
        loop {
            self.inner.wake_embedding.notified().await;
            if let Err(error) = self.find_facts().await {
                tracing::warn!(%error, "facts could not be kept");
            }
            if let Err(error) = self.embed_missing().await {
                tracing::warn!(%error, "vectors could not be kept");
            }
            if self.is_embedder_failing() {
                tokio::time::sleep(TRY_AGAIN).await;
                self.inner.wake_embedding.notify_one();
            }
        }
    }

    /// Everything that is known to be behind, until nothing is.
    pub async fn catch_up(&self) -> Result<(), KnowledgeError> {
        self.settle_sessions().await?;
        self.catch_up_with_files().await?;
        self.embed_missing().await?;
        self.find_facts().await?;
        self.follow_to_the_end().await
    }

    async fn catch_up_with_files(&self) -> Result<(), KnowledgeError> {
        self.settle().await?;
        self.look_through_pending().await?;
        self.follow_to_the_end().await
    }

    /// Watches what is not watched yet: people and folders come while this runs.
    async fn watch_more(&self) {
        let index = self.clone();
        let people = match self.inner.store.files.people().await {
            Ok(people) => people,
            Err(error) => {
                tracing::warn!(%error, "whose files to watch is not known");
                Vec::new()
            }
        };
        let watched = tokio::task::spawn_blocking(move || {
            let mut watcher = index.inner.watcher.lock().unwrap_or_else(PoisonError::into_inner);
            let new = watcher.get_or_insert_with(|| Watcher::new(&index)).watch(&people);
            drop(watcher);
            // What was written before the watch began was not seen by it.
            new.into_iter().for_each(|person| index.folders_changed(person));
        });
        if let Err(error) = watched.await {
            tracing::warn!(%error, "files could not be watched");
        }
    }

    pub async fn status(&self, person: &PersonId) -> Result<IndexStatus, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        self.notice_loss(chunks.epoch().await?);
        let model = self.counted_model().await?;
        let own = chunks.counts(Some(person), model.as_deref()).await?;
        let shared = chunks.counts(None, model.as_deref()).await?;
        let mut problems = chunks.problems(Some(person), MOST_PROBLEMS).await?;
        problems.extend(chunks.problems(None, MOST_PROBLEMS).await?);
        let problem = |source: onyx_storage::SourceRow| Problem {
            path: crate::search::shown_path(&source.key),
            reason: source.problem.unwrap_or_default(),
        };
        let waiting = self.pending().waiting();
        let watching = self.watching();
        let embedding = self.embedding();
        let state = self.state();
        Ok(IndexStatus {
            sources: own.sources + shared.sources,
            chunks: own.chunks + shared.chunks,
            vectors: own.vectors + shared.vectors,
            complete: state.complete,
            waiting,
            progress: state.progress,
            synced_at: state.synced_at,
            embedding,
            watching,
            error: state.error.clone(),
            problem_count: own.problems + shared.problems,
            problems: problems.into_iter().map(problem).collect(),
        })
    }

    /// What it has to do yet, of everybody's files and conversations.
    pub fn work(&self) -> IndexWork {
        let waiting = self.pending().waiting();
        let state = self.state();
        let (is_complete, progress) = (state.complete, state.progress);
        IndexWork { is_complete, waiting, progress, error: state.error.clone() }
    }

    fn watching(&self) -> Watching {
        let watcher = self.inner.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        watcher.as_ref().map_or(Watching::Off, Watcher::state)
    }

    /// Everybody's files have just been looked through. That stands for the look of the next session
    /// only where edits since then are heard of.
    pub(crate) fn note_looked(&self, people: Vec<PersonId>) {
        if !matches!(self.watching(), Watching::On) {
            return;
        }
        let now = self.inner.clock.now().mono;
        self.state().looked.extend(people.into_iter().map(|person| (person, now)));
    }

    pub(crate) fn pending(&self) -> MutexGuard<'_, Pending> {
        self.inner.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
