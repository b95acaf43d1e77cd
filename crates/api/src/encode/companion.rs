//! `/api/conversations/{id}/stream`: what the companion does and says, as server-sent events.

use std::collections::HashMap;

use onyx_types::{
    DraftId, Envelope, ErrorCode, Event, Fault, Preview, RunId, Timestamp, ToolUseId, TurnId, Usage,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::Encoder;
use super::sse::SseFrame;
use super::text::LaneTexts;

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
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Question<'a> {
    pending_change_id: DraftId,
    tool: &'a str,
    summary: &'a str,
    preview: &'a Preview,
    expires_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolState {
    Running,
    Ok,
    Failed,
}

impl ToolState {
    pub(crate) const fn of(ok: Option<bool>) -> Self {
        match ok {
            None => Self::Running,
            Some(true) => Self::Ok,
            Some(false) => Self::Failed,
        }
    }
}

/// From where the events come; their numbers mean something only there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToldFrom {
    #[default]
    Feed,
    Log,
}

#[derive(Debug, Default)]
pub struct CompanionFrames {
    from: ToldFrom,
    text: LaneTexts,
    calls: HashMap<ToolUseId, String>,
    /// Names the answer: its first turn.
    first: Option<TurnId>,
    run: Option<RunId>,
    seq: u64,
    done: bool,
}

impl CompanionFrames {
    pub fn told_from(from: ToldFrom) -> Self {
        Self { from, ..Self::default() }
    }

    /// The whole stream of a message that could not be run.
    pub fn refused(fault: &Fault) -> Vec<SseFrame> {
        let mut frames = Self::default();
        vec![frames.error(&fault.message, fault.code, fault.hint()), frames.over(Usage::default())]
    }

    /// Empty where nothing can be come back to.
    fn id(&self) -> String {
        let Some(run) = self.run else { return String::new() };
        match self.from {
            ToldFrom::Feed => format!("{run}:{}", self.seq),
            ToldFrom::Log => format!("{run}:log-{}", self.seq),
        }
    }

    fn delta(&self, text: &str) -> Vec<SseFrame> {
        if text.is_empty() {
            return Vec::new();
        }
        vec![SseFrame::new(self.id(), "delta", &CompanionEvent::Delta { text })]
    }

    fn tool(&self, id: &ToolUseId, tool: &str, args_summary: &str, status: ToolState) -> SseFrame {
        let chip = ToolChip { id, tool, args_summary, status };
        SseFrame::new(self.id(), "tool", &CompanionEvent::Tool(chip))
    }

    fn error(&self, message: &str, code: ErrorCode, hint: &str) -> SseFrame {
        SseFrame::new(self.id(), "error", &CompanionEvent::Error { message, code, hint })
    }

    fn over(&mut self, usage: Usage) -> SseFrame {
        self.done = true;
        let data = CompanionEvent::Done { assistant_message_id: self.first, usage };
        SseFrame::new(self.id(), "done", &data)
    }
}

impl Encoder for CompanionFrames {
    type Frame = SseFrame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<SseFrame> {
        (self.run, self.seq) = (Some(envelope.run_id), envelope.seq);
        match &envelope.event {
            Event::TextDelta { turn_id, agent: _, text } => {
                self.first.get_or_insert(*turn_id);
                let text = self.text.delta(envelope.lane, *turn_id, text);
                self.delta(&text)
            }
            Event::TextComplete { turn_id, agent: _, text } => {
                self.first.get_or_insert(*turn_id);
                let text = self.text.complete(envelope.lane, *turn_id, text);
                self.delta(&text)
            }
            Event::ToolCall { turn_id, agent: _, tool_use_id, tool, input: _, summary } => {
                self.first.get_or_insert(*turn_id);
                self.calls.insert(tool_use_id.clone(), summary.clone());
                vec![self.tool(tool_use_id, tool, summary, ToolState::Running)]
            }
            Event::ToolResult { turn_id: _, tool_use_id, tool, ok, .. } => {
                let summary = self.calls.get(tool_use_id).map(String::as_str).unwrap_or_default();
                vec![self.tool(tool_use_id, tool, summary, ToolState::of(Some(*ok)))]
            }
            Event::Draft { draft_id, tool: _, summary, preview: _ } => {
                let data = CompanionEvent::Draft { pending_change_id: *draft_id, summary };
                vec![SseFrame::new(self.id(), "draft", &data)]
            }
            Event::Confirm { draft_id, tool, summary, preview, expires_at } => {
                let question = Question {
                    pending_change_id: *draft_id,
                    tool,
                    summary,
                    preview,
                    expires_at: *expires_at,
                };
                vec![SseFrame::new(self.id(), "confirm", &CompanionEvent::Confirm(question))]
            }
            Event::Error { code, message, hint } => vec![self.error(message, *code, hint)],
            Event::Done { usage, .. } => vec![self.over(*usage)],
            // The surface has no event for these.
            Event::Start { .. }
            | Event::ReasoningDelta { .. }
            | Event::ToolOutput { .. }
            | Event::Context { .. }
            | Event::Status { .. }
            | Event::Usage { .. } => Vec::new(),
        }
    }

    /// A feed that broke off: the client is still told that nothing more comes, and why.
    fn finish(&mut self) -> Vec<SseFrame> {
        if self.done {
            return Vec::new();
        }
        let code = ErrorCode::Interrupted;
        vec![self.error(code.sentence(), code, code.hint()), self.over(Usage::default())]
    }
}
