//! Which session a chat of `useChat` began, and who reads the runs of such chats.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_agent::{Runs, StopTarget};
use onyx_types::{PersonId, RunId, SessionId};

/// How many chats are remembered. One that is forgotten is still found by its session's id, which
/// every answer tells.
const MOST_CHATS: usize = 4_096;

/// How long a run goes on when nobody reads it. A page that is loaded again rejoins within it;
/// `stop()` of `useChat` only closes the connection, so then the run is stopped.
const PATIENCE: Duration = Duration::from_secs(8);

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct UiChats(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// Oldest first.
    sessions: VecDeque<(PersonId, String, SessionId)>,
    readers: HashMap<RunId, Readers>,
}

#[derive(Default)]
struct Readers {
    now: usize,
    /// Counts every reader that came, so that one who waits knows whether another did.
    ever: u64,
}

impl UiChats {
    pub(super) fn note(&self, person: &PersonId, chat: &str, session: SessionId) {
        let mut inner = self.inner();
        inner.sessions.retain(|(whose, name, _)| whose != person || name != chat);
        inner.sessions.push_back((person.clone(), chat.to_owned(), session));
        if inner.sessions.len() > MOST_CHATS {
            inner.sessions.pop_front();
        }
    }

    pub(super) fn session(&self, person: &PersonId, chat: &str) -> Option<SessionId> {
        let inner = self.inner();
        let mut newest_first = inner.sessions.iter().rev();
        let found = newest_first.find(|(whose, name, _)| whose == person && name == chat);
        found.map(|(_, _, session)| *session)
    }

    /// Somebody reads this run from now on.
    pub(super) fn read(&self, runs: &Runs, person: &PersonId, run: RunId) -> Reader {
        let mut inner = self.inner();
        let readers = inner.readers.entry(run).or_default();
        readers.now += 1;
        readers.ever += 1;
        Reader {
            chats: self.clone(),
            runs: runs.clone(),
            person: person.clone(),
            run,
            is_done: false,
        }
    }

    /// One reader less. How many there ever were, if that was the last one at present.
    fn leave(&self, run: RunId) -> Option<u64> {
        let mut inner = self.inner();
        let readers = inner.readers.get_mut(&run)?;
        readers.now -= 1;
        (readers.now == 0).then_some(readers.ever)
    }

    fn nobody_since(&self, run: RunId, ever: u64) -> bool {
        let inner = self.inner();
        inner.readers.get(&run).is_some_and(|readers| readers.now == 0 && readers.ever == ever)
    }

    fn forget(&self, run: RunId) {
        let mut inner = self.inner();
        if inner.readers.get(&run).is_some_and(|readers| readers.now == 0) {
            inner.readers.remove(&run);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change of it is one step, so a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that reads a run. When the last one goes away before the end and none comes back, the
/// run is stopped.
pub(super) struct Reader {
    chats: UiChats,
    runs: Runs,
    person: PersonId,
    run: RunId,
    is_done: bool,
}

impl Reader {
    /// All was told that there is to tell for now.
    pub(super) fn done(&mut self) {
        self.is_done = true;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let last = self.chats.leave(self.run);
        let Some(ever) = last.filter(|_| !self.is_done) else {
            return self.chats.forget(self.run);
        };
        let (chats, runs) = (self.chats.clone(), self.runs.clone());
        let (person, run) = (self.person.clone(), self.run);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            if !chats.nobody_since(run, ever) {
                return;
            }
            chats.forget(run);
            if let Err(fault) = runs.stop(&person, StopTarget::Run(run)).await {
                tracing::warn!(%run, %fault, "a run that nobody reads could not be stopped");
            }
        });
    }
}
