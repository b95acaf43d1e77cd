//! `/api/persona-agent/chat`: server-sent events of `data:` lines only, `type` inside, camelCase.

use bytes::Bytes;
use onyx_types::{Envelope, ErrorCode, Event, ToolUseId, TurnId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Encoder;

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum PersonaEvent<'a> {
    TextDelta {
        content: &'a str,
    },
    TextComplete {
        id: TurnId,
        content: &'a str,
    },
    ToolCall {
        id: TurnId,
        tool_use_id: &'a ToolUseId,
        tool_name: &'a str,
        input: &'a Value,
    },
    ToolResult {
        id: TurnId,
        tool_use_id: &'a ToolUseId,
        output: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Done,
    Error {
        message: &'a str,
    },
}

#[derive(Debug, Default)]
pub struct PersonaFrames {
    /// The turn whose text comes now, and how much of it was told.
    told: Option<(TurnId, usize)>,
    done: bool,
}

impl Encoder for PersonaFrames {
    type Frame = Bytes;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        match &envelope.event {
            Event::TextDelta { turn_id, agent: _, text } => self.delta(*turn_id, text),
            Event::TextComplete { turn_id, agent: _, text } => self.complete(*turn_id, text),
            Event::ToolCall { turn_id, agent: _, tool_use_id, tool, input, summary: _ } => {
                vec![frame(&PersonaEvent::ToolCall {
                    id: *turn_id,
                    tool_use_id,
                    tool_name: tool,
                    input,
                })]
            }
            Event::ToolResult { turn_id, tool_use_id, tool: _, ok, output, .. } => {
                vec![frame(&PersonaEvent::ToolResult {
                    id: *turn_id,
                    tool_use_id,
                    output,
                    is_error: !ok,
                })]
            }
            Event::Error { message, code: _, hint: _ } => {
                vec![frame(&PersonaEvent::Error { message })]
            }
            Event::Done { .. } => {
                self.done = true;
                vec![frame(&PersonaEvent::Done)]
            }
            // The surface has no event for these.
            Event::Start { .. }
            | Event::ReasoningDelta { .. }
            | Event::ToolOutput { .. }
            | Event::Draft { .. }
            | Event::Confirm { .. }
            | Event::Context { .. }
            | Event::Status { .. }
            | Event::Usage { .. } => Vec::new(),
        }
    }

    /// A feed that broke off: the client is still told that nothing more comes, and why.
    fn finish(&mut self) -> Vec<Bytes> {
        if std::mem::replace(&mut self.done, true) {
            return Vec::new();
        }
        let message = ErrorCode::Interrupted.sentence();
        vec![frame(&PersonaEvent::Error { message }), frame(&PersonaEvent::Done)]
    }
}

impl PersonaFrames {
    fn delta(&mut self, turn: TurnId, text: &str) -> Vec<Bytes> {
        if text.is_empty() {
            return Vec::new();
        }
        let told = self.told_of(turn) + text.len();
        self.told = Some((turn, told));
        vec![frame(&PersonaEvent::TextDelta { content: text })]
    }

    /// What no delta brought comes as one before the whole.
    fn complete(&mut self, turn: TurnId, text: &str) -> Vec<Bytes> {
        if text.is_empty() {
            return Vec::new();
        }
        let mut frames = self.delta(turn, text.get(self.told_of(turn)..).unwrap_or_default());
        frames.push(frame(&PersonaEvent::TextComplete { id: turn, content: text }));
        frames
    }

    fn told_of(&self, turn: TurnId) -> usize {
        self.told.filter(|(told, _)| *told == turn).map_or(0, |(_, bytes)| bytes)
    }
}

fn frame(event: &PersonaEvent<'_>) -> Bytes {
    // Serialising plain data into memory cannot fail: every key is a string.
    let json = serde_json::to_string(event).unwrap_or_default();
    format!("data: {json}\n\n").into()
}
