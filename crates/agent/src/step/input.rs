//! The inputs and effects of a step.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Delivery, Draft, Messages, ModelUse};
use onyx_tools::{OfferState, Offering};
use onyx_types::{
    AgentId, Attendance, Author, BatchId, ContextMark, Decision, DraftId, DraftState, Event, Fault,
    LaneId, ModelEvent, ModelId, ModelRequest, Origin, PersonId, RunStatus, Taint, TokenCounter,
    ToolCall, ToolOutcome, ToolUseId, Turn, TurnId, Usage, UserContent, View,
};

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    Begin,
    Model(LaneId, ModelEvent),
    /// The batch of an `Append` effect is durable.
    Appended(Batch),
    ToolDone(LaneId, ToolUseId, ToolOutcome),
    /// The wait for a person's decision on this call's draft is over. `None`: nobody decided in
    /// time, the run was stopped, or the draft was removed with its session.
    DecisionWaitOver(LaneId, ToolUseId, Option<Box<Draft>>),
    ToolOutput(LaneId, ToolUseId, String),
    /// Live output of a call that a person approved while the run waits for it.
    ApprovedOutput(ToolUseId, String),
    /// Tools have come or gone. The lane uses this offering from its next step on.
    ToolsChanged(LaneId, Arc<Offering>),
    /// The lane's model was replaced by another.
    ModelChanged(LaneId, NewModel),
    /// The lane's model should be replaced, but the new one cannot be used.
    ModelRefused(LaneId, Fault),
    /// A person added words while the run works.
    Steer(Delivery, UserInput),
    /// A person decided on a draft of the session.
    Decided(DecidedDraft),
    Tick,
    Cancel,
    /// A person stops one of the agents that answer.
    CancelAgent(AgentId),
    StoreFailed(Fault),
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Make the turns of this batch durable together, then report `Appended`.
    Append(Batch),
    Emit(LaneId, Event),
    CallModel(LaneId, Box<ModelRequest>),
    StopModel(LaneId),
    /// Replace the lane's model by this one, then report `ModelChanged` or `ModelRefused`.
    UseModel(LaneId, ModelId),
    Invoke(LaneId, Box<Invocation>),
    /// Notify surfaces that this draft is new or changed.
    NotifyDraft(DraftId),
    /// A person wrote this text, so the addresses in it may be fetched from now on.
    NoteAddresses(String),
    /// Wait this long for a person to decide on the call's draft, then report `DecisionWaitOver`.
    AwaitDecision(LaneId, ToolUseId, DraftId, Duration),
    /// Tell running tools to stop; they still report.
    StopTools(LaneId),
    /// The run's end is durable: record it in the ledger and free the session, unless that was done
    /// with the last turns; then perform the next effects.
    Finish(Box<RunSummary>),
    /// Nothing can be written any more: free the session and leave the run to recovery.
    Abandon,
}

/// Turns on their way to disk. They are moved to the driver and back, so that long turns are never
/// copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub id: BatchId,
    pub turns: Vec<Turn>,
    /// Drafts whose decisions the turns deliver to the model.
    pub decided: Vec<DraftId>,
    /// Turns that are messages of the inbox. They are removed there once the log has them.
    pub from_inbox: Vec<TurnId>,
    /// The summary of the run if it ends with these turns, so that a store can write both at once.
    pub end: Option<Box<RunSummary>>,
}

/// A tool call that is to run now, and under which conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    pub call: ToolCall,
    pub attendance: Attendance,
    pub taint: Taint,
    /// Whether the lane's last request offered the tool.
    pub offered: OfferState,
    /// What is left of the run's money; `None` if there is no limit.
    pub cost_left: Option<f64>,
}

/// A model that replaces a lane's.
#[derive(Clone)]
pub struct NewModel {
    pub id: String,
    pub context_window: Option<u32>,
    /// Counts tokens as this model does.
    pub tokens: Arc<dyn TokenCounter>,
}

impl fmt::Debug for NewModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NewModel").field(&self.id).field(&self.context_window).finish()
    }
}

/// What the ledger records of an ended run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub status: RunStatus,
    pub usage: Usage,
    /// The usage of each agent and each model.
    pub used: Vec<ModelUse>,
    /// The cost of this run and of the runs that it asked for.
    pub cost: f64,
    /// Whether any lane read content from outside.
    pub taint: Taint,
    /// The messages that the run added to the session.
    pub messages: Messages,
}

/// A decision on a draft that is to be written into the log.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedDraft {
    pub decision: Decision,
    /// Where the output of an approved call came from.
    pub origin: Origin,
}

impl From<&Draft> for DecidedDraft {
    fn from(draft: &Draft) -> Self {
        let origin = match draft.state {
            DraftState::Applied | DraftState::Failed => draft.origin(),
            _ => Origin::Person,
        };
        let decision = Decision {
            draft_id: draft.id,
            state: draft.state,
            reason: draft.reason.clone(),
            output: draft.output_text().map(str::to_owned),
        };
        Self { decision, origin }
    }
}

/// A message for a session.
#[derive(Clone, Debug, PartialEq)]
pub struct UserInput {
    /// The id of the message, if it has one already.
    pub turn: Option<TurnId>,
    pub content: UserContent,
    pub view: Option<View>,
    /// The untrusted block that is sent beside the message.
    pub context: Option<String>,
    /// Where each piece stands in that block.
    pub pieces: Vec<ContextMark>,
    /// The id that the sender gave the message.
    pub client_id: Option<String>,
    /// Whether the message was withdrawn: the log keeps it, and no run answers it.
    pub withdrawn: bool,
    pub by: Speaker,
}

impl UserInput {
    /// Makes the input of new words.
    pub fn new(content: UserContent, by: Speaker) -> Self {
        let (turn, view, context, client_id) = (None, None, None, None);
        let pieces = Vec::new();
        Self { turn, content, view, context, pieces, client_id, withdrawn: false, by }
    }
}

/// Who wrote a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Speaker {
    /// The person whose session it is.
    #[default]
    Person,
    Agent(AgentId, Taint),
}

impl Speaker {
    pub fn origin(&self) -> Origin {
        match self {
            Self::Person => Origin::Person,
            Self::Agent(_, Taint::Clean) => Origin::Agent,
            Self::Agent(_, Taint::Tainted) => Origin::AgentTainted,
        }
    }

    pub fn author(&self, person: &PersonId) -> Author {
        match self {
            Self::Person => Author::Person(person.clone()),
            Self::Agent(agent, _) => Author::Agent(agent.clone()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    Cancelled,
    OutOfTime,
}
