//! The parts of a driver.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use onyx_knowledge::Index;
use onyx_storage::{
    BeginRun, Drafts, Duties, Files, Lease, Leases, Ledger, LogState, RunLog, Steps, StoreError,
    TurnLog,
};
use onyx_tools::{Offering, Policy, ToolCx, Toolbox};
use onyx_types::{AgentId, Cancel, Clock, LaneId, Model, PersonId, ToolUseId};
use tokio::sync::mpsc;

use super::live_text::LiveNotes;
use super::messages::RunMessage;
use super::model_streams::ModelStreams;
use super::report::RunReport;
use super::slots::RunSlot;
use crate::agents::Models;
use crate::feed::Feed;
use crate::notices::Notifier;
use crate::prompt::History;
use crate::step::Input;

pub(super) const LIVE_OUTPUT_QUEUE: usize = 64;

/// The services that all drivers share.
pub(crate) struct DriveServices {
    pub(crate) turns: Arc<dyn TurnLog>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) run_log: Arc<dyn RunLog>,
    pub(crate) drafts: Arc<dyn Drafts>,
    pub(crate) leases: Arc<dyn Leases>,
    pub(crate) duties: Arc<dyn Duties>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) steps: Steps,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) notices: Arc<Notifier>,
    /// The index of a person's conversations; empty where there is none. It learns of an ended run
    /// before the end is announced.
    pub(crate) index: OnceLock<Index>,
    /// Whether other gateways may decide drafts that runs of this gateway wait for.
    pub(crate) has_others: AtomicBool,
}

/// What one lane needs to act: its model, its policy, and for whom its tools work.
pub(crate) struct LaneActor {
    pub(crate) model: Option<Arc<dyn Model>>,
    /// Models that were replaced during the run. They are kept because their cost counts as open
    /// until the run's end is recorded.
    pub(crate) retired: Vec<Arc<dyn Model>>,
    pub(crate) tools: LaneTools,
    pub(crate) tool_cx: ToolCx,
}

/// The agent's own tools in one lane. Tools may come and go while the run works.
pub(crate) struct LaneTools {
    toolbox: Arc<Toolbox>,
    pub(crate) policy: Arc<Policy>,
    withheld: Withheld,
    /// How many tokens of the prompt the tools of other programs may take.
    room: usize,
    /// The version of the toolbox when it was last read.
    version: u64,
}

/// The agent's own tools that a request does not offer.
pub(crate) enum Withheld {
    Everything,
    /// The agent's tools of these names, which the client's tools replace.
    Names(Vec<String>),
}

impl LaneTools {
    pub(crate) fn new(
        toolbox: Arc<Toolbox>,
        policy: Arc<Policy>,
        withheld: Withheld,
        room: usize,
    ) -> Self {
        let version = toolbox.version();
        Self { toolbox, policy, withheld, room, version }
    }

    /// The tools that the agent is offered now for this person.
    pub(crate) fn offering(&self, agent: &AgentId, person: &PersonId) -> Arc<Offering> {
        let names = match &self.withheld {
            Withheld::Everything => return Arc::default(),
            Withheld::Names(names) => names,
        };
        let own = self.toolbox.offers_within(&self.policy, agent, person, self.room);
        if names.is_empty() {
            return own;
        }
        Arc::new(own.without(|name| names.iter().any(|withheld| withheld == name)))
    }

    /// The new offering, if tools have come or gone since the last call.
    fn changed(&mut self, cx: &ToolCx) -> Option<Arc<Offering>> {
        let version = self.toolbox.version();
        if version == self.version {
            return None;
        }
        self.version = version;
        Some(self.offering(&cx.agent, &cx.key.person))
    }
}

impl LaneActor {
    /// The lane's new offering, if tools have come or gone since the last call.
    pub(super) fn changed_tools(&mut self) -> Option<Arc<Offering>> {
        self.tools.changed(&self.tool_cx)
    }
}

/// What the run holds of its session.
pub(crate) struct SessionHold {
    pub(crate) lease: Lease,
    /// The slot is released before the end is announced, because a client may send its next message
    /// at once.
    pub(crate) slot: Option<RunSlot>,
    /// The state of the log after the last append.
    pub(crate) log: Option<LogState>,
    pub(crate) ledger: LedgerState,
}

/// How much of the run is recorded in the ledger.
pub(crate) enum LedgerState {
    /// Nothing is recorded yet: the run's row is written with its first turns.
    ToBegin(Box<BeginRun>),
    /// Nothing will be recorded, because of this error.
    Refused(StoreError),
    Open,
    /// The run's end was written with its last turns, and the session is free.
    Closed,
}

/// Receives messages for the run from other parts of the program.
pub(crate) struct Mailbox {
    pub(crate) cancel: Cancel,
    pub(crate) messages: mpsc::Receiver<RunMessage>,
}

/// Where the run's events go.
pub(crate) struct RunOutput {
    pub(crate) feed: Arc<Feed>,
    pub(crate) live_text: LiveNotes,
    /// The page that the run of an action leaves behind.
    pub(crate) report: Option<RunReport>,
}

/// What is recorded at the run's end besides its usage.
pub(crate) struct EndNotes {
    /// The title that the session gets if it has none yet.
    pub(crate) title: Option<String>,
    /// Where the run that asked for this one reads what it cost.
    pub(crate) spent: Option<Arc<Mutex<f64>>>,
    /// It is called before the end is announced, because the client may send the answers back at
    /// once.
    pub(crate) remember: Option<RememberAnswers>,
}

/// Remembers what a run answered.
pub(crate) type RememberAnswers = Box<dyn FnOnce(&History) + Send + Sync>;

/// Work that is in progress outside of the state machine.
pub(crate) struct UnderWay {
    pub(super) models: ModelStreams,
    pub(super) model_cancels: Vec<Cancel>,
    pub(super) tools: FuturesUnordered<BoxFuture<'static, Input>>,
    pub(super) tool_cancels: Vec<Cancel>,
    pub(super) live_sender: mpsc::Sender<(LaneId, ToolUseId, String)>,
    pub(super) live: mpsc::Receiver<(LaneId, ToolUseId, String)>,
}

impl UnderWay {
    pub(crate) fn new(lanes: usize) -> Self {
        let (live_sender, live) = mpsc::channel(LIVE_OUTPUT_QUEUE);
        Self {
            models: ModelStreams::default(),
            model_cancels: (0..lanes).map(|_| Cancel::new()).collect(),
            tools: FuturesUnordered::new(),
            tool_cancels: (0..lanes).map(|_| Cancel::new()).collect(),
            live_sender,
            live,
        }
    }
}
