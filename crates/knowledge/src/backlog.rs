//! Lists the files and sessions whose latest state is not indexed yet. Every part that learns of a
//! change adds it here, and the indexers take it from here.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onyx_storage::SourceKey;
use onyx_types::{Pauses, PersonId, SessionId, SharedPauses};
use tokio::sync::Notify;

pub(crate) struct Backlog {
    pending: Mutex<Pending>,
    added: Notify,
    pauses: SharedPauses,
}

#[derive(Default)]
struct Pending {
    files: BTreeSet<SourceKey>,
    sessions: BTreeSet<(PersonId, SessionId)>,
    looks: FilesToCheck,
    /// The file that is being indexed now. A search still waits for it.
    file_at_work: Option<SourceKey>,
    /// The sessions that are being indexed now. A search still waits for them.
    sessions_at_work: BTreeSet<(PersonId, SessionId)>,
}

/// The people whose files must be looked through, because it is not known which of them changed.
#[derive(Default)]
pub(crate) struct FilesToCheck {
    pub(crate) people: BTreeSet<PersonId>,
    /// Whether the files of all people and the shared ones must be looked through.
    pub(crate) everything: bool,
}

impl Pending {
    /// The number of files and sessions whose latest state is not indexed yet.
    fn waiting(&self) -> usize {
        let at_work = usize::from(self.file_at_work.is_some()) + self.sessions_at_work.len();
        self.files.len() + self.sessions.len() + at_work
    }
}

impl Backlog {
    /// The backlog of a process that just started. It does not know what was written before, so
    /// everything must be looked through.
    pub(crate) fn new() -> Self {
        let looks = FilesToCheck { everything: true, ..FilesToCheck::default() };
        Self {
            pending: Mutex::new(Pending { looks, ..Pending::default() }),
            added: Notify::new(),
            pauses: SharedPauses::default(),
        }
    }

    /// Lets tests delay the work between its beginning and its end.
    pub(crate) fn set_pauses(&self, pauses: Pauses) {
        self.pauses.set(pauses);
    }

    pub(crate) fn add_file(&self, key: SourceKey) {
        self.pending().files.insert(key);
        self.wake();
    }

    /// Adds a session without waking a task. Sessions are indexed when they are searched, or when
    /// nothing else has happened for a while.
    pub(crate) fn add_session(&self, person: PersonId, session: SessionId) {
        self.pending().sessions.insert((person, session));
    }

    pub(crate) fn add_person(&self, person: PersonId) {
        self.pending().looks.people.insert(person);
        self.wake();
    }

    pub(crate) fn add_everything(&self) {
        self.pending().looks.everything = true;
        self.wake();
    }

    /// Waits until something was added.
    pub(crate) async fn added(&self) {
        self.added.notified().await;
    }

    pub(crate) fn wake(&self) {
        self.added.notify_one();
    }

    /// The number of files and sessions whose latest state is not indexed yet.
    pub(crate) fn waiting(&self) -> usize {
        self.pending().waiting()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let pending = self.pending();
        pending.waiting() == 0 && pending.looks.people.is_empty() && !pending.looks.everything
    }

    pub(crate) fn has_files(&self) -> bool {
        let pending = self.pending();
        !pending.files.is_empty() || pending.file_at_work.is_some()
    }

    pub(crate) fn has_sessions(&self) -> bool {
        let pending = self.pending();
        !pending.sessions.is_empty() || !pending.sessions_at_work.is_empty()
    }

    /// Takes the next file. The caller must hold the lock of indexing, so that one file is taken at
    /// a time.
    pub(crate) async fn take_file(&self) -> Option<TakenFile<'_>> {
        let taken = {
            let mut pending = self.pending();
            let key = pending.files.pop_first()?;
            pending.file_at_work = Some(key.clone());
            TakenFile { backlog: self, key }
        };
        self.pauses.at("index.file").await;
        Some(taken)
    }

    /// Takes all sessions that wait. The caller must see to it that only one task does this at a
    /// time.
    pub(crate) async fn take_sessions(&self) -> Option<TakenSessions<'_>> {
        let taken = {
            let mut pending = self.pending();
            let sessions = std::mem::take(&mut pending.sessions);
            if sessions.is_empty() {
                return None;
            }
            pending.sessions_at_work.clone_from(&sessions);
            TakenSessions { backlog: self, sessions }
        };
        self.pauses.at("index.session").await;
        Some(taken)
    }

    pub(crate) async fn take_looks(&self) -> FilesToCheck {
        let looks = std::mem::take(&mut self.pending().looks);
        self.pauses.at("index.look").await;
        looks
    }

    /// Puts a failed look back into the backlog. This wakes no task, so that a failure is not
    /// repeated at once.
    pub(crate) fn return_looks(&self, looks: FilesToCheck) {
        let mut pending = self.pending();
        pending.looks.everything |= looks.everything;
        pending.looks.people.extend(looks.people);
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that is being indexed. It goes back to the backlog unless [`TakenFile::mark_indexed`] is
/// called, because the caller may have failed or been dropped.
pub(crate) struct TakenFile<'a> {
    backlog: &'a Backlog,
    pub(crate) key: SourceKey,
}

impl TakenFile<'_> {
    pub(crate) fn mark_indexed(self) {
        self.backlog.pending().file_at_work = None;
    }
}

impl Drop for TakenFile<'_> {
    fn drop(&mut self) {
        let mut pending = self.backlog.pending();
        let left = pending.file_at_work.take();
        pending.files.extend(left);
    }
}

/// Sessions that are being indexed. They go back to the backlog unless
/// [`TakenSessions::mark_indexed`] is called, as with [`TakenFile`].
pub(crate) struct TakenSessions<'a> {
    backlog: &'a Backlog,
    pub(crate) sessions: BTreeSet<(PersonId, SessionId)>,
}

impl TakenSessions<'_> {
    pub(crate) fn mark_indexed(self) {
        self.backlog.pending().sessions_at_work.clear();
    }
}

impl Drop for TakenSessions<'_> {
    fn drop(&mut self) {
        let mut pending = self.backlog.pending();
        let left = std::mem::take(&mut pending.sessions_at_work);
        pending.sessions.extend(left);
    }
}
