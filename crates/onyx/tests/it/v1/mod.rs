//! What clients of other makers' wire formats get.

mod agent_runs;
mod agents;
mod browsers;
mod choice;
mod client_tools;
mod errors;
mod fields;
mod knobs;
mod makers_shapes;
mod media;
mod names;
mod other_dialects;
mod pass_through;
mod stored_responses;

use onyx_test_support::{OnyxProcess, RecordedRequest};
use serde_json::{Value, json};

pub(crate) const CHAT: &str = "/v1/chat/completions";

pub(crate) fn ask(model: &str, words: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": words}]})
}

/// The `data:` values of a stream, with the end mark as a string.
pub(crate) async fn stream(onyx: &OnyxProcess, path: &str, body: &Value) -> Vec<Value> {
    let reply = onyx.post(path, body).await.expect(200);
    assert_eq!(reply.headers["content-type"], "text/event-stream");
    frames(&reply.text())
}

pub(crate) fn frames(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into())).collect()
}

/// All text of a stream of chunks.
pub(crate) fn content(chunks: &[Value]) -> String {
    let deltas = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    deltas.collect()
}

pub(crate) fn finish(chunks: &[Value]) -> Option<&str> {
    chunks.iter().find_map(|chunk| chunk["choices"][0]["finish_reason"].as_str())
}

/// Role and content of the messages in a provider's request, without the system message.
pub(crate) fn conversation(request: &RecordedRequest) -> Vec<(String, Value)> {
    let messages = request.body["messages"].as_array().unwrap();
    let turns = messages.iter().filter(|message| message["role"] != "system");
    turns
        .map(|message| (message["role"].as_str().unwrap().to_owned(), message["content"].clone()))
        .collect()
}

pub(crate) fn system(request: &RecordedRequest) -> String {
    request.body["messages"][0]["content"].to_string()
}

/// The words of a message in an agent's prompt, without the time before them.
pub(crate) fn words(content: &Value) -> &str {
    let text = content.as_str().unwrap_or_else(|| content[0]["text"].as_str().unwrap());
    text.split_once("Z] ").map_or(text, |(_, words)| words)
}
