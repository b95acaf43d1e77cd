//! What goes into a step and what comes out of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Delivery, Draft, Messages, ModelUse};
use onyx_tools::{Offered, Offering};
use onyx_types::{
    AgentId, Attendance, Author, BatchId, ContextMark, Decision, DraftId, DraftState, Event, Fault,
    LaneId, ModelEvent, ModelRequest, Origin, PersonId, RunStatus, Taint, TokenCounter, ToolCall,
    ToolOutcome, ToolUseId, Turn, TurnId, Usage, UserContent, View,
};

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    Begin,
    Model(LaneId, ModelEvent),
    /// The batch, as it was given out.
    Appended(Batch),
    ToolDone(LaneId, ToolUseId, ToolOutcome),
    ToolOutput(LaneId, ToolUseId, String),
    /// Live output of a call that a person approved while the run waits for it.
    ApprovedOutput(ToolUseId, String),
    /// Tools have come or gone: from its next step on the lane has these.
    ToolsChanged(LaneId, Arc<Offering>),
    /// The lane's model was replaced by another.
    ModelChanged(LaneId, NewModel),
    /// The lane's model was to be replaced by one that cannot be had.
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

/// What the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Make these turns durable as one, then report `Appended`.
    Append(Batch),
    Emit(LaneId, Event),
    CallModel(LaneId, Box<ModelRequest>),
    StopModel(LaneId),
    /// Put this model in place of the lane's, then report `ModelChanged` or `ModelRefused`.
    UseModel(LaneId, String),
    Invoke(LaneId, Box<Invocation>),
    /// Tell everybody who shows drafts that this one is new or changed.
    NotifyDraft(DraftId),
    /// A person wrote this text: addresses in it may be fetched from now on.
    NoteAddresses(String),
    /// Wait so long for a person to decide on the outcome's draft, then report `ToolDone`.
    AwaitDecision(LaneId, ToolUseId, Box<ToolOutcome>, Duration),
    /// Tell running tools to stop; they still report.
    StopTools(LaneId),
    /// The run is over on disk: record its end and free the session, unless that was done with its last turns, then
    /// continue with what follows.
    Finish(Box<RunSummary>),
    /// Nothing can be written any more: free the session and leave the run open for recovery.
    Abandon,
}

/// Turns on their way to disk. They come back when they are there, so that there is one copy of
/// them, however long they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub id: BatchId,
    pub turns: Vec<Turn>,
    /// Drafts whose decision the turns tell the model of.
    pub decided: Vec<DraftId>,
    /// The run ends with these turns. This holds what its books need, so that a store can write
    /// both in one go.
    pub end: Option<Box<RunSummary>>,
}

/// A tool call that is to run now, and under which conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    pub call: ToolCall,
    pub attendance: Attendance,
    pub taint: Taint,
    /// Whether the lane's last request offered the tool.
    pub offered: Offered,
    /// What is left of the run's money; `None`: there is no limit.
    pub cost_left: Option<f64>,
}

/// A model that takes the place of a lane's.
#[derive(Clone)]
pub struct NewModel {
    pub id: String,
    pub context_window: Option<u32>,
    /// How it counts tokens.
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
    /// The usage of each agent and model.
    pub used: Vec<ModelUse>,
    /// What this run and those that it asked for have cost.
    pub cost: f64,
    /// Whether any lane has read content from outside.
    pub taint: Taint,
    /// The messages that the run added to the session.
    pub messages: Messages,
}

/// What a person decided, on its way into the log.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedDraft {
    pub decision: Decision,
    /// Where the output of an approved call came from.
    pub origin: Origin,
}

impl From<&Draft> for DecidedDraft {
    fn from(draft: &Draft) -> Self {
        let origin = match draft.state {
            DraftState::Applied | DraftState::Failed => draft.origin,
            _ => Origin::Person,
        };
        let decision = Decision {
            draft_id: draft.id,
            state: draft.state,
            reason: draft.reason.clone(),
            output: draft.output.clone(),
        };
        Self { decision, origin }
    }
}

/// A message for a session.
#[derive(Clone, Debug, PartialEq)]
pub struct UserInput {
    /// The id it has already, if it has one.
    pub turn: Option<TurnId>,
    pub content: UserContent,
    pub view: Option<View>,
    /// The untrusted block that goes beside the words.
    pub context: Option<String>,
    /// What stands where in that block.
    pub pieces: Vec<ContextMark>,
    /// What the sender calls it.
    pub client_id: Option<String>,
    /// It was withdrawn: the log keeps it, and no run answers it.
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
    /// The session's own.
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
