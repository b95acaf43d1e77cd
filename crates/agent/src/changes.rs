//! What changed, told to whoever shows it: surfaces that keep a list in step without asking again.

use onyx_types::{PersonId, RunId, SessionId};
use tokio::sync::broadcast;

/// Changes a slow listener may be behind before it is told to look at everything anew.
const KEPT: usize = 256;

/// Something about a session of one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub person: PersonId,
    pub session: SessionId,
    pub kind: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Its title, status or agents are others now, or it is new.
    Changed,
    Removed,
    RunStarted(RunId),
    RunEnded(RunId),
}

/// One listener's place.
#[derive(Debug)]
pub struct ChangeReader(broadcast::Receiver<Change>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Change(Change),
    /// Some changes were missed: everything may be different.
    Missed,
}

impl ChangeReader {
    /// `None` when no more can come.
    pub async fn next(&mut self) -> Option<Heard> {
        match self.0.recv().await {
            Ok(change) => Some(Heard::Change(change)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Heard::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Changes(broadcast::Sender<Change>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }
}

impl Changes {
    pub(crate) fn tell(&self, person: &PersonId, session: SessionId, kind: ChangeKind) {
        // Nobody listening is no failure.
        let _ = self.0.send(Change { person: person.clone(), session, kind });
    }

    pub(crate) fn listen(&self) -> ChangeReader {
        ChangeReader(self.0.subscribe())
    }
}
