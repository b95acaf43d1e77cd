//! Encodes `/ws`: a run's events as `chat.*` frames, in camelCase.

use onyx_surface::{Encoder, Part, RunFold};
use onyx_types::{
    ActionRun, AgentId, AsksFor, CallLabel, CallReport, ContextPiece, DraftId, Envelope, ErrorCode,
    Preview, RunId, RunStatus, SessionId, StatusCode, Timestamp, ToolUseId, TurnId, Usage,
};
use serde::Serialize;
use serde_json::Value;

use super::camel::CamelCase;

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
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<&'a ActionRun>,
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
        label: CamelCase<'a, CallLabel>,
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
        report: CamelCase<'a, CallReport>,
    },
    Draft {
        draft_id: DraftId,
        tool: &'a str,
        summary: &'a str,
        preview: CamelCase<'a, Preview>,
        asks_for: AsksFor,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    Context {
        pieces: CamelCase<'a, [ContextPiece]>,
    },
    Status {
        message: &'a str,
        code: StatusCode,
    },
    Usage {
        #[serde(flatten)]
        usage: CamelCase<'a, Usage>,
    },
    Error {
        code: ErrorCode,
        message: &'a str,
        hint: &'a str,
    },
    Done {
        status: RunStatus,
        assistant_turn_ids: &'a [TurnId],
        usage: CamelCase<'a, Usage>,
    },
}

/// Encodes each part on its own, because a live client tells turns and agents apart itself.
#[derive(Debug, Default)]
pub struct WsFrames {
    fold: RunFold,
}

impl WsFrames {
    fn frame(&self, envelope: &Envelope, part: &Part<'_>) -> Option<RunFrame> {
        let (kind, body) = match part {
            Part::Start { session_id: _, agents, model, action } => {
                ("chat.start", Body::Start { agents, model, action: *action })
            }
            Part::Text { turn_id, words } => {
                ("chat.delta", Body::Delta { turn_id: *turn_id, text: words.text })
            }
            // The client has all of this text already.
            Part::TextComplete { .. } => return None,
            Part::Reasoning { turn_id, text } => {
                ("chat.reasoning", Body::Delta { turn_id: *turn_id, text })
            }
            Part::ToolCall { turn_id, id: tool_use_id, tool, input, summary, label } => {
                let (turn_id, label) = (*turn_id, CamelCase(*label));
                let body = Body::ToolCall { turn_id, tool_use_id, tool, input, summary, label };
                ("chat.tool_call", body)
            }
            Part::ToolOutput { id: tool_use_id, chunk } => {
                ("chat.tool_output", Body::ToolOutput { tool_use_id, chunk })
            }
            Part::ToolResult {
                turn_id,
                id,
                tool,
                ok,
                output,
                summary,
                duration_ms,
                report,
                ..
            } => {
                let body = Body::ToolResult {
                    turn_id: *turn_id,
                    tool_use_id: id,
                    tool,
                    ok: *ok,
                    output,
                    summary,
                    duration_ms: *duration_ms,
                    report: CamelCase(*report),
                };
                ("chat.tool_result", body)
            }
            Part::Proposal { draft_id, tool, summary, preview, asks_for, expires_at } => {
                let (draft_id, asks_for, expires_at) = (*draft_id, *asks_for, *expires_at);
                let preview = CamelCase(*preview);
                let kind = if expires_at.is_some() { "chat.confirm" } else { "chat.draft" };
                (kind, Body::Draft { draft_id, tool, summary, preview, asks_for, expires_at })
            }
            Part::Context { pieces } => {
                ("chat.context", Body::Context { pieces: CamelCase(pieces) })
            }
            Part::Status { message, code } => {
                ("chat.status", Body::Status { message, code: *code })
            }
            Part::Usage(usage) => ("chat.usage", Body::Usage { usage: CamelCase(*usage) }),
            Part::Error { code, message, hint, .. } => {
                ("chat.error", Body::Error { code: *code, message, hint })
            }
            Part::Done { status, assistant_turn_ids, usage } => {
                let usage = CamelCase(usage);
                ("chat.done", Body::Done { status: *status, assistant_turn_ids, usage })
            }
        };
        let agents = self.fold.agents();
        let data = Data {
            session_id: self.fold.session()?,
            run_id: envelope.run_id,
            seq: envelope.seq,
            agent: self.fold.agent(envelope.lane).or_else(|| agents.first()),
            body,
        };
        // Serialising plain data into memory cannot fail: every key is a string.
        let text = serde_json::to_string(&Frame { kind, data }).unwrap_or_default();
        Some(RunFrame { seq: envelope.seq, text })
    }
}

impl Encoder for WsFrames {
    type Frame = RunFrame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<RunFrame> {
        let parts = self.fold.parts(envelope);
        parts.filter_map(|part| self.frame(envelope, &part)).collect()
    }

    /// Nothing is added here, because the socket itself reports a feed that ended early.
    fn finish(&mut self) -> Vec<RunFrame> {
        Vec::new()
    }
}
