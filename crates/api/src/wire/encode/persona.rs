//! Encodes `/api/persona-agent/chat`: server-sent events of `data:` lines only, with `type` in the
//! data, in camelCase.

use bytes::Bytes;
use onyx_surface::{Encoder, Part, RunFold};
use onyx_types::{CallLabel, CallReport, Envelope, ToolUseId, TurnId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::camel_json;

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
        label: &'a CallLabel,
    },
    ToolResult {
        id: TurnId,
        tool_use_id: &'a ToolUseId,
        output: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        report: &'a CallReport,
    },
    Done,
    Error {
        message: &'a str,
    },
}

#[derive(Debug, Default)]
pub struct PersonaFrames {
    fold: RunFold,
}

impl Encoder for PersonaFrames {
    type Frame = Bytes;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        self.fold.parts(envelope).filter_map(|part| written(&part)).collect()
    }

    /// Sends an end with its reason if the feed ended without one.
    fn finish(&mut self) -> Vec<Bytes> {
        self.fold.finish().filter_map(|part| written(&part)).collect()
    }
}

/// The event for a part; `None` where the surface has none.
fn written(part: &Part<'_>) -> Option<Bytes> {
    let event = match part {
        // The clients of this surface join the texts themselves.
        Part::Text { turn_id: _, words } => PersonaEvent::TextDelta { content: words.text },
        Part::TextComplete { turn_id, text } if !text.is_empty() => {
            PersonaEvent::TextComplete { id: *turn_id, content: text }
        }
        Part::ToolCall { turn_id, id, tool, input, summary: _, label } => {
            PersonaEvent::ToolCall { id: *turn_id, tool_use_id: id, tool_name: tool, input, label }
        }
        Part::ToolResult { turn_id, id, ok, output, report, .. } => PersonaEvent::ToolResult {
            id: *turn_id,
            tool_use_id: id,
            output,
            is_error: !ok,
            report,
        },
        Part::Error { message, .. } => PersonaEvent::Error { message },
        Part::Done { .. } => PersonaEvent::Done,
        Part::Start { .. }
        | Part::TextComplete { .. }
        | Part::Reasoning { .. }
        | Part::ToolOutput { .. }
        | Part::Proposal { .. }
        | Part::Context { .. }
        | Part::Status { .. }
        | Part::Usage(_) => return None,
    };
    Some(frame(&event))
}

fn frame(event: &PersonaEvent<'_>) -> Bytes {
    format!("data: {}\n\n", camel_json(event)).into()
}
