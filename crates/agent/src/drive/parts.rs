//! What a driver is made of.

use std::sync::{Arc, Mutex, OnceLock};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use onyx_knowledge::Index;
use onyx_storage::{Drafts, Files, Lease, Leases, Ledger, LogState, Steps, TurnLog};
use onyx_tools::{Policy, ToolCx, Toolbox};
use onyx_types::{Cancel, Clock, LaneId, Model, ToolUseId, TurnId};
use tokio::sync::mpsc;

use super::live_text::LiveNotes;
use super::messages::RunMessage;
use super::model_streams::ModelStreams;
use super::report::RunReport;
use super::slots::RunSlot;
use crate::agents::Models;
use crate::feed::Feed;
use crate::notices::Notifier;
use crate::step::Input;

pub(super) const LIVE_OUTPUT_QUEUE: usize = 64;

/// What every driver works with; one for all runs.
pub(crate) struct DriveServices {
    pub(crate) turns: Arc<dyn TurnLog>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) drafts: Arc<dyn Drafts>,
    pub(crate) leases: Arc<dyn Leases>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) steps: Steps,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) notices: Arc<dyn Notifier>,
    /// What messages are answered from, and what hears of an ended run before anybody is told of its
    /// end; empty where there is no index.
    pub(crate) index: OnceLock<Index>,
}

/// What one lane needs to act: its model, its policy, and for whom its tools work.
pub(crate) struct LaneActor {
    pub(crate) model: Option<Arc<dyn Model>>,
    /// Models from before a change: what they cost is open until the run is booked.
    pub(crate) retired: Vec<Arc<dyn Model>>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) tool_cx: ToolCx,
}

/// The run's hold on its session.
pub(crate) struct SessionHold {
    pub(crate) lease: Lease,
    /// Given back before the end is told: who hears of it may come with the next message at once.
    pub(crate) slot: Option<RunSlot>,
    /// How the last append left the log.
    pub(crate) log: Option<LogState>,
    /// Words from the inbox that are not known to stand in the log yet.
    pub(crate) inbox: Vec<TurnId>,
}

/// Where the run hears from others.
pub(crate) struct Mailbox {
    pub(crate) cancel: Cancel,
    pub(crate) messages: mpsc::Receiver<RunMessage>,
}

/// Where the run's events go.
pub(crate) struct Outlet {
    pub(crate) feed: Arc<Feed>,
    pub(crate) live_text: LiveNotes,
    /// The page that the run of an action leaves behind.
    pub(crate) report: Option<RunReport>,
}

/// What is booked at the run's end beside its usage.
pub(crate) struct Books {
    /// Given to the session where it has no title yet.
    pub(crate) title: Option<String>,
    /// Where the run that asked for this one reads what it cost.
    pub(crate) spent: Option<Arc<Mutex<f64>>>,
}

/// What is under way outside of the state machine.
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
