//! Notices: short facts such as "this session has a new run", for the surfaces that show sessions.
//!
//! Every room may send and hear them; nothing is decided here and nothing is kept. A notice is a
//! hint to look again: a listener that misses one loses no data.

use onyx_types::{DraftId, PersonId, RunId, SessionId, TurnId};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

/// A listener that is this many notices behind gets an error that says so.
const MOST_UNHEARD: usize = 256;

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

/// Carries notices to all listeners in this process.
///
/// Where several gateways share a store, a task listens to this gateway's own notices, passes them
/// to the other gateways, and announces here what it gets from them.
pub(crate) struct Notifier {
    all: broadcast::Sender<Notice>,
    /// Only notices of this gateway, for the task that passes them on to other gateways.
    own: broadcast::Sender<Notice>,
}

impl Default for Notifier {
    fn default() -> Self {
        Self {
            all: broadcast::Sender::new(MOST_UNHEARD),
            own: broadcast::Sender::new(MOST_UNHEARD),
        }
    }
}

// Sending fails only when there is no listener.
impl Notifier {
    pub(crate) fn tell(&self, person: &PersonId, session: SessionId, kind: NoticeKind) {
        let notice = Notice { person: person.clone(), session, kind };
        if self.own.receiver_count() > 0 {
            let _ = self.own.send(notice.clone());
        }
        let _ = self.all.send(notice);
    }

    /// Announces a notice from another gateway.
    pub(crate) fn announce(&self, notice: Notice) {
        let _ = self.all.send(notice);
    }

    /// Subscribes to notices of this gateway from now on, without those of other gateways.
    pub(crate) fn listen_to_own(&self) -> broadcast::Receiver<Notice> {
        self.own.subscribe()
    }

    /// Subscribes to all notices from now on, of all people; the listener filters them. A listener
    /// that falls too far behind gets an error from the channel and must read the state again.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Notice> {
        self.all.subscribe()
    }
}
