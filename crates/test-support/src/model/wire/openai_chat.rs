//! OpenAI chat completions: `chat.completion.chunk` events and the whole `chat.completion`.

use super::Frames;
use crate::model::script::{
    ErrorKind, Finish, Script, ScriptedCall, ScriptedError, ScriptedUsage, Step, Terminator,
};
use serde_json::{Map, Value, json};

pub(super) fn stream(script: &Script, request: &Value) -> Frames {
    let mut frames = Frames::default();
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        event(&envelope("chat.completion.chunk", request, &[choice]))
    };
    frames.push(chunk(json!({"role": "assistant", "content": ""}), None));
    // The wire sends usage after the finish reason, in a chunk of its own without choices.
    let mut usage = None;
    for step in &script.steps {
        if frames.push_common(step) {
            continue;
        }
        match step {
            Step::Text(text) => frames.push(chunk(json!({"content": text}), None)),
            Step::Reasoning(text) => frames.push(chunk(json!({"reasoning_content": text}), None)),
            Step::ToolCalls(calls) => {
                for delta in call_deltas(calls) {
                    frames.push(chunk(json!({"tool_calls": [delta]}), None));
                }
            }
            Step::Usage(numbers) => usage = Some(numbers),
            Step::Finish(finish) => frames.push(chunk(json!({}), Some(finish_name(*finish)))),
            Step::Error(error) => frames.push(event(&error_body(error))),
            Step::Raw(_) | Step::PauseMs(_) | Step::Hang => {}
        }
    }
    if let Some(numbers) = usage.filter(|_| request["stream_options"]["include_usage"] == true) {
        let mut last = envelope("chat.completion.chunk", request, &[]);
        last["usage"] = usage_body(numbers);
        frames.push(event(&last));
    }
    if script.terminator == Terminator::Sent {
        frames.push("data: [DONE]\n\n");
    }
    frames
}

pub(super) fn complete(script: &Script, request: &Value) -> Value {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    let (mut finish, mut usage) = (Value::Null, None);
    for step in &script.steps {
        match step {
            Step::Text(piece) => text.push_str(piece),
            Step::Reasoning(piece) => reasoning.push_str(piece),
            Step::ToolCalls(more) => calls.extend(more.iter().map(whole_call)),
            Step::Usage(numbers) => usage = Some(*numbers),
            Step::Finish(reason) => finish = json!(finish_name(*reason)),
            Step::Error(_) | Step::Raw(_) | Step::PauseMs(_) | Step::Hang => {}
        }
    }
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    let content = (!text.is_empty() || calls.is_empty()).then_some(text);
    message.insert("content".into(), json!(content));
    if !reasoning.is_empty() {
        message.insert("reasoning_content".into(), json!(reasoning));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), json!(calls));
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    let mut body = envelope("chat.completion", request, &[choice]);
    if let Some(numbers) = usage {
        body["usage"] = usage_body(&numbers);
    }
    body
}

pub(super) fn error(error: &ScriptedError) -> (u16, Value) {
    let (status, _, _) = error_fields(error.kind);
    (status, error_body(error))
}

fn envelope(object: &str, request: &Value, choices: &[Value]) -> Value {
    json!({
        "id": "chatcmpl-scripted",
        "object": object,
        "created": 1_700_000_000,
        "model": request["model"],
        "choices": choices,
    })
}

fn event(body: &Value) -> String {
    format!("data: {body}\n\n")
}

/// The beginnings of all calls first, and then their pieces in turn, so that several calls are open
/// at once.
fn call_deltas(calls: &[ScriptedCall]) -> Vec<Value> {
    let mut deltas: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            json!({"index": index, "id": call.id, "type": "function",
                   "function": {"name": call.name, "arguments": ""}})
        })
        .collect();
    let longest = calls.iter().map(|call| call.pieces.len()).max();
    for round in 0..longest.unwrap_or(0) {
        for (index, call) in calls.iter().enumerate() {
            if let Some(piece) = call.pieces.get(round) {
                deltas.push(json!({"index": index, "function": {"arguments": piece}}));
            }
        }
    }
    deltas
}

fn whole_call(call: &ScriptedCall) -> Value {
    json!({"id": call.id, "type": "function",
           "function": {"name": call.name, "arguments": call.arguments()}})
}

fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
    }
}

fn usage_body(usage: &ScriptedUsage) -> Value {
    // This wire has no field for cache writes.
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn error_body(error: &ScriptedError) -> Value {
    let (_, kind, code) = error_fields(error.kind);
    json!({"error": {"message": error.message, "type": kind, "param": null, "code": code}})
}

/// Status, `type` and `code` as OpenAI sends them.
fn error_fields(kind: ErrorKind) -> (u16, &'static str, Option<&'static str>) {
    match kind {
        ErrorKind::RateLimited => (429, "requests", Some("rate_limit_exceeded")),
        ErrorKind::Overloaded => (503, "service_unavailable_error", Some("server_overloaded")),
        ErrorKind::Auth => (401, "invalid_request_error", Some("invalid_api_key")),
        ErrorKind::ContextLength => (400, "invalid_request_error", Some("context_length_exceeded")),
        ErrorKind::InvalidRequest => (400, "invalid_request_error", Some("invalid_value")),
        ErrorKind::ContentFilter => (400, "invalid_request_error", Some("content_filter")),
        ErrorKind::Server => (500, "server_error", None),
    }
}
