//! Encodes `/api/conversations/{id}/stream`: the companion's run as server-sent events.

use onyx_surface::{Encoder, Part, RunFold, ToolState};
use onyx_types::{
    AsksFor, CallLabel, CallReport, DraftId, Envelope, ErrorCode, Fault, Preview, Timestamp,
    ToolUseId, TurnId, Usage,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::sse::SseFrame;
use crate::wire::FieldNames;

/// The data of an event; the event's name is its kind.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CompanionEvent<'a> {
    Tool(ToolChip<'a>),
    Delta { text: &'a str },
    Draft { pending_change_id: DraftId, summary: &'a str },
    Confirm(Question<'a>),
    Done { assistant_message_id: Option<TurnId>, usage: Usage },
    Error { message: &'a str, code: ErrorCode, hint: &'a str },
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ToolChip<'a> {
    id: &'a ToolUseId,
    tool: &'a str,
    args_summary: &'a str,
    status: ToolState,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a CallLabel>,
    /// The result of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a CallReport>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Question<'a> {
    pending_change_id: DraftId,
    tool: &'a str,
    summary: &'a str,
    preview: &'a Preview,
    asks_for: AsksFor,
    expires_at: Timestamp,
}

/// The source of the events; their numbers are valid only there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventsFrom {
    #[default]
    Feed,
    Log,
}

#[derive(Debug, Default)]
pub struct CompanionFrames {
    from: EventsFrom,
    names: FieldNames,
    fold: RunFold,
    seq: u64,
}

impl CompanionFrames {
    pub fn reading_from(from: EventsFrom) -> Self {
        Self { from, ..Self::default() }
    }

    #[must_use]
    pub fn named(mut self, names: FieldNames) -> Self {
        self.names = names;
        self
    }

    /// The whole stream of a message that could not be run.
    pub fn refused(names: FieldNames, fault: &Fault) -> Vec<SseFrame> {
        let frames = Self::default().named(names);
        vec![frames.error(&fault.message, fault.code, fault.hint()), frames.done(Usage::default())]
    }

    /// The event's id; empty where the stream cannot be resumed.
    fn id(&self) -> String {
        let Some(run) = self.fold.run() else { return String::new() };
        match self.from {
            EventsFrom::Feed => format!("{run}:{}", self.seq),
            EventsFrom::Log => format!("{run}:log-{}", self.seq),
        }
    }

    fn tool(&self, chip: ToolChip<'_>) -> SseFrame {
        SseFrame::new(self.names, self.id(), "tool", &CompanionEvent::Tool(chip))
    }

    fn error(&self, message: &str, code: ErrorCode, hint: &str) -> SseFrame {
        SseFrame::new(
            self.names,
            self.id(),
            "error",
            &CompanionEvent::Error { message, code, hint },
        )
    }

    fn done(&self, usage: Usage) -> SseFrame {
        let assistant_message_id = self.fold.first_turn();
        SseFrame::new(
            self.names,
            self.id(),
            "done",
            &CompanionEvent::Done { assistant_message_id, usage },
        )
    }

    fn frame(&self, part: &Part<'_>) -> Option<SseFrame> {
        Some(match part {
            Part::Text { turn_id: _, words } => {
                let text = words.in_run();
                SseFrame::new(
                    self.names,
                    self.id(),
                    "delta",
                    &CompanionEvent::Delta { text: &text },
                )
            }
            Part::ToolCall { id, tool, summary, label, .. } => self.tool(ToolChip {
                id,
                tool,
                args_summary: summary,
                status: ToolState::Running,
                label: Some(label),
                report: None,
            }),
            Part::ToolResult { id, tool, ok, call_summary, call_label, report, .. } => {
                self.tool(ToolChip {
                    id,
                    tool,
                    args_summary: call_summary,
                    status: ToolState::of(Some(*ok)),
                    label: call_label.as_deref(),
                    report: Some(report),
                })
            }
            Part::Proposal { draft_id, summary, expires_at: None, .. } => {
                let data = CompanionEvent::Draft { pending_change_id: *draft_id, summary };
                SseFrame::new(self.names, self.id(), "draft", &data)
            }
            Part::Proposal {
                draft_id,
                tool,
                summary,
                preview,
                asks_for,
                expires_at: Some(expires_at),
            } => {
                let question = Question {
                    pending_change_id: *draft_id,
                    tool,
                    summary,
                    preview,
                    asks_for: *asks_for,
                    expires_at: *expires_at,
                };
                SseFrame::new(self.names, self.id(), "confirm", &CompanionEvent::Confirm(question))
            }
            Part::Error { code, message, hint, .. } => self.error(message, *code, hint),
            Part::Done { usage, .. } => self.done(*usage),
            // The surface has no events for these parts.
            Part::Start { .. }
            | Part::TextComplete { .. }
            | Part::Reasoning { .. }
            | Part::ToolOutput { .. }
            | Part::Context { .. }
            | Part::Status { .. }
            | Part::Usage(_) => return None,
        })
    }
}

impl Encoder for CompanionFrames {
    type Frame = SseFrame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<SseFrame> {
        self.seq = envelope.seq;
        let parts = self.fold.parts(envelope);
        parts.filter_map(|part| self.frame(&part)).collect()
    }

    /// Sends an end with its reason if the feed ended without one.
    fn finish(&mut self) -> Vec<SseFrame> {
        let parts = self.fold.finish();
        parts.filter_map(|part| self.frame(&part)).collect()
    }
}
