//! Changes outside of sessions, for all people or for one. Live clients reload what changed.

use onyx_types::PersonId;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

/// A listener that falls further behind is told that it missed changes.
const MOST_UNHEARD: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The list of agents changed, or a file of an agent.
    Agents,
    /// Another config is in effect, or the config file became invalid.
    Config,
    /// Files that searches see: a person's, or the shared ones.
    Memory(Option<PersonId>),
    /// An account, a peer or a message of a connector.
    Connectors,
}

/// A channel on which changes are sent and heard. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Changes {
    all: broadcast::Sender<Change>,
    /// Only changes that other gateways are to be told of.
    shared: broadcast::Sender<Change>,
}

impl Default for Changes {
    fn default() -> Self {
        let (all, shared) =
            (broadcast::Sender::new(MOST_UNHEARD), broadcast::Sender::new(MOST_UNHEARD));
        Self { all, shared }
    }
}

// Sending fails only when there is no listener.
impl Changes {
    /// Tells the clients of this gateway: of a change that every gateway notices by itself, or that
    /// another gateway told of.
    pub fn tell(&self, change: Change) {
        let _ = self.all.send(change);
    }

    /// Tells the clients of all gateways of a change that this gateway made.
    pub fn tell_everywhere(&self, change: Change) {
        let _ = self.shared.send(change.clone());
        self.tell(change);
    }

    /// Subscribes to the changes that other gateways are to be told of.
    pub fn to_be_shared(&self) -> broadcast::Receiver<Change> {
        self.shared.subscribe()
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.all.subscribe()
    }
}

impl Change {
    pub(crate) const TOPICS: [&'static str; 4] = ["agents", "config", "memory", "connectors"];

    pub(crate) const fn topic(&self) -> &'static str {
        match self {
            Self::Agents => Self::TOPICS[0],
            Self::Config => Self::TOPICS[1],
            Self::Memory(_) => Self::TOPICS[2],
            Self::Connectors => Self::TOPICS[3],
        }
    }

    pub(crate) fn concerns(&self, listener: &PersonId) -> bool {
        match self {
            Self::Agents | Self::Config | Self::Memory(None) | Self::Connectors => true,
            Self::Memory(Some(person)) => person == listener,
        }
    }
}
