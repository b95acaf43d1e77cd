//! `/ws`: a run's events as `chat.*` frames, camelCase.

use std::collections::BTreeMap;

use onyx_types::{
    AgentId, ContextPiece, DraftId, Envelope, ErrorCode, Event, LaneId, MatchType, Origin, Preview,
    RunId, RunStatus, Scope, SessionId, StatusCode, Timestamp, ToolUseId, TurnId, Usage,
};
use serde::Serialize;
use serde_json::Value;

use super::Encoder;

/// One frame of a run and its number in it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFrame {
    pub seq: u64,
    pub text: String,
}

#[derive(Serialize)]
struct Frame<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    session_id: SessionId,
    run_id: RunId,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a AgentId>,
    #[serde(flatten)]
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Body<'a> {
    Start {
        agents: &'a [AgentId],
        model: &'a str,
    },
    Delta {
        turn_id: TurnId,
        text: &'a str,
    },
    ToolCall {
        turn_id: TurnId,
        tool_use_id: &'a ToolUseId,
        tool: &'a str,
        input: &'a Value,
        summary: &'a str,
    },
    ToolOutput {
        tool_use_id: &'a ToolUseId,
        chunk: &'a str,
    },
    ToolResult {
        turn_id: TurnId,
        tool_use_id: &'a ToolUseId,
        tool: &'a str,
        ok: bool,
        output: &'a str,
        summary: &'a str,
        duration_ms: u64,
    },
    Draft {
        draft_id: DraftId,
        tool: &'a str,
        summary: &'a str,
        preview: &'a Preview,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    Context {
        pieces: Vec<Piece<'a>>,
    },
    Status {
        message: &'a str,
        code: StatusCode,
    },
    Usage {
        #[serde(flatten)]
        usage: UsageView,
    },
    Error {
        code: ErrorCode,
        message: &'a str,
        hint: &'a str,
    },
    Done {
        status: RunStatus,
        assistant_turn_ids: &'a [TurnId],
        usage: UsageView,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    source: &'a str,
    scope: &'a Scope,
    origin: Origin,
    score: f32,
    match_type: MatchType,
    start_line: u32,
    end_line: u32,
}

impl<'a> From<&'a ContextPiece> for Piece<'a> {
    fn from(piece: &'a ContextPiece) -> Self {
        Self {
            source: &piece.source,
            scope: &piece.scope,
            origin: piece.origin,
            score: piece.score,
            match_type: piece.match_type,
            start_line: piece.start_line,
            end_line: piece.end_line,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageView {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

impl From<&Usage> for UsageView {
    fn from(usage: &Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, cost } = *usage;
        Self { input, output, cache_read, cache_write, cost }
    }
}

/// Reads a run from its first event, so that it always knows what was told of each turn.
#[derive(Debug, Default)]
pub struct WsFrames {
    /// Known from the first event on.
    session: Option<SessionId>,
    /// Who speaks in each lane.
    agents: BTreeMap<LaneId, AgentId>,
    /// Bytes told of each turn's text; a completed turn adds only what no delta brought.
    told: BTreeMap<TurnId, usize>,
}

impl WsFrames {
    fn speaks(&mut self, lane: LaneId, event: &Event) {
        match event {
            Event::Start { session_id, agents, .. } => {
                self.session = Some(*session_id);
                let lanes = (0..).map(LaneId);
                self.agents = lanes.zip(agents.iter().cloned()).collect();
            }
            Event::TextDelta { agent, .. }
            | Event::TextComplete { agent, .. }
            | Event::ReasoningDelta { agent, .. }
            | Event::ToolCall { agent, .. } => {
                self.agents.insert(lane, agent.clone());
            }
            Event::ToolOutput { .. }
            | Event::ToolResult { .. }
            | Event::Draft { .. }
            | Event::Confirm { .. }
            | Event::Context { .. }
            | Event::Status { .. }
            | Event::Usage { .. }
            | Event::Error { .. }
            | Event::Done { .. } => {}
        }
    }

    fn rest_of<'a>(&mut self, turn: TurnId, text: &'a str) -> Option<&'a str> {
        let told = self.told.remove(&turn).unwrap_or(0);
        text.get(told..).filter(|rest| !rest.is_empty())
    }
}

impl Encoder for WsFrames {
    type Frame = RunFrame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<RunFrame> {
        self.speaks(envelope.lane, &envelope.event);
        let Some(session_id) = self.session else { return Vec::new() };
        let (kind, body) = match &envelope.event {
            Event::Start { session_id: _, agents, model } => {
                ("chat.start", Body::Start { agents, model })
            }
            Event::TextDelta { turn_id, agent: _, text } => {
                *self.told.entry(*turn_id).or_default() += text.len();
                ("chat.delta", Body::Delta { turn_id: *turn_id, text })
            }
            Event::TextComplete { turn_id, agent: _, text } => {
                let Some(text) = self.rest_of(*turn_id, text) else { return Vec::new() };
                ("chat.delta", Body::Delta { turn_id: *turn_id, text })
            }
            Event::ReasoningDelta { turn_id, agent: _, text } => {
                ("chat.reasoning", Body::Delta { turn_id: *turn_id, text })
            }
            Event::ToolCall { turn_id, agent: _, tool_use_id, tool, input, summary } => {
                let turn_id = *turn_id;
                ("chat.tool_call", Body::ToolCall { turn_id, tool_use_id, tool, input, summary })
            }
            Event::ToolOutput { tool_use_id, chunk } => {
                ("chat.tool_output", Body::ToolOutput { tool_use_id, chunk })
            }
            Event::ToolResult { turn_id, tool_use_id, tool, ok, output, summary, duration_ms } => {
                let body = Body::ToolResult {
                    turn_id: *turn_id,
                    tool_use_id,
                    tool,
                    ok: *ok,
                    output,
                    summary,
                    duration_ms: *duration_ms,
                };
                ("chat.tool_result", body)
            }
            Event::Draft { draft_id, tool, summary, preview } => {
                let (draft_id, expires_at) = (*draft_id, None);
                ("chat.draft", Body::Draft { draft_id, tool, summary, preview, expires_at })
            }
            Event::Confirm { draft_id, tool, summary, preview, expires_at } => {
                let (draft_id, expires_at) = (*draft_id, Some(*expires_at));
                ("chat.confirm", Body::Draft { draft_id, tool, summary, preview, expires_at })
            }
            Event::Context { pieces } => {
                ("chat.context", Body::Context { pieces: pieces.iter().map(Piece::from).collect() })
            }
            Event::Status { message, code } => {
                ("chat.status", Body::Status { message, code: *code })
            }
            Event::Usage { usage } => ("chat.usage", Body::Usage { usage: usage.into() }),
            Event::Error { code, message, hint } => {
                ("chat.error", Body::Error { code: *code, message, hint })
            }
            Event::Done { session_id: _, status, assistant_turn_ids, usage } => {
                let usage = usage.into();
                ("chat.done", Body::Done { status: *status, assistant_turn_ids, usage })
            }
        };
        let data = Data {
            session_id,
            run_id: envelope.run_id,
            seq: envelope.seq,
            agent: self.agents.get(&envelope.lane).or_else(|| self.agents.values().next()),
            body,
        };
        // Serialising plain data into memory cannot fail: every key is a string.
        let text = serde_json::to_string(&Frame { kind, data }).unwrap_or_default();
        vec![RunFrame { seq: envelope.seq, text }]
    }

    fn finish(&mut self) -> Vec<RunFrame> {
        Vec::new()
    }
}
