//! Changes outside of sessions, for all people or for one. Live clients reload what changed.

use onyx_types::PersonId;
use tokio::sync::broadcast;

/// A listener that falls further behind is told that it missed changes.
const MOST_UNHEARD: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
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
pub struct Changes(broadcast::Sender<Change>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(MOST_UNHEARD))
    }
}

impl Changes {
    pub fn tell(&self, change: Change) {
        // Sending fails only when there is no listener.
        let _ = self.0.send(change);
    }

    pub(crate) fn heard(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
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
