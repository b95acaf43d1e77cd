//! `/api/agent/chat-stream`: NDJSON schema v2, one event a line, no other types than these.

use bytes::Bytes;
use onyx_types::{
    DraftId, Envelope, ErrorCode, Event, Preview, RunId, RunStatus, SessionId, ToolUseId, Usage,
};
use serde::Serialize;
use serde_json::Value;

use super::Encoder;
use super::text::TextFold;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
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

/// Each frame is one line with its newline.
#[derive(Debug, Default)]
pub struct Ndjson {
    text: TextFold,
    started: Option<(SessionId, RunId)>,
    done: bool,
}

impl Encoder for Ndjson {
    type Frame = Bytes;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        let delta;
        let line = match &envelope.event {
            Event::Start { session_id, run_id, agents: _, model: _ } => {
                self.started = Some((*session_id, *run_id));
                Line::Start { session_id: *session_id, run_id: *run_id }
            }
            Event::TextDelta { turn_id, agent: _, text } => {
                delta = self.text.delta(*turn_id, text);
                Line::Text { delta: &delta }
            }
            Event::TextComplete { turn_id, agent: _, text } => {
                delta = self.text.complete(*turn_id, text);
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
            Event::Done { session_id, run_id, status, assistant_turn_ids: _, usage } => {
                self.done = true;
                Line::Done {
                    session_id: *session_id,
                    run_id: *run_id,
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
        line.frame().into_iter().collect()
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
        [error, done].iter().filter_map(Line::frame).collect()
    }
}

impl Line<'_> {
    /// `None` for a text that adds nothing.
    fn frame(&self) -> Option<Bytes> {
        if matches!(self, Self::Text { delta: "" }) {
            return None;
        }
        // Serialising plain data into memory cannot fail: every key is a string.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        Some(bytes.into())
    }
}
