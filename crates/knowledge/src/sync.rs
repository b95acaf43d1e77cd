//! Keeps the chunk table up to date with everything that is indexed. It reads what is known to have
//! changed, and checks everything where changes may have been missed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::{Files, StorePosition};
use onyx_types::{PersonId, Timestamp};

use crate::KnowledgeError;
use crate::backlog::{Backlog, FilesToCheck};
use crate::files::indexer::{FileIndexer, SyncReport};
use crate::files::watch::FolderWatch;
use crate::indexing::{Indexing, RereadScope};
use crate::sessions::SessionIndexer;
use crate::status::{IndexWork, Watching};

pub(crate) struct TableSync {
    indexing: Arc<Indexing>,
    people: Arc<dyn Files>,
    files: FileIndexer,
    sessions: SessionIndexer,
    backlog: Arc<Backlog>,
    watch: Arc<FolderWatch>,
    /// This lock is held while files are looked through.
    one_look_at_a_time: tokio::sync::Mutex<()>,
    state: Mutex<SyncState>,
}

#[derive(Default)]
struct SyncState {
    /// Whether everything was looked through for the table with this epoch.
    is_complete: bool,
    epoch: Option<u64>,
    synced_at: Option<Timestamp>,
    error: Option<String>,
    /// The times at which the files of each person were looked through for a session.
    looked: HashMap<PersonId, Duration>,
}

/// The state of the table when a search begins.
pub(crate) struct UpToDate {
    /// Whether everything is indexed.
    pub(crate) indexed: bool,
    /// The position of the table. A search asks for it here and nowhere else.
    pub(crate) position: StorePosition,
}

/// Sessions of one person that begin within this time share one look through the files.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// The same time while the system reports edits. It is longer, because a look at 20,000 files takes
/// as much CPU time as a hundred turns.
const LOOK_AGAIN_WATCHED: Duration = Duration::from_secs(3_600);
/// How long a search waits for the first look through the files.
const FIRST_LOOK: Duration = Duration::from_secs(3);

