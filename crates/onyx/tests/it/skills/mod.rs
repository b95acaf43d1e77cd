//! Skills and artifacts through the real server.

mod accepting;
mod artifacts;
mod bringing;
mod workspace;

use onyx_test_support::{OnyxProcess, ScriptedModel};
use serde_json::Value;

use crate::drafts::{message, obey};
use crate::gate::events_of;

/// A model that makes the calls that its message names.
async fn obedient() -> ScriptedModel {
    let model = ScriptedModel::start().await;
    model.respond_with(|request| obey(request, |words| words.find("do [")));
    model
}

fn skill(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n")
}

/// The names of the tools that the last request offered.
fn offered(model: &ScriptedModel) -> Vec<String> {
    let body = model.last_request().body;
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The result of the first call of a message.
async fn called(onyx: &OnyxProcess, tool: &str, arguments: Value) -> Value {
    let calls = [(tool, arguments)];
    let lines = onyx.chat_stream(&serde_json::json!({"message": message(&calls)})).await;
    let events = events_of(onyx, &lines[0]).await;
    let result = events.iter().find(|event| event["type"] == "tool_result");
    result.unwrap_or_else(|| panic!("no result among {events:#?}")).clone()
}

fn output(result: &Value) -> &str {
    result["output"].as_str().unwrap()
}
