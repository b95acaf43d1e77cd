//! Messages that are promised an answer in their turn, whether or not a client is connected, unless
//! they are withdrawn.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_types::{PersonId, SessionId, TurnId};

/// Remembers the messages whose answer was promised.
///
/// Each process keeps its own in memory, because the inbox in the store says what was promised:
/// after a restart, and when another gateway that made a promise is gone.
pub(crate) trait Promises: Send + Sync {
    fn add(&self, message: TurnId, person: PersonId, session: SessionId);

    /// Removes the promise and returns whether there was one.
    fn remove(&self, message: TurnId) -> bool;

    fn is_promised(&self, message: TurnId) -> bool;

    /// The person and session of a promised message.
    fn find(&self, message: TurnId) -> Option<(PersonId, SessionId)>;

    /// Marks the message as withdrawn, so that no run answers it, not even one that begins at this
    /// moment.
    fn withdraw(&self, message: TurnId);

    fn is_withdrawn(&self, message: TurnId) -> bool;

    /// Notes that this process cannot answer the message, so that it does not try again and later
    /// messages need not wait for it.
    fn give_up(&self, message: TurnId);

    fn is_given_up(&self, message: TurnId) -> bool;

    /// Forgets what was promised in the session and keeps new runs from beginning there.
    fn close(&self, session: SessionId);

    fn reopen(&self, session: SessionId);

    fn is_closed(&self, session: SessionId) -> bool;
}

/// Keeps the promises of this process in memory.
#[derive(Default)]
pub(crate) struct LocalPromises {
    messages: Mutex<HashMap<TurnId, (PersonId, SessionId)>>,
    closed: Mutex<HashSet<SessionId>>,
    /// Messages that people withdrew since the process began. They are never removed, since each
    /// takes only a few bytes.
    withdrawn: Mutex<HashSet<TurnId>>,
    /// Messages whose answer failed before a run began. They are never removed either.
    given_up: Mutex<HashSet<TurnId>>,
}

impl LocalPromises {
    fn messages(&self) -> MutexGuard<'_, HashMap<TurnId, (PersonId, SessionId)>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn withdrawn(&self) -> MutexGuard<'_, HashSet<TurnId>> {
        self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn given_up(&self) -> MutexGuard<'_, HashSet<TurnId>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Promises for LocalPromises {
    fn add(&self, message: TurnId, person: PersonId, session: SessionId) {
        self.messages().insert(message, (person, session));
    }

    fn remove(&self, message: TurnId) -> bool {
        self.messages().remove(&message).is_some()
    }

    fn is_promised(&self, message: TurnId) -> bool {
        self.messages().contains_key(&message)
    }

    fn find(&self, message: TurnId) -> Option<(PersonId, SessionId)> {
        self.messages().get(&message).cloned()
    }

    fn withdraw(&self, message: TurnId) {
        self.withdrawn().insert(message);
    }

    fn is_withdrawn(&self, message: TurnId) -> bool {
        self.withdrawn().contains(&message)
    }

    fn give_up(&self, message: TurnId) {
        self.given_up().insert(message);
    }

    fn is_given_up(&self, message: TurnId) -> bool {
        self.given_up().contains(&message)
    }

    fn close(&self, session: SessionId) {
        self.closed().insert(session);
        self.messages().retain(|_, (_, of)| *of != session);
    }

    fn reopen(&self, session: SessionId) {
        self.closed().remove(&session);
    }

    fn is_closed(&self, session: SessionId) -> bool {
        self.closed().contains(&session)
    }
}

/// Keeps runs from beginning in a session until this is dropped.
pub(super) struct ClosedSession {
    promises: Arc<dyn Promises>,
    session: SessionId,
}

impl ClosedSession {
    pub(super) fn close(promises: &Arc<dyn Promises>, session: SessionId) -> Self {
        promises.close(session);
        Self { promises: Arc::clone(promises), session }
    }
}

impl Drop for ClosedSession {
    fn drop(&mut self) {
        self.promises.reopen(self.session);
    }
}
