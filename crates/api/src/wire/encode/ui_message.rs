//! Encodes `/api/v1/chat`: an AI SDK UI message stream. Its readers refuse unknown parts, so only
//! parts of the SDK are sent.

use bytes::Bytes;
use onyx_types::Usage;
use serde_json::{Value, json};

use super::v1::{AnswerPart, AnswerWriter, Finish};

/// Encodes an answer, from `start` to `[DONE]`. Each frame is one `data:` line.
#[derive(Debug)]
pub struct UiMessageFrames {
    message_id: String,
    open: Option<Part>,
    parts: u32,
    begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text,
    Reasoning,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

impl UiMessageFrames {
    pub fn new(message_id: String) -> Self {
        Self { message_id, open: None, parts: 0, begun: false }
    }

    pub(super) fn id(&self) -> &str {
        &self.message_id
    }

    fn begin(&mut self, frames: &mut Vec<Bytes>) {
        if !std::mem::replace(&mut self.begun, true) {
            frames.push(frame(&json!({"type": "start", "messageId": self.message_id})));
            frames.push(frame(&json!({"type": "start-step"})));
        }
    }

    pub(super) fn delta(&mut self, part: Part, text: &str, frames: &mut Vec<Bytes>) {
        if self.open != Some(part) {
            self.close(frames);
            self.parts += 1;
            self.open = Some(part);
            frames.push(self.part(part, "start", None));
        }
        frames.push(self.part(part, "delta", Some(text)));
    }

    /// Drops the open part, which was never sent.
    pub(super) fn forget_open(&mut self) {
        self.open = None;
    }

    pub(super) fn close(&mut self, frames: &mut Vec<Bytes>) {
        if let Some(part) = self.open.take() {
            frames.push(self.part(part, "end", None));
        }
    }

    fn part(&self, part: Part, what: &str, delta: Option<&str>) -> Bytes {
        let id = format!("{}-{}", part.name(), self.parts);
        let mut body = json!({"type": format!("{}-{what}", part.name()), "id": id});
        if let Some(delta) = delta {
            body["delta"] = delta.into();
        }
        frame(&body)
    }
}

impl AnswerWriter for UiMessageFrames {
    fn write(&mut self, part: &AnswerPart) -> Vec<Bytes> {
        let mut frames = Vec::new();
        self.begin(&mut frames);
        match part {
            // A call cannot occur, because the model was offered no tools.
            AnswerPart::Begin | AnswerPart::Call { .. } => {}
            AnswerPart::Text(text) => self.delta(Part::Text, text, &mut frames),
            AnswerPart::Reasoning(text) => self.delta(Part::Reasoning, text, &mut frames),
            AnswerPart::End { finish, usage } => {
                self.close(&mut frames);
                frames.push(frame(&json!({"type": "finish-step"})));
                let metadata = json!({"finishReason": reason(*finish), "usage": counted(usage)});
                frames.push(frame(&json!({"type": "finish", "messageMetadata": metadata})));
                frames.push(LAST);
            }
            AnswerPart::Failed(fault) => {
                self.close(&mut frames);
                frames.push(frame(&json!({"type": "error", "errorText": fault.message})));
                frames.push(LAST);
            }
        }
        frames
    }
}

pub(super) const LAST: Bytes = Bytes::from_static(b"data: [DONE]\n\n");

const fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool-calls",
        Finish::Length => "length",
    }
}

pub(super) fn counted(usage: &Usage) -> Value {
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
    })
}

pub(super) fn frame(body: &Value) -> Bytes {
    format!("data: {body}\n\n").into()
}
