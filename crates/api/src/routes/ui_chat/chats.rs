//! The sessions that chats of `useChat` began, and the readers of the runs of such chats.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_agent::{Runs, StopTarget};
use onyx_types::{PersonId, RunId, SessionId};

/// How many chats are remembered. The session of a forgotten one is still found by its id, which
/// every answer contains.
const MOST_CHATS: usize = 4_096;

/// How long a run continues without a reader. A page that is reloaded rejoins within this time;
/// `stop()` of `useChat` only closes the connection, so the run is stopped after it.
const PATIENCE: Duration = Duration::from_secs(8);

/// The chats and readers of all people. Cheap to clone.
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
    /// How many readers there were so far. A waiting task compares it to know whether another one
    /// came.
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

    /// Registers a reader of this run.
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

    /// Removes a reader. Returns the number of readers so far if no other one is left.
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
        // Every change is a single step, so a panic elsewhere leaves the state consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that reads a run. When the last reader leaves before the end and none returns, the run
/// is stopped.
pub(super) struct Reader {
    chats: UiChats,
    runs: Runs,
    person: PersonId,
    run: RunId,
    is_done: bool,
}

impl Reader {
    /// Notes that everything was sent, so that the run continues when this reader leaves.
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
                tracing::warn!(%run, %fault, "a run that no client reads could not be stopped");
            }
        });
    }
}
