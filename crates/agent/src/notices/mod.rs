//! What happens to sessions, for whoever shows them: runs that nobody who watches has asked for
//! (words that waited, another device) must be seen too.

use onyx_types::{DraftId, PersonId, RunId, SessionId, TurnId};
use tokio::sync::broadcast;

use crate::RunManager;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub person: PersonId,
    pub session: SessionId,
    pub happened: Happened,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    RunStarted(RunId),
    RunEnded(RunId),
    /// Its title, status or agents; or it is new.
    Changed,
    Deleted,
    /// A message of it will not be answered.
    TakenBack(TurnId),
    /// A draft of it is new or in another state.
    Draft(DraftId),
}

/// A listener that falls further behind is told so, and reads the list anew.
pub(crate) const MOST_UNHEARD: usize = 256;

impl RunManager {
    /// Everything from now on, of every person: the listener picks its own.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.inner.notices.subscribe()
    }

    pub(crate) fn tell(&self, person: &PersonId, session: SessionId, happened: Happened) {
        // Fails only when nobody listens.
        let _ = self.inner.notices.send(Notice { person: person.clone(), session, happened });
    }
}
