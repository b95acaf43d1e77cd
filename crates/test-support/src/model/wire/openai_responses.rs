//! OpenAI responses: events around output items, and the whole `response`.

use super::{Frames, named_event, openai_chat};
use crate::model::script::{
    Finish, Script, ScriptedCall, ScriptedError, ScriptedUsage, Step, Terminator,
};
use serde_json::{Value, json};

/// An output item that has begun, with its content so far.
enum Open {
    Nothing,
    Message(String),
    Reasoning(String),
}

struct Stream {
    frames: Frames,
    sequence: u32,
    open: Open,
    /// The finished items; their count is the next index.
    output: Vec<Value>,
}

pub(super) fn stream(script: &Script, request: &Value) -> Frames {
    let mut stream =
        Stream { frames: Frames::default(), sequence: 0, open: Open::Nothing, output: Vec::new() };
    let begun = response(request, "in_progress", &[]);
    stream.send("response.created", json!({"response": begun}));
    stream.send("response.in_progress", json!({"response": begun}));
    for step in &script.steps {
        if stream.frames.push_common(step) {
            continue;
        }
        match step {
            Step::Text(text) => stream.text(text),
            Step::Reasoning(text) => stream.reasoning(text),
            Step::ToolCalls(calls) => stream.calls(calls),
            Step::Error(error) => stream.error(error),
            Step::Finish(_) | Step::Usage(_) | Step::Raw(_) | Step::PauseMs(_) | Step::Hang => {}
        }
    }
    // The finish reason and the mark of the end are one event on this wire.
    if let Some(finish) = script.finish().filter(|_| script.terminator == Terminator::Sent) {
        stream.leave();
        let (status, event) = status(finish);
        let mut last = response(request, status, &stream.output);
        close(&mut last, finish, script.usage());
        stream.send(event, json!({"response": last}));
    }
    stream.frames
}

impl Stream {
    fn send(&mut self, event: &str, mut body: Value) {
        body["type"] = json!(event);
        body["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.frames.push(named_event(&body));
    }

    fn index(&self) -> usize {
        self.output.len()
    }

    fn item_event(&mut self, event: &str, mut body: Value) {
        body["output_index"] = json!(self.index());
        self.send(event, body);
    }

    fn text(&mut self, text: &str) {
        if !matches!(self.open, Open::Message(_)) {
            self.leave();
            self.item_event(
                "response.output_item.added",
                json!({"item": message("", "in_progress")}),
            );
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            self.item_event(
                "response.content_part.added",
                json!({"item_id": "msg_1", "content_index": 0, "part": part}),
            );
            self.open = Open::Message(String::new());
        }
        if let Open::Message(said) = &mut self.open {
            said.push_str(text);
        }
        self.item_event(
            "response.output_text.delta",
            json!({"item_id": "msg_1", "content_index": 0, "delta": text}),
        );
    }

    fn reasoning(&mut self, text: &str) {
        if !matches!(self.open, Open::Reasoning(_)) {
            self.leave();
            let item = json!({"id": "rs_1", "type": "reasoning", "summary": []});
            self.item_event("response.output_item.added", json!({"item": item}));
            self.item_event(
                "response.reasoning_summary_part.added",
                json!({"item_id": "rs_1", "summary_index": 0,
                       "part": {"type": "summary_text", "text": ""}}),
            );
            self.open = Open::Reasoning(String::new());
        }
        if let Open::Reasoning(thought) = &mut self.open {
            thought.push_str(text);
        }
        self.item_event(
            "response.reasoning_summary_text.delta",
            json!({"item_id": "rs_1", "summary_index": 0, "delta": text}),
        );
    }

    fn leave(&mut self) {
        let item = match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => return,
            Open::Message(text) => {
                self.item_event(
                    "response.output_text.done",
                    json!({"item_id": "msg_1", "content_index": 0, "text": text}),
                );
                message(&text, "completed")
            }
            Open::Reasoning(text) => reasoning(&text),
        };
        self.item_event("response.output_item.done", json!({"item": item}));
        self.output.push(item);
    }

