//! Gemini: `GenerateContentResponse` as events, or as one body.

use super::Frames;
use crate::model::script::{
    ErrorKind, Finish, Script, ScriptedCall, ScriptedError, ScriptedUsage, Step, Terminator,
};
use serde_json::{Value, json};

/// Stands for the signature that only the model which did the thinking can write.
const SIGNATURE: &str = "c2NyaXB0ZWQgdGhvdWdodA==";

pub(super) fn stream(script: &Script) -> Frames {
    let mut frames = Frames::default();
    for step in &script.steps {
        if frames.push_common(step) {
            continue;
        }
        match step {
            Step::Text(text) => frames.push(event(&chunk(&[json!({"text": text})]))),
            Step::Reasoning(text) => {
                frames.push(event(&chunk(&[json!({"text": text, "thought": true})])));
            }
            // Arguments are objects here and calls come in one piece, so the wire splits only
            // between calls.
            Step::ToolCalls(calls) => {
                for part in call_parts(calls, script) {
                    frames.push(event(&chunk(&[part])));
                }
            }
            Step::Error(error) => frames.push(event(&error_body(error))),
            Step::Finish(_) | Step::Usage(_) | Step::Raw(_) | Step::PauseMs(_) | Step::Hang => {}
        }
    }
    // The finish reason is the only mark of the end on this wire.
    if let Some(finish) = script.finish().filter(|_| script.terminator == Terminator::Sent) {
        let mut last = chunk(&closing_parts(script));
        close(&mut last, finish, script.usage());
        frames.push(event(&last));
    }
    frames
}

pub(super) fn complete(script: &Script) -> Value {
    let mut parts = Vec::new();
    let (text, thought) = (script.whole_text(), script.whole_reasoning());
    if !thought.is_empty() {
        parts.push(json!({"text": thought, "thought": true}));
    }
    if !text.is_empty() {
        parts.push(json!({"text": text}));
    }
    let calls: Vec<ScriptedCall> = script.calls().cloned().collect();
    parts.extend(call_parts(&calls, script));
    parts.extend(closing_parts(script));
    let mut body = chunk(&parts);
    if let Some(finish) = script.finish() {
        close(&mut body, finish, script.usage());
    }
    body
}

pub(super) fn error(error: &ScriptedError) -> (u16, Value) {
    (error_fields(error.kind).0, error_body(error))
}

fn event(body: &Value) -> String {
    format!("data: {body}\n\n")
}

fn chunk(parts: &[Value]) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "scripted",
        "responseId": "scripted-response",
    })
}

fn close(chunk: &mut Value, finish: Finish, usage: Option<ScriptedUsage>) {
    chunk["candidates"][0]["finishReason"] = json!(finish_name(finish));
    if let Some(usage) = usage {
        // Tokens of thoughts are counted beside those of the answer.
        chunk["usageMetadata"] = json!({
            "promptTokenCount": usage.input,
            "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output - usage.reasoning,
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.input + usage.output,
        });
    }
}

/// The parts of the calls. A model that has thought signs the first of its calls.
fn call_parts(calls: &[ScriptedCall], script: &Script) -> Vec<Value> {
    let has_thought = !script.whole_reasoning().is_empty();
    let part = |(position, call): (usize, &ScriptedCall)| {
        let args = call.json_arguments();
        let mut part = json!({"functionCall": {"id": call.id, "name": call.name, "args": args}});
        if has_thought && position == 0 {
            part["thoughtSignature"] = json!(SIGNATURE);
        }
        part
    };
    calls.iter().enumerate().map(part).collect()
}

/// The last parts of an answer. A model that has thought but calls nothing signs an empty part at
/// the end.
fn closing_parts(script: &Script) -> Vec<Value> {
    let signs = !script.whole_reasoning().is_empty() && script.calls().next().is_none();
    let text = json!({"text": "", "thoughtSignature": SIGNATURE});
    if signs { vec![text] } else { Vec::new() }
}

fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::ToolCalls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::ContentFilter => "SAFETY",
    }
}

fn error_body(error: &ScriptedError) -> Value {
    let (code, status, reason) = error_fields(error.kind);
    let mut body = json!({"error": {"code": code, "message": error.message, "status": status}});
    if let Some(reason) = reason {
        let kind = "type.googleapis.com/google.rpc.ErrorInfo";
        body["error"]["details"] = json!([{"@type": kind, "reason": reason}]);
    }
    body
}

/// Code, status and reason as Google sends them. A prompt that is too long and filtered content
/// have no reason of their own.
fn error_fields(kind: ErrorKind) -> (u16, &'static str, Option<&'static str>) {
    match kind {
        ErrorKind::RateLimited => (429, "RESOURCE_EXHAUSTED", None),
        ErrorKind::Overloaded => (503, "UNAVAILABLE", None),
        ErrorKind::Auth => (400, "INVALID_ARGUMENT", Some("API_KEY_INVALID")),
        ErrorKind::ContextLength | ErrorKind::InvalidRequest | ErrorKind::ContentFilter => {
            (400, "INVALID_ARGUMENT", None)
        }
        ErrorKind::Server => (500, "INTERNAL", None),
    }
}
