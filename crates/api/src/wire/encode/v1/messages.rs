//! Encodes answers as Anthropic messages.

use bytes::Bytes;
use onyx_types::Usage;
use serde_json::{Map, Value, json};

use super::parts::{AnswerPart, Finish};
use super::whole_answer::WholeAnswer;
use super::{AnswerHead, AnswerWriter, named_frame};
use crate::problem::anthropic_error;

/// Encodes a stream, from `message_start` to `message_stop`. Reasoning is left out, because a
/// thinking block needs a signature that only its maker can create.
#[derive(Debug)]
pub struct MessageEvents {
    head: AnswerHead,
    /// The index of the current or next block.
    index: u32,
    text_open: bool,
}

impl MessageEvents {
    pub fn new(head: AnswerHead) -> Self {
        Self { head, index: 0, text_open: false }
    }

    pub fn whole(head: &AnswerHead, answer: &WholeAnswer) -> Value {
        let mut content = Vec::new();
        if !answer.text.is_empty() {
            content.push(json!({"type": "text", "text": answer.text}));
        }
        content.extend(answer.calls.iter().map(|(id, name, arguments)| {
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
        }));
        let mut message = base(head);
        message.insert("content".into(), content.into());
        message.insert("stop_reason".into(), stop_reason(answer.finish).into());
        message.insert("usage".into(), usage_view(&answer.usage));
        message.into()
    }

    fn close_text(&mut self, frames: &mut Vec<Bytes>) {
        if std::mem::take(&mut self.text_open) {
            frames.push(self.stop_block());
        }
    }

    fn stop_block(&mut self) -> Bytes {
        let frame = named_frame(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
        frame
    }

    fn start_block(&self, block: &Value) -> Bytes {
        let index = self.index;
        named_frame(&json!({"type": "content_block_start", "index": index, "content_block": block}))
    }

    fn delta(&self, delta: &Value) -> Bytes {
        let index = self.index;
        named_frame(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }
}

impl AnswerWriter for MessageEvents {
    fn write(&mut self, part: &AnswerPart) -> Vec<Bytes> {
        let mut frames = Vec::new();
        match part {
            AnswerPart::Begin => {
                let message = base(&self.head);
                frames.push(named_frame(&json!({"type": "message_start", "message": message})));
            }
            AnswerPart::Text(text) => {
                if !self.text_open {
                    frames.push(self.start_block(&json!({"type": "text", "text": ""})));
                    self.text_open = true;
                }
                frames.push(self.delta(&json!({"type": "text_delta", "text": text})));
            }
            AnswerPart::Reasoning(_) => {}
            AnswerPart::Call { id, name, arguments } => {
                self.close_text(&mut frames);
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                frames.push(self.start_block(&block));
                let json = arguments.to_string();
                frames.push(self.delta(&json!({"type": "input_json_delta", "partial_json": json})));
                frames.push(self.stop_block());
            }
            AnswerPart::End { finish, usage } => {
                self.close_text(&mut frames);
                let delta = json!({"stop_reason": stop_reason(*finish), "stop_sequence": null});
                let usage = usage_view(usage);
                let last = json!({"type": "message_delta", "delta": delta, "usage": usage});
                frames.push(named_frame(&last));
                frames.push(named_frame(&json!({"type": "message_stop"})));
            }
            AnswerPart::Failed(fault) => frames.push(named_frame(&anthropic_error(fault))),
        }
        frames
    }
}

fn base(head: &AnswerHead) -> Map<String, Value> {
    let mut message = Map::new();
    message.insert("id".into(), format!("msg_{}", head.id).into());
    message.insert("type".into(), "message".into());
    message.insert("role".into(), "assistant".into());
    message.insert("model".into(), head.model.clone().into());
    message.insert("content".into(), json!([]));
    message.insert("stop_reason".into(), Value::Null);
    message.insert("stop_sequence".into(), Value::Null);
    message.insert("usage".into(), usage_view(&Usage::default()));
    if let Some(session) = &head.session {
        message.insert("x-onyx-session-id".into(), session.clone().into());
    }
    message
}

const fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
    }
}

/// The usage as Anthropic counts it: cached tokens are separate from the others.
fn usage_view(usage: &Usage) -> Value {
    let cached = usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": usage.input.saturating_sub(cached),
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    })
}
