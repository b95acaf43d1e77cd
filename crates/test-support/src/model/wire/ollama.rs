//! Ollama: one JSON value a line, or one body.

use super::Frames;
use crate::model::script::{
    ErrorKind, Finish, Script, ScriptedCall, ScriptedError, ScriptedUsage, Step, Terminator,
};
use serde_json::{Value, json};

pub(super) fn stream(script: &Script, request: &Value) -> Frames {
    let mut frames = Frames::default();
    for step in &script.steps {
        if frames.push_common(step) {
            continue;
        }
        match step {
            Step::Text(text) => frames.push(line(&body(request, &said(text)))),
            Step::Reasoning(text) => {
                let message = json!({"role": "assistant", "content": "", "thinking": text});
                frames.push(line(&body(request, &message)));
            }
            // Arguments are objects here and calls come in one piece, so the wire splits only
            // between calls.
            Step::ToolCalls(calls) => {
                for call in calls.iter().enumerate().map(tool_call) {
                    let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
                    frames.push(line(&body(request, &message)));
                }
            }
            Step::Error(error) => frames.push(line(&error_body(error))),
            Step::Finish(_) | Step::Usage(_) | Step::Raw(_) | Step::PauseMs(_) | Step::Hang => {}
        }
    }
    // The finish reason and the mark of the end are one line on this wire.
    if let Some(finish) = script.finish().filter(|_| script.terminator == Terminator::Sent) {
        let mut last = body(request, &said(""));
        close(&mut last, finish, script.usage());
        frames.push(line(&last));
    }
    frames
}

pub(super) fn complete(script: &Script, request: &Value) -> Value {
    let mut message = said(&script.whole_text());
    let thought = script.whole_reasoning();
    if !thought.is_empty() {
        message["thinking"] = json!(thought);
    }
    let calls: Vec<Value> = script.calls().enumerate().map(tool_call).collect();
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut whole = body(request, &message);
    if let Some(finish) = script.finish() {
        close(&mut whole, finish, script.usage());
    }
    whole
}

pub(super) fn error(error: &ScriptedError) -> (u16, Value) {
    let status = match error.kind {
        ErrorKind::RateLimited => 429,
        ErrorKind::Overloaded => 503,
        ErrorKind::Auth => 401,
        ErrorKind::ContextLength | ErrorKind::InvalidRequest | ErrorKind::ContentFilter => 400,
        ErrorKind::Server => 500,
    };
    (status, error_body(error))
}

fn line(body: &Value) -> String {
    format!("{body}\n")
}

fn body(request: &Value, message: &Value) -> Value {
    json!({"model": request["model"], "created_at": "2023-11-14T22:13:20.000000Z",
           "message": message, "done": false})
}

fn said(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn tool_call((index, call): (usize, &ScriptedCall)) -> Value {
    let arguments = call.json_arguments();
    json!({"id": call.id,
           "function": {"index": index, "name": call.name, "arguments": arguments}})
}

/// Ends the answer. The wire has one finish reason for an answer and for a call, and none for a
/// refusal.
fn close(body: &mut Value, finish: Finish, usage: Option<ScriptedUsage>) {
    body["done"] = json!(true);
    body["done_reason"] = json!(match finish {
        Finish::Stop | Finish::ToolCalls | Finish::ContentFilter => "stop",
        Finish::Length => "length",
    });
    if let Some(usage) = usage {
        body["total_duration"] = json!(1_000_000);
        body["prompt_eval_count"] = json!(usage.input);
        body["eval_count"] = json!(usage.output);
    }
}

/// An error, which is only a text on this wire.
fn error_body(error: &ScriptedError) -> Value {
    json!({"error": error.message})
}