    /// Begins all calls first, and then sends their pieces in turn.
    fn calls(&mut self, calls: &[ScriptedCall]) {
        self.leave();
        let base = self.index();
        for (offset, call) in calls.iter().enumerate() {
            let item = function_call(call, "", "in_progress");
            let body = json!({"output_index": base + offset, "item": item});
            self.send("response.output_item.added", body);
        }
        let rounds = calls.iter().map(|call| call.pieces.len()).max().unwrap_or(0);
        for round in 0..rounds {
            for (offset, call) in calls.iter().enumerate() {
                if let Some(piece) = call.pieces.get(round) {
                    let body = json!({"output_index": base + offset, "item_id": item_id(call),
                                      "delta": piece});
                    self.send("response.function_call_arguments.delta", body);
                }
            }
        }
        for call in calls {
            let item = function_call(call, &call.arguments(), "completed");
            let body = json!({"item_id": item_id(call), "arguments": call.arguments()});
            self.item_event("response.function_call_arguments.done", body);
            self.item_event("response.output_item.done", json!({"item": item}));
            self.output.push(item);
        }
    }

    fn error(&mut self, error: &ScriptedError) {
        let (_, body) = openai_chat::error(error);
        let code = &body["error"]["code"];
        self.send("error", json!({"code": code, "message": error.message, "param": null}));
    }
}

pub(super) fn complete(script: &Script, request: &Value) -> Value {
    let mut output = Vec::new();
    let (text, thought) = (script.whole_text(), script.whole_reasoning());
    if !thought.is_empty() {
        output.push(reasoning(&thought));
    }
    if !text.is_empty() {
        output.push(message(&text, "completed"));
    }
    output.extend(script.calls().map(|call| function_call(call, &call.arguments(), "completed")));
    let finish = script.finish().unwrap_or(Finish::Stop);
    let mut body = response(request, status(finish).0, &output);
    close(&mut body, finish, script.usage());
    body
}

fn response(request: &Value, status: &str, output: &[Value]) -> Value {
    json!({
        "id": "resp_scripted", "object": "response", "created_at": 1_700_000_000,
        "model": request["model"], "status": status, "output": output,
        "error": null, "incomplete_details": null, "usage": null,
    })
}

fn close(response: &mut Value, finish: Finish, usage: Option<ScriptedUsage>) {
    response["incomplete_details"] = match finish {
        Finish::Stop | Finish::ToolCalls => Value::Null,
        Finish::Length => json!({"reason": "max_output_tokens"}),
        Finish::ContentFilter => json!({"reason": "content_filter"}),
    };
    if let Some(usage) = usage {
        response["usage"] = json!({
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.input + usage.output,
        });
    }
}

fn status(finish: Finish) -> (&'static str, &'static str) {
    match finish {
        Finish::Stop | Finish::ToolCalls => ("completed", "response.completed"),
        Finish::Length | Finish::ContentFilter => ("incomplete", "response.incomplete"),
    }
}

fn message(text: &str, status: &str) -> Value {
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    let content = if text.is_empty() { json!([]) } else { json!([part]) };
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": status,
           "content": content})
}

fn reasoning(text: &str) -> Value {
    json!({"id": "rs_1", "type": "reasoning",
           "summary": [{"type": "summary_text", "text": text}],
           "encrypted_content": "c2NyaXB0ZWQgcmVhc29uaW5n"})
}

/// The id of a call's item. The events of an item carry this id, but results carry the id of the
/// call.
fn item_id(call: &ScriptedCall) -> String {
    format!("fc_{}", call.id)
}

fn function_call(call: &ScriptedCall, arguments: &str, status: &str) -> Value {
    json!({"id": item_id(call), "type": "function_call", "status": status,
           "call_id": call.id, "name": call.name, "arguments": arguments})
}
