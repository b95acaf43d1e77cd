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

/// Carries notices to all listeners.
///
/// In one process this is a channel. Where several gateways share a store, a task listens to this
/// gateway's own notices, passes them to the other gateways, and announces here what it gets from
/// them.
pub trait Notifier: Send + Sync {
    fn notify(&self, notice: Notice);

    /// Announces a notice from another gateway.
    fn hear(&self, notice: Notice);

    /// Subscribes to notices of this gateway from now on, without those of other gateways.
    fn listen_to_own(&self) -> broadcast::Receiver<Notice>;

    /// Subscribes to all notices from now on, of all people; the listener filters them. A listener
    /// that falls too far behind gets an error from the channel and must read the state again.
    fn listen(&self) -> broadcast::Receiver<Notice>;
}

impl dyn Notifier {
    pub(crate) fn tell(&self, person: &PersonId, session: SessionId, kind: NoticeKind) {
        self.notify(Notice { person: person.clone(), session, kind });
    }
}
