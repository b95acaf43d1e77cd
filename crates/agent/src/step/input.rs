use std::time::Duration;

use onyx_storage::{Delivery, Messages, ModelUse};
use onyx_types::{
    AgentId, Author, BatchId, Decision, Event, Fault, LaneId, ModelEvent, ModelRequest, Origin,
    PersonId, RunStatus, Taint, ToolCall, ToolOutcome, ToolUseId, Turn, TurnId, Usage, UserContent,
    View,
};

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Begin,
    Model(LaneId, ModelEvent),
    /// The batch, as it was given out.
    Appended(Batch),
    ToolDone(LaneId, ToolUseId, ToolOutcome),
    ToolOutput(LaneId, ToolUseId, String),
    /// Another model is in place, with its window.
    ModelChanged(LaneId, String, Option<u32>),
    /// Another model was asked for and cannot be had.
    ModelRefused(LaneId, Fault),
    Steer(Delivery, UserInput),
    /// A person decided on a draft that no call waits for.
    Decided(DecidedDraft),
    Tick,
    Cancel,
    StoreFailed(Fault),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Make these turns durable as one, then report `Appended`.
    Append(Batch),
    Emit(LaneId, Event),
    CallModel(LaneId, Box<ModelRequest>),
    StopModel(LaneId),
    /// Put this model in place of the lane's, then report `ModelChanged` or `ModelRefused`.
    UseModel(LaneId, String),
    Invoke(LaneId, ToolCall),
    /// Wait so long for a person to decide on the outcome's draft, then report `ToolDone`.
    AwaitDecision(LaneId, ToolUseId, Box<ToolOutcome>, Duration),
    /// Tell running tools to stop; they still report.
    StopTools(LaneId),
    /// The run is over on disk: close the books and free the session, then go on to what follows.
    Finish(RunSummary),
    /// Nothing can be written any more: free the session and leave the books open for recovery.
    Abandon,
}

/// Turns on their way to disk. They come back when they are there, so that there is one copy of
/// them, however long they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub id: BatchId,
    pub turns: Vec<Turn>,
}

/// What the books need to know of an ended run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub status: RunStatus,
    pub usage: Usage,
    /// What it is made of.
    pub used: Vec<ModelUse>,
    /// That it added to the session.
    pub messages: Messages,
}

/// What a person decided, on its way into the log.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedDraft {
    pub decision: Decision,
    /// Of what it brought.
    pub origin: Origin,
}

/// Words for a session.
#[derive(Clone, Debug, PartialEq)]
pub struct UserInput {
    /// The id it is known by already, if it is.
    pub turn: Option<TurnId>,
    pub content: UserContent,
    pub view: Option<View>,
    /// The untrusted block that goes beside the words.
    pub context: Option<String>,
    /// What the sender calls it.
    pub client_id: Option<String>,
    /// Taken back: it is kept in the log, and nobody answers it.
    pub withdrawn: bool,
    pub by: Speaker,
}

impl UserInput {
    /// New words.
    pub fn new(content: UserContent, by: Speaker) -> Self {
        let (turn, view, context, client_id) = (None, None, None, None);
        Self { turn, content, view, context, client_id, withdrawn: false, by }
    }
}

/// Whose words they are.
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
