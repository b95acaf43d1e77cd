//! What agents propose and people decide, through the real server.

mod asking;
mod command_line;
mod deciding;
mod killed;

use onyx_test_support::{
    Answer, OnyxBuilder, OnyxProcess, RecordedRequest, ScriptedCall, ScriptedModel,
};
use serde_json::{Value, json};

use crate::builder;

/// A model that makes the calls that its message names (`do [{tool, args}, …]`), one after another,
/// and then says `ok`.
pub(crate) async fn obedient() -> ScriptedModel {
    let model = ScriptedModel::start().await;
    model.respond_with(|request| obey(request, |words| words.rfind("do [")));
    model
}

/// Makes the calls of a message; `list` finds where they begin in it.
pub(crate) fn obey(request: &RecordedRequest, list: impl Fn(&str) -> Option<usize>) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let words = messages.get(last).map(|message| words(&message["content"])).unwrap_or_default();
    let Some(at) = list(&words) else { return Answer::text("ok") };
    let mut lists = serde_json::Deserializer::from_str(&words[at + 3..]).into_iter::<Value>();
    let Some(Ok(Value::Array(calls))) = lists.next() else { return Answer::text("ok") };
    let done = messages[last..].iter().filter(|message| message["role"] == "tool").count();
    match calls.get(done) {
        Some(call) => {
            let tool = call["tool"].as_str().unwrap_or_default();
            let id = format!("call_{last}_{done}");
            Answer::tool_calls([ScriptedCall::new(id, tool, &call["args"])])
        }
        None => Answer::text("ok"),
    }
}

/// The text of a message, whatever its form.
pub(crate) fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A message that makes the model call these tools.
pub(crate) fn message(calls: &[(&str, Value)]) -> String {
    let calls: Vec<Value> =
        calls.iter().map(|(tool, args)| json!({"tool": tool, "args": args})).collect();
    format!("do {}", Value::Array(calls))
}

/// A server whose agent may only suggest.
pub(crate) fn suggesting(model: &ScriptedModel) -> OnyxBuilder {
    builder(model).merge(json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
    ]}}))
}

/// Adds tainted lines to a daily log, which taint the next run.
pub(crate) fn tainting(builder: OnyxBuilder) -> OnyxBuilder {
    let log = "people/owner/memory/main/daily/2026-01-01.md";
    builder.file(log, "- 10:00 theirs <!-- agent_tainted -->\n")
}

pub(crate) const READ_TAINTED: (&str, &str) = ("memory_get", "daily/2026-01-01.md");

/// Sends a message and returns its events and the draft that it left.
pub(crate) async fn draft_of(onyx: &OnyxProcess, body: Value) -> (Vec<Value>, String) {
    let events = onyx.chat_stream(&body).await;
    let draft = events.iter().rev().find(|event| event["type"] == "draft");
    let draft = draft.unwrap_or_else(|| panic!("no draft among {events:#?}"));
    let id = draft["draft_id"].as_str().unwrap().to_owned();
    (events, id)
}

pub(crate) fn path(draft: &str) -> String {
    format!("/api/pending-changes/{draft}")
}

pub(crate) fn vault(onyx: &OnyxProcess, name: &str) -> Option<String> {
    crate::witness::vault_file(&onyx.home(), name)
}

pub(crate) fn session_of(events: &[Value]) -> String {
    events[0]["session_id"].as_str().unwrap().to_owned()
}
