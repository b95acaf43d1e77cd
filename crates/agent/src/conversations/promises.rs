//! Messages that are promised an answer in their turn, whether or not a client is connected, unless
//! they are withdrawn.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_storage::{Delivery, InboxRow};
use onyx_types::{PersonId, SessionId, TurnId};

/// Whether a message was promised an answer of its own, which it gets although no client asks for it.
pub(super) fn is_to_be_answered(row: &InboxRow) -> bool {
    row.delivery == Delivery::FollowUp && !row.words.withdrawn
}

/// Remembers the messages whose answer was promised.
///
/// Each process keeps its own in memory, because the inbox in the store says what was promised:
/// after a restart, and when another gateway that made a promise is gone.
#[derive(Default)]
pub(crate) struct Promises {
    messages: Mutex<HashMap<TurnId, (PersonId, SessionId)>>,
    /// The messages whose answers clients are asking for, with the number of those clients.
    asked: Mutex<HashMap<TurnId, usize>>,
    closed: Mutex<HashSet<SessionId>>,
    /// Messages that people withdrew since the process began. They are never removed, since each
    /// takes only a few bytes.
    withdrawn: Mutex<HashSet<TurnId>>,
    /// Messages that are answered or cannot be answered. They are never removed either.
    finished: Mutex<HashSet<TurnId>>,
}

impl Promises {
    pub(super) fn add(&self, message: TurnId, person: PersonId, session: SessionId) {
        self.messages().insert(message, (person, session));
    }

    /// Removes the promise and returns whether there was one.
    pub(super) fn remove(&self, message: TurnId) -> bool {
        self.messages().remove(&message).is_some()
    }

    pub(super) fn is_promised(&self, message: TurnId) -> bool {
        self.messages().contains_key(&message)
    }

    /// Notes that a client asks for the message's answer, until what is returned is dropped.
    pub(super) fn ask(self: &Arc<Self>, message: TurnId) -> AskedMessage {
        *self.asked().entry(message).or_default() += 1;
        AskedMessage { promises: Arc::clone(self), message }
    }

    pub(super) fn is_asked(&self, message: TurnId) -> bool {
        self.asked().contains_key(&message)
    }

    /// The person and session of a promised message.
    pub(super) fn find(&self, message: TurnId) -> Option<(PersonId, SessionId)> {
        self.messages().get(&message).cloned()
    }

    /// Marks the message as withdrawn, so that no run answers it, not even one that begins at this
    /// moment.
    pub(super) fn withdraw(&self, message: TurnId) {
        self.withdrawn().insert(message);
    }

    pub(super) fn is_withdrawn(&self, message: TurnId) -> bool {
        self.withdrawn().contains(&message)
    }

    /// Notes that this process has nothing more to do for the message, because it is answered or
    /// cannot be answered here. Later messages need not wait for it.
    pub(super) fn finish(&self, message: TurnId) {
        self.finished().insert(message);
    }

    pub(super) fn is_finished(&self, message: TurnId) -> bool {
        self.finished().contains(&message)
    }

    /// Forgets what was promised in the session and keeps new runs from beginning there.
    pub(super) fn close(&self, session: SessionId) {
        self.closed().insert(session);
        self.messages().retain(|_, (_, of)| *of != session);
    }

    pub(super) fn reopen(&self, session: SessionId) {
        self.closed().remove(&session);
    }

    pub(super) fn is_closed(&self, session: SessionId) -> bool {
        self.closed().contains(&session)
    }

    fn messages(&self) -> MutexGuard<'_, HashMap<TurnId, (PersonId, SessionId)>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<TurnId, usize>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn withdrawn(&self) -> MutexGuard<'_, HashSet<TurnId>> {
        self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finished(&self) -> MutexGuard<'_, HashSet<TurnId>> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message whose answer a client asks for until this is dropped.
pub(super) struct AskedMessage {
    promises: Arc<Promises>,
    message: TurnId,
}

impl Drop for AskedMessage {
    fn drop(&mut self) {
        let mut asked = self.promises.asked();
        if let Some(clients) = asked.get_mut(&self.message) {
            *clients -= 1;
            if *clients == 0 {
                asked.remove(&self.message);
            }
        }
    }
}

/// Keeps runs from beginning in a session until this is dropped.
pub(super) struct ClosedSession {
    promises: Arc<Promises>,
    session: SessionId,
}

impl ClosedSession {
    pub(super) fn close(promises: &Arc<Promises>, session: SessionId) -> Self {
        promises.close(session);
        Self { promises: Arc::clone(promises), session }
    }
}

impl Drop for ClosedSession {
    fn drop(&mut self) {
        self.promises.reopen(self.session);
    }
}
