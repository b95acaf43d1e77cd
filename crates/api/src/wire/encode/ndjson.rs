//! Encodes `/api/agent/chat-stream`: NDJSON schema v2, one event per line, of these types only;
//! older clients get another name for tool calls.

use bytes::Bytes;
use onyx_surface::{Encoder, Part, RunFold};
use onyx_types::{
    ActionRun, AgentId, AsksFor, CallLabel, CallReport, DraftId, Envelope, ErrorCode, LaneId,
    Preview, RunId, RunStatus, SessionId, StatusCode, ToolUseId, Usage,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::wire::FieldNames;

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    Start {
        session_id: SessionId,
        run_id: RunId,
        /// The action of this run, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<&'a ActionRun>,
    },
    Text {
        delta: &'a str,
    },
    ToolCall {
        id: &'a ToolUseId,
        tool: &'a str,
        args: &'a Value,
        label: &'a CallLabel,
    },
    ToolResult {
        id: &'a ToolUseId,
        tool: &'a str,
        ok: bool,
        summary: &'a str,
        report: &'a CallReport,
    },
    Status {
        message: &'a str,
        code: StatusCode,
    },
    Draft {
        draft_id: DraftId,
        tool: &'a str,
        summary: &'a str,
        preview: &'a Preview,
        asks_for: AsksFor,
    },
    Confirm {
        draft_id: DraftId,
        tool: &'a str,
        summary: &'a str,
        preview: &'a Preview,
        asks_for: AsksFor,
    },
    Error {
        message: &'a str,
        code: ErrorCode,
        hint: &'a str,
    },
    Done {
        session_id: SessionId,
        run_id: RunId,
        status: RunStatus,
        usage: Usage,
    },
}

/// A line for clients of `/api/claude`: the same except for one name.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OlderLine<'a> {
    ToolUse {
        id: &'a ToolUseId,
        tool: &'a str,
        args: &'a Value,
        label: &'a CallLabel,
    },
    #[serde(untagged)]
    Same(Line<'a>),
}

/// The name of a tool call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallName {
    #[default]
    ToolCall,
    /// The name for clients of `/api/claude`.
    ToolUse,
}

/// A line of a run with several agents: it names its agent.
#[derive(Serialize)]
struct MarkedLine<'a> {
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

/// Encodes a run; each frame is one line with its newline.
#[derive(Debug, Default)]
pub struct Ndjson {
    calls: CallName,
    names: FieldNames,
    fold: RunFold,
}

impl Encoder for Ndjson {
    type Frame = Bytes;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        let parts = self.fold.parts(envelope);
        parts.filter_map(|part| self.frame(&part, Some(envelope.lane))).collect()
    }

    /// Sends an end with its reason if the feed ended without one.
    fn finish(&mut self) -> Vec<Bytes> {
        let parts = self.fold.finish();
        parts.filter_map(|part| self.frame(&part, None)).collect()
    }
}

impl Ndjson {
    /// Makes an encoder for clients that use this name of tool calls.
    pub fn calling(calls: CallName) -> Self {
        Self { calls, ..Self::default() }
    }

    #[must_use]
    pub fn named(mut self, names: FieldNames) -> Self {
        self.names = names;
        self
    }

    /// `None` where schema v2 has no line. `lane` is `None` for parts of the whole run.
    fn frame(&self, part: &Part<'_>, lane: Option<LaneId>) -> Option<Bytes> {
        let run_id = self.fold.run()?;
        let delta;
        let line = match part {
            Part::Start { session_id, action, .. } => {
                Line::Start { session_id: *session_id, run_id, action: *action }
            }
            Part::Text { turn_id: _, words } => {
                delta = words.in_run();
                Line::Text { delta: &delta }
            }
            Part::ToolCall { id, tool, input, label, .. } => {
                Line::ToolCall { id, tool, args: input, label }
            }
            Part::ToolResult { id, tool, ok, summary, report, .. } => {
                Line::ToolResult { id, tool, ok: *ok, summary, report }
            }
            Part::Proposal { draft_id, tool, summary, preview, asks_for, expires_at } => {
                let (draft_id, asks_for) = (*draft_id, *asks_for);
                if expires_at.is_some() {
                    Line::Confirm { draft_id, tool, summary, preview, asks_for }
                } else {
                    Line::Draft { draft_id, tool, summary, preview, asks_for }
                }
            }
            Part::Status { message, code } => Line::Status { message, code: *code },
            Part::Error { code, message, hint, .. } => Line::Error { message, code: *code, hint },
            Part::Done { status, assistant_turn_ids: _, usage } => {
                let session_id = self.fold.session()?;
                Line::Done { session_id, run_id, status: *status, usage: *usage }
            }
            Part::TextComplete { .. }
            | Part::Reasoning { .. }
            | Part::ToolOutput { .. }
            | Part::Context { .. }
            | Part::Usage(_) => return None,
        };
        let mark = lane.and_then(|lane| self.mark(&line, lane));
        let line = match (self.calls, line) {
            (CallName::ToolUse, Line::ToolCall { id, tool, args, label }) => {
                OlderLine::ToolUse { id, tool, args, label }
            }
            (CallName::ToolUse | CallName::ToolCall, line) => OlderLine::Same(line),
        };
        Some(written(self.names, &line, mark))
    }

    /// The agent of a line, where a run has several.
    fn mark(&self, line: &Line<'_>, lane: LaneId) -> Option<Mark<'_>> {
        if self.fold.agents().len() < 2 {
            return None;
        }
        match line {
            Line::Start { .. } => Some(Mark::All { agents: self.fold.agents() }),
            Line::Done { .. } => None,
            Line::Text { .. }
            | Line::ToolCall { .. }
            | Line::ToolResult { .. }
            | Line::Status { .. }
            | Line::Draft { .. }
            | Line::Confirm { .. }
            | Line::Error { .. } => {
                let agent = self.fold.agent(lane)?;
                Some(Mark::One { agent, lane })
            }
        }
    }
}

fn written(names: FieldNames, line: &OlderLine<'_>, mark: Option<Mark<'_>>) -> Bytes {
    let mut bytes = match mark {
        None => names.json(line),
        Some(mark) => names.json(&MarkedLine { line, mark }),
    };
    bytes.push(b'\n');
    bytes.into()
}
