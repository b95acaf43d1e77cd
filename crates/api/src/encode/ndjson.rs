//! `/api/agent/chat-stream`: NDJSON schema v2, one event a line, no other types than these; and
//! what clients of before it call a tool call.

use bytes::Bytes;
use onyx_types::{
    AgentId, DraftId, Envelope, ErrorCode, Event, LaneId, Preview, RunId, RunStatus, SessionId,
    ToolUseId, Usage,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Encoder;
use super::text::LaneTexts;

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    Start { session_id: SessionId, run_id: RunId },
    Text { delta: &'a str },
    ToolCall { id: &'a ToolUseId, tool: &'a str, args: &'a Value },
    ToolResult { id: &'a ToolUseId, tool: &'a str, ok: bool, summary: &'a str },
    Status { message: &'a str },
    Draft { draft_id: DraftId, tool: &'a str, summary: &'a str, preview: &'a Preview },
    Confirm { draft_id: DraftId, tool: &'a str, summary: &'a str, preview: &'a Preview },
    Error { message: &'a str, code: ErrorCode, hint: &'a str },
    Done { session_id: SessionId, run_id: RunId, status: RunStatus, usage: Usage },
}

/// A line for clients of `/api/claude`: the same but for one name.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OlderLine<'a> {
    ToolUse {
        id: &'a ToolUseId,
        tool: &'a str,
        args: &'a Value,
    },
    #[serde(untagged)]
    Same(Line<'a>),
}

/// What a tool call is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallName {
    #[default]
    ToolCall,
    /// By clients of `/api/claude`.
    ToolUse,
}

/// A line of a run in which several agents answer: it says whose it is.
#[derive(Serialize)]
struct Marked<'a> {
    #[serde(flatten)]
    line: &'a OlderLine<'a>,
    #[serde(flatten)]
    mark: Mark<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Mark<'a> {
    All { agents: &'a [AgentId] },
    One { agent: &'a AgentId, lane: LaneId },
}

/// Each frame is one line with its newline.
#[derive(Debug, Default)]
pub struct Ndjson {
    calls: CallName,
    text: LaneTexts,
    /// In the order of their lanes.
    agents: Vec<AgentId>,
    started: Option<(SessionId, RunId)>,
    done: bool,
}

impl Encoder for Ndjson {
    type Frame = Bytes;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        let delta;
        let line = match &envelope.event {
            Event::Start { session_id, agents, model: _ } => {
                self.agents.clone_from(agents);
                self.started = Some((*session_id, envelope.run_id));
                Line::Start { session_id: *session_id, run_id: envelope.run_id }
            }
            Event::TextDelta { turn_id, agent: _, text } => {
                delta = self.text.delta(envelope.lane, *turn_id, text);
                Line::Text { delta: &delta }
            }
            Event::TextComplete { turn_id, agent: _, text } => {
                delta = self.text.complete(envelope.lane, *turn_id, text);
                Line::Text { delta: &delta }
            }
            Event::ToolCall { turn_id: _, agent: _, tool_use_id, tool, input, summary: _ } => {
                Line::ToolCall { id: tool_use_id, tool, args: input }
            }
            Event::ToolResult {
                turn_id: _,
                tool_use_id,
                tool,
                ok,
                output: _,
                summary,
                duration_ms: _,
            } => Line::ToolResult { id: tool_use_id, tool, ok: *ok, summary },
            Event::Draft { draft_id, tool, summary, preview } => {
                Line::Draft { draft_id: *draft_id, tool, summary, preview }
            }
            Event::Confirm { draft_id, tool, summary, preview, expires_at: _ } => {
                Line::Confirm { draft_id: *draft_id, tool, summary, preview }
            }
            Event::Status { message, code: _ } => Line::Status { message },
            Event::Error { code, message, hint } => Line::Error { message, code: *code, hint },
            Event::Done { session_id, status, assistant_turn_ids: _, usage } => {
                self.done = true;
                Line::Done {
                    session_id: *session_id,
                    run_id: envelope.run_id,
                    status: *status,
                    usage: *usage,
                }
            }
            // Schema v2 has no line for these.
            Event::ReasoningDelta { .. }
            | Event::ToolOutput { .. }
            | Event::Context { .. }
            | Event::Usage { .. } => return Vec::new(),
        };
        self.frame(line, envelope.lane).into_iter().collect()
    }

    /// A feed that broke off: the client is still told that nothing more comes, and why.
    fn finish(&mut self) -> Vec<Bytes> {
        let Some((session_id, run_id)) = self.started.filter(|_| !self.done) else {
            return Vec::new();
        };
        self.done = true;
        let code = ErrorCode::Interrupted;
        let error = Line::Error { message: code.sentence(), code, hint: code.hint() };
        let usage = Usage::default();
        let done = Line::Done { session_id, run_id, status: RunStatus::Interrupted, usage };
        [error, done].into_iter().map(|line| written(&OlderLine::Same(line), None)).collect()
    }
}

impl Ndjson {
    /// For clients that know tool calls by this name.
    pub fn calling(calls: CallName) -> Self {
        Self { calls, ..Self::default() }
    }

    /// `None` for a text that adds nothing.
    fn frame(&self, line: Line<'_>, lane: LaneId) -> Option<Bytes> {
        if matches!(line, Line::Text { delta: "" }) {
            return None;
        }
        let mark = self.mark(&line, lane);
        let line = match (self.calls, line) {
            (CallName::ToolUse, Line::ToolCall { id, tool, args }) => {
                OlderLine::ToolUse { id, tool, args }
            }
            (CallName::ToolUse | CallName::ToolCall, line) => OlderLine::Same(line),
        };
        Some(written(&line, mark))
    }

    /// Whose line it is, where that is a question.
    fn mark(&self, line: &Line<'_>, lane: LaneId) -> Option<Mark<'_>> {
        if self.agents.len() < 2 {
            return None;
        }
        match line {
            Line::Start { .. } => Some(Mark::All { agents: &self.agents }),
            Line::Done { .. } => None,
            Line::Text { .. }
            | Line::ToolCall { .. }
            | Line::ToolResult { .. }
            | Line::Status { .. }
            | Line::Draft { .. }
            | Line::Confirm { .. }
            | Line::Error { .. } => {
                let agent = self.agents.get(usize::from(lane.0))?;
                Some(Mark::One { agent, lane })
            }
        }
    }
}

fn written(line: &OlderLine<'_>, mark: Option<Mark<'_>>) -> Bytes {
    // Serialising plain data into memory cannot fail: every key is a string.
    let mut bytes = match mark {
        None => serde_json::to_vec(line),
        Some(mark) => serde_json::to_vec(&Marked { line, mark }),
    }
    .unwrap_or_default();
    bytes.push(b'\n');
    bytes.into()
}
