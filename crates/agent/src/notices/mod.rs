//! Notices: short facts such as "this session has a new run", for the surfaces that show sessions.
//!
//! Every room may send and hear them; nothing is decided here and nothing is kept. A notice is a
//! hint to look again: a listener that misses one loses no data.

mod local;

use onyx_types::{DraftId, PersonId, RunId, SessionId, TurnId};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

pub(crate) use local::LocalNotifier;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub person: PersonId,
    pub session: SessionId,
    pub kind: NoticeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// Carries notices from where something happens to all listeners.
///
/// One process needs no more than a channel. Where several gateways work over one store, the task that passes notices
/// between them listens to what happened here and announces what it heard from the others.
pub trait Notifier: Send + Sync {
    fn notify(&self, notice: Notice);

    /// Something that happened at another gateway.
    fn hear(&self, notice: Notice);

    /// Notices of this process from now on; those from other gateways are left out.
    fn listen_to_own(&self) -> broadcast::Receiver<Notice>;

    /// Every notice from now on, of every person: the listener picks its own. A listener that
    /// falls too far behind gets an error from the channel and reads the state again.
    fn listen(&self) -> broadcast::Receiver<Notice>;
}

impl dyn Notifier {
    pub(crate) fn tell(&self, person: &PersonId, session: SessionId, kind: NoticeKind) {
        self.notify(Notice { person: person.clone(), session, kind });
    }
}
