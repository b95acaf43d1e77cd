//! Anthropic messages: named events around content blocks, and the whole `message`.

use super::{Frames, named_event};
use crate::model::script::{
    ErrorKind, Finish, Script, ScriptedCall, ScriptedError, ScriptedUsage, Step, Terminator,
};
use serde_json::{Value, json};

/// Stands for the signature that only the model which did the thinking can write.
const SIGNATURE: &str = "c2NyaXB0ZWQgc2lnbmF0dXJl";

/// A content block that has begun.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Nothing,
    Text,
    Thinking,
}

struct Stream {
    frames: Frames,
    open: Open,
    index: usize,
}

pub(super) fn stream(script: &Script, request: &Value) -> Frames {
    let usage = script.usage().unwrap_or_default();
    let mut stream = Stream { frames: Frames::default(), open: Open::Nothing, index: 0 };
    stream.send(&json!({"type": "message_start", "message": {
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": request["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": usage_body(&ScriptedUsage { output: 1, ..usage }),
    }}));
    stream.send(&json!({"type": "ping"}));
    for step in &script.steps {
        if stream.frames.push_common(step) {
            continue;
        }
        match step {
            Step::Text(text) => {
                stream.enter(Open::Text, &json!({"type": "text", "text": ""}));
                stream.delta(&json!({"type": "text_delta", "text": text}));
            }
            Step::Reasoning(text) => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                stream.enter(Open::Thinking, &block);
                stream.delta(&json!({"type": "thinking_delta", "thinking": text}));
            }
            Step::ToolCalls(calls) => calls.iter().for_each(|call| stream.call(call)),
            Step::Finish(finish) => {
                stream.leave();
                stream.send(&json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": finish_name(*finish), "stop_sequence": null},
                    "usage": {"output_tokens": usage.output},
                }));
            }
            Step::Error(error) => stream.send(&error_body(error)),
            Step::Usage(_) | Step::Raw(_) | Step::PauseMs(_) | Step::Hang => {}
        }
    }
    if script.terminator == Terminator::Sent {
        stream.leave();
        stream.send(&json!({"type": "message_stop"}));
    }
    stream.frames
}

impl Stream {
    fn send(&mut self, body: &Value) {
        self.frames.push(named_event(body));
    }

    fn delta(&mut self, delta: &Value) {
        let body = json!({"type": "content_block_delta", "index": self.index, "delta": delta});
        self.send(&body);
    }

    fn enter(&mut self, wanted: Open, block: &Value) {
        if self.open != wanted || wanted == Open::Nothing {
            self.leave();
            self.open = wanted;
            self.start(block);
        }
    }

    fn start(&mut self, block: &Value) {
        let body =
            json!({"type": "content_block_start", "index": self.index, "content_block": block});
        self.send(&body);
    }

    fn leave(&mut self) {
        match self.open {
            Open::Nothing => return,
            Open::Thinking => {
                self.delta(&json!({"type": "signature_delta", "signature": SIGNATURE}));
            }
            Open::Text => {}
        }
        self.open = Open::Nothing;
        self.stop();
    }

    fn stop(&mut self) {
        let body = json!({"type": "content_block_stop", "index": self.index});
        self.send(&body);
        self.index += 1;
    }

    /// Adds a call. Blocks of this wire come one after the other.
    fn call(&mut self, call: &ScriptedCall) {
        self.leave();
        self.start(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}));
        for piece in &call.pieces {
            self.delta(&json!({"type": "input_json_delta", "partial_json": piece}));
        }
        self.stop();
    }
}

pub(super) fn complete(script: &Script, request: &Value) -> Value {
    let mut content = Vec::new();
    let (text, reasoning) = (script.whole_text(), script.whole_reasoning());
    if !reasoning.is_empty() {
        content.push(json!({"type": "thinking", "thinking": reasoning, "signature": SIGNATURE}));
    }
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(script.calls().map(|call| {
        json!({"type": "tool_use", "id": call.id, "name": call.name,
               "input": call.json_arguments()})
    }));
    json!({
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": request["model"],
        "content": content,
        "stop_reason": script.finish().map(finish_name),
        "stop_sequence": null,
        "usage": usage_body(&script.usage().unwrap_or_default()),
    })
}

pub(super) fn error(error: &ScriptedError) -> (u16, Value) {
    (error_fields(error.kind).0, error_body(error))
}

fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::ContentFilter => "refusal",
    }
}

/// The usage; this wire counts cached tokens beside the others.
fn usage_body(usage: &ScriptedUsage) -> Value {
    json!({
        "input_tokens": usage.input - usage.cache_read - usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
    })
}

fn error_body(error: &ScriptedError) -> Value {
    let (_, kind) = error_fields(error.kind);
    json!({"type": "error", "error": {"type": kind, "message": error.message}})
}

/// Status and `type` as Anthropic sends them. A prompt that is too long and filtered content have
/// no type of their own, but a body that is too large has.
fn error_fields(kind: ErrorKind) -> (u16, &'static str) {
    match kind {
        ErrorKind::RateLimited => (429, "rate_limit_error"),
        ErrorKind::Overloaded => (529, "overloaded_error"),
        ErrorKind::Auth => (401, "authentication_error"),
        ErrorKind::ContextLength => (413, "request_too_large"),
        ErrorKind::InvalidRequest | ErrorKind::ContentFilter => (400, "invalid_request_error"),
        ErrorKind::Server => (500, "api_error"),
    }
}
