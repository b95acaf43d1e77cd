use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, AsksFor, CallLabel, CallReport, CitedSource, DraftId, ErrorCode, Fault, LaneId,
    MatchType, Origin, Preview, RunId, RunStatus, Scope, SessionId, Timestamp, ToolUseId, TurnId,
    Usage,
};

/// One event of a run, in order. Every surface's format is a pure fold over these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    pub seq: u64,
    pub run_id: RunId,
    pub lane: LaneId,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Start {
        session_id: SessionId,
        agents: Vec<AgentId>,
        model: String,
        /// The action of this run, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<ActionRun>,
    },
    TextDelta {
        turn_id: TurnId,
        agent: AgentId,
        text: String,
    },
    TextComplete {
        turn_id: TurnId,
        agent: AgentId,
        text: String,
    },
    ReasoningDelta {
        turn_id: TurnId,
        agent: AgentId,
        text: String,
    },
    ToolCall {
        turn_id: TurnId,
        agent: AgentId,
        tool_use_id: ToolUseId,
        tool: String,
        input: Value,
        /// One line for people, with secrets masked.
        summary: String,
        label: Box<CallLabel>,
    },
    ToolOutput {
        tool_use_id: ToolUseId,
        chunk: String,
    },
    ToolResult {
        turn_id: TurnId,
        tool_use_id: ToolUseId,
        tool: String,
        ok: bool,
        output: String,
        summary: String,
        duration_ms: u64,
        report: Box<CallReport>,
    },
    Draft {
        draft_id: DraftId,
        tool: String,
        summary: String,
        preview: Preview,
        #[serde(default)]
        asks_for: AsksFor,
    },
    Confirm {
        draft_id: DraftId,
        tool: String,
        summary: String,
        preview: Preview,
        #[serde(default)]
        asks_for: AsksFor,
        expires_at: Timestamp,
    },
    Context {
        pieces: Vec<ContextPiece>,
    },
    Status {
        message: String,
        code: StatusCode,
    },
    Usage {
        #[serde(flatten)]
        usage: Usage,
    },
    Error {
        code: ErrorCode,
        message: String,
        hint: String,
        /// When a retry may succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_seconds: Option<u64>,
    },
    Done {
        session_id: SessionId,
        status: RunStatus,
        assistant_turn_ids: Vec<TurnId>,
        usage: Usage,
    },
}

impl Event {
    /// Whether the event is sent only once its turn is on disk. The other events are live and may
    /// be lost with the process.
    pub const fn is_durable(&self) -> bool {
        match self {
            Self::TextDelta { .. }
            | Self::ReasoningDelta { .. }
            | Self::ToolOutput { .. }
            | Self::Status { .. } => false,
            Self::Start { .. }
            | Self::TextComplete { .. }
            | Self::ToolCall { .. }
            | Self::ToolResult { .. }
            | Self::Draft { .. }
            | Self::Confirm { .. }
            | Self::Context { .. }
            | Self::Usage { .. }
            | Self::Error { .. }
            | Self::Done { .. } => true,
        }
    }

    pub fn error(fault: &Fault) -> Self {
        Self::Error {
            code: fault.code,
            message: fault.message.clone(),
            hint: fault.hint().to_owned(),
            retry_after_seconds: fault
                .retry_after
                .map(|wait| wait.as_millis().div_ceil(1000) as u64),
        }
    }
}

/// The action that a run performs, and the page that it writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionRun {
    pub id: String,
    pub label: String,
    /// The path among the person's files; written at the end of the run.
    pub page: String,
}

/// A chunk that retrieval supplied to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPiece {
    pub source: String,
    #[serde(flatten)]
    pub cited: CitedSource,
    pub scope: Scope,
    pub origin: Origin,
    pub score: f32,
    pub match_type: MatchType,
    pub start_line: u32,
    pub end_line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusCode {
    Fallback,
    Retry,
    Compaction,
    Waiting,
    Degraded,
    Tainted,
}
