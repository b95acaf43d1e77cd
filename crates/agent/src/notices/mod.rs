//! Notices: short facts such as "this session has a new run", for whoever shows sessions.
//!
//! Every room may send and hear them; nothing is decided here and nothing is kept. A notice is a
//! hint to look again: a listener that misses one loses no data.

mod local;

use onyx_types::{DraftId, PersonId, RunId, SessionId, TurnId};
use tokio::sync::broadcast;

pub(crate) use local::LocalNotifier;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub person: PersonId,
    pub session: SessionId,
    pub kind: NoticeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    RunStarted(RunId),
    RunEnded(RunId),
    /// The session is new, or its title, status or agents changed.
    SessionChanged,
    SessionDeleted,
    /// A message of the session was withdrawn and will not be answered.
    MessageWithdrawn(TurnId),
    /// A draft of the session is new or in another state.
    Draft(DraftId),
}

/// Carries notices from where something happens to everybody who listens.
///
/// One process needs no more than a channel. Several processes over one store need a notifier that
/// also passes notices between them; what it hears from others it feeds into the same channel.
pub trait Notifier: Send + Sync {
    fn notify(&self, notice: Notice);

    /// Every notice from now on, of every person: the listener picks its own. A listener that
    /// falls too far behind is told so by the channel and reads the state anew.
    fn listen(&self) -> broadcast::Receiver<Notice>;
}

impl dyn Notifier {
    pub(crate) fn tell(&self, person: &PersonId, session: SessionId, kind: NoticeKind) {
        self.notify(Notice { person: person.clone(), session, kind });
    }
}
