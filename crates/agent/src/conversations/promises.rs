//! Messages that are promised an answer in their turn, whether or not a client is connected, unless
//! they are withdrawn.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_types::{PersonId, SessionId, TurnId};

/// Remembers the messages whose answer was promised.
///
/// In one process that is memory: the inbox on disk says after a restart what was promised. With
/// several processes over one store, another implementation would share it.
pub(crate) trait Promises: Send + Sync {
    fn add(&self, message: TurnId, person: PersonId, session: SessionId);

    /// Whether the message was promised until now.
    fn remove(&self, message: TurnId) -> bool;

    fn is_promised(&self, message: TurnId) -> bool;

    /// The person and session of a promised message.
    fn find(&self, message: TurnId) -> Option<(PersonId, SessionId)>;

    /// A withdrawn message is not answered, not even by a run that begins right now.
    fn withdraw(&self, message: TurnId);

    fn is_withdrawn(&self, message: TurnId) -> bool;

    /// From now on no run is begun in the session, and what was promised there is forgotten.
    fn close(&self, session: SessionId);

    fn reopen(&self, session: SessionId);

    fn is_closed(&self, session: SessionId) -> bool;
}

/// The promises of this process.
#[derive(Default)]
pub(crate) struct LocalPromises {
    messages: Mutex<HashMap<TurnId, (PersonId, SessionId)>>,
    closed: Mutex<HashSet<SessionId>>,
    /// Messages that people withdrew since the process began: a few bytes for each.
    withdrawn: Mutex<HashSet<TurnId>>,
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

/// A session in which no run is begun until this is dropped.
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
