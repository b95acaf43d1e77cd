//! What connectors are built from: the stores, the agent, the clock and the egress client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onyx_egress::Egress;
use onyx_sandbox::Sandbox;
use onyx_storage::ConnectorLedger;
use onyx_types::Clock;

use crate::connector::PaceLimits;
use crate::port::AgentPort;

/// All waiting times, so that tests can shorten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimes {
    /// How long a network may wait with its answer to a question for updates.
    pub poll: Duration,
    /// How long any other question may take.
    pub request: Duration,
    /// An account that received nothing for this long is restarted.
    pub deaf: Duration,
    /// How long to wait after a failed poll; it grows with each.
    pub backoff: Duration,
    /// Replaces the network's own pace.
    pub pace: Option<PaceLimits>,
}

impl Default for WaitTimes {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(50),
            request: Duration::from_secs(30),
            deaf: Duration::from_secs(120),
            backoff: Duration::from_secs(1),
            pace: None,
        }
    }
}

/// What is needed to build connectors.
#[derive(Clone)]
pub struct ConnectorSetup {
    pub ledger: Arc<dyn ConnectorLedger>,
    pub port: Arc<dyn AgentPort>,
    pub clock: Arc<dyn Clock>,
    /// The way to the networks.
    pub egress: Egress,
    pub wait_times: WaitTimes,
    /// Where commands of the config run; `None`: nowhere.
    pub commands: Option<CommandPlace>,
}

/// The sandbox for commands, and the folder in which each gets a folder of its own.
#[derive(Clone)]
pub struct CommandPlace {
    pub sandbox: Sandbox,
    pub scratch: PathBuf,
}