impl TableSync {
    pub(crate) fn new(
        indexing: Arc<Indexing>,
        people: Arc<dyn Files>,
        files: FileIndexer,
        sessions: SessionIndexer,
        backlog: Arc<Backlog>,
        watch: Arc<FolderWatch>,
    ) -> Self {
        Self {
            indexing,
            people,
            files,
            sessions,
            backlog,
            watch,
            one_look_at_a_time: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Indexes the sessions that are known to have changed.
    pub(crate) async fn index_waiting_sessions(&self) -> Result<(), KnowledgeError> {
        self.sessions.index_waiting().await
    }

    /// Indexes the files that are known to have changed, and looks through those that may have
    /// changed.
    pub(crate) async fn index_waiting_files(&self) -> Result<(), KnowledgeError> {
        self.files.index_waiting().await?;
        self.look_through_waiting().await
    }

    /// Indexes what is known to have changed, before a search. It also waits a short while for the
    /// first look through the files.
    pub(crate) async fn bring_up_to_date(self: &Arc<Self>) -> Result<UpToDate, KnowledgeError> {
        self.files.index_waiting().await?;
        let position = self.indexing.chunks.standing().await?;
        self.notice_loss(position.epoch);
        if self.state().is_complete {
            return Ok(UpToDate { indexed: true, position });
        }
        // Another task may have begun the first look of this process. This task waits a while for
        // it too.
        let sync = Arc::clone(self);
        let look = tokio::spawn(async move { sync.look_through_waiting().await });
        let first = tokio::time::timeout(FIRST_LOOK, async {
            look.await.map_err(|error| KnowledgeError::Text(error.to_string()))?
        });
        let indexed = match first.await {
            Ok(looked) => {
                looked?;
                self.state().is_complete
            }
            Err(_) => false,
        };
        // The look has moved the position.
        Ok(UpToDate { indexed, position: self.indexing.chunks.standing().await? })
    }

    /// Also indexes the sessions that are known to have changed.
    pub(crate) async fn bring_all_up_to_date(self: &Arc<Self>) -> Result<UpToDate, KnowledgeError> {
        self.index_waiting_sessions().await?;
        self.bring_up_to_date().await
    }

    /// Checks everything. Returns what was found.
    pub(crate) async fn look_through(
        &self,
        how: RereadScope,
    ) -> Result<SyncReport, KnowledgeError> {
        let _one_at_a_time = self.one_look_at_a_time.lock().await;
        self.look_through_all(how).await
    }

    /// Looks through what waits for it. What waits is taken under the lock, so a task that finds
    /// nothing to do can be sure that another task's look is over.
    async fn look_through_waiting(&self) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.one_look_at_a_time.lock().await;
        let FilesToCheck { everything, people } = self.backlog.take_looks().await;
        if everything {
            let outcome = self.look_through_all(RereadScope::Changes).await.map(drop);
            if outcome.is_err() {
                self.backlog.return_looks(FilesToCheck { everything, ..FilesToCheck::default() });
            }
            return outcome;
        }
        let mut outcome = Ok(());
        let mut failed = FilesToCheck::default();
        for person in people {
            // If the look fails for one person, it is repeated next time, and the others do not
            // wait for it.
            if let Err(error) = self.look_through_person(&person).await {
                failed.people.insert(person);
                outcome = Err(error);
            }
        }
        self.backlog.return_looks(failed);
        outcome
    }

    async fn look_through_person(&self, person: &PersonId) -> Result<(), KnowledgeError> {
        let _shown = self.indexing.show_progress();
        self.files.look_through(Some(person), RereadScope::Changes).await.map(drop)
    }

    async fn look_through_all(&self, how: RereadScope) -> Result<SyncReport, KnowledgeError> {
        let _shown = self.indexing.show_progress();
        let epoch = self.indexing.chunks.epoch().await?;
        let mut report = self.files.look_through(None, how).await?;
        let people = self.people.people().await?;
        for person in &people {
            let of_person = self.files.look_through(Some(person), how).await?;
            report.checked += of_person.checked;
            report.indexed += of_person.indexed;
            report.removed += of_person.removed;
        }
        self.sessions.look_through(how).await?;
        self.note_looked(people);
        let mut state = self.state();
        state.is_complete = true;
        state.epoch = Some(epoch);
        state.synced_at = Some(self.indexing.clock.wall());
        Ok(report)
    }

    /// Notes that everybody's files were looked through. The next session may rely on this look
    /// only if edits since then are reported.
    fn note_looked(&self, people: Vec<PersonId>) {
        if !matches!(self.watch.state(), Watching::On) {
            return;
        }
        let now = self.indexing.clock.now().mono;
        self.state().looked.extend(people.into_iter().map(|person| (person, now)));
    }

    /// Notes that a person begins a session. Their files are looked through in the background,
    /// unless that was done recently.
    pub(crate) fn session_begins(&self, person: &PersonId) {
        let now = self.indexing.clock.now().mono;
        let rest = match self.watch.state() {
            Watching::On => LOOK_AGAIN_WATCHED,
            Watching::Off | Watching::Failing { .. } => LOOK_AGAIN,
        };
        {
            let mut state = self.state();
            let is_recent = state.looked.get(person).is_some_and(|at| now < *at + rest);
            if is_recent || !state.is_complete {
                return;
            }
            state.looked.insert(person.clone(), now);
        }
        self.backlog.add_person(person.clone());
    }

    /// Watches the folders of people who were added since the last call.
    pub(crate) async fn watch_more(&self) {
        let people = match self.people.people().await {
            Ok(people) => people,
            Err(error) => {
                tracing::warn!(%error, "the people whose files to watch could not be listed");
                Vec::new()
            }
        };
        self.watch.watch(people).await;
    }

    pub(crate) fn stop_watching(&self) {
        self.watch.stop();
    }

    pub(crate) fn watching(&self) -> Watching {
        self.watch.state()
    }

    /// Notices that the chunk table was deleted, because a new one has another epoch.
    pub(crate) fn notice_loss(&self, epoch: u64) {
        let mut state = self.state();
        if state.is_complete && state.epoch != Some(epoch) {
            state.is_complete = false;
            drop(state);
            self.backlog.add_everything();
        }
    }

    /// Stores the last error; `None` if the work succeeded.
    pub(crate) fn note_error(&self, error: Option<String>) {
        self.state().error = error;
    }

    pub(crate) fn synced_at(&self) -> Option<Timestamp> {
        self.state().synced_at
    }

    /// The work that is left for the files and conversations of all people.
    pub(crate) fn work(&self) -> IndexWork {
        let waiting = self.backlog.waiting();
        let progress = self.indexing.progress();
        let state = self.state();
        IndexWork { is_complete: state.is_complete, waiting, progress, error: state.error.clone() }
    }

    fn state(&self) -> MutexGuard<'_, SyncState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
