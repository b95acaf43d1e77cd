//! Holds what connectors are built from: the stores, the agent, the clock and the egress client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onyx_egress::Egress;
use onyx_sandbox::Sandbox;
use onyx_storage::ConnectorLedger;
use onyx_types::Clock;

use crate::connector::PaceLimits;
use crate::port::AgentPort;

/// All waiting times, in one place so that tests can shorten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimes {
    /// How long a network may keep a poll for updates open.
    pub poll: Duration,
    /// How long any other request may take.
    pub request: Duration,
    /// An account that received nothing for this long is restarted.
    pub deaf: Duration,
    /// How long to wait after a failed poll. The time grows with each further failure.
    pub backoff: Duration,
    /// The pace to use instead of the network's own one.
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

/// The values that all connectors need.
#[derive(Clone)]
pub struct ConnectorSetup {
    pub ledger: Arc<dyn ConnectorLedger>,
    pub port: Arc<dyn AgentPort>,
    pub clock: Arc<dyn Clock>,
    /// The client through which all networks are reached.
    pub egress: Egress,
    pub wait_times: WaitTimes,
    /// Where commands of the config run; `None` if no commands can be run.
    pub commands: Option<CommandPlace>,
}

/// The sandbox in which commands run, and the folder in which each gets a folder of its own.
#[derive(Clone)]
pub struct CommandPlace {
    pub sandbox: Sandbox,
    pub scratch: PathBuf,
}
