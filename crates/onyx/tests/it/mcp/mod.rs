//! Foreign tools under Onyx's gate: MCP servers that behave, and servers that do not.

mod hostile;
mod many;
mod offering;
mod over_http;
mod peers;
mod serving;
pub(crate) mod signing_in;
mod tasks;
mod using;

use std::path::PathBuf;

use onyx_test_support::{OnyxProcess, Reply, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use crate::drafts::obey;
use crate::gate::events_of;

/// A model that makes the calls that its message names.
pub(crate) async fn obedient() -> ScriptedModel {
    let model = ScriptedModel::start().await;
    model.respond_with(|request| obey(request, |words| words.find("do [")));
    model
}

/// The folder of the scripted server. Its process may read it.
fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp")
}

/// The scripted server in one of its modes.
pub(crate) fn server(mode: &str, arguments: &[&str]) -> Value {
    let script = scripts().join("server.py");
    let mut args = vec![script.to_str().unwrap().to_owned(), mode.to_owned()];
    args.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    json!({"command": "python3", "args": args, "folders": {"read": [scripts()]}, "timeout": 60})
}

pub(crate) async fn add(onyx: &OnyxProcess, name: &str, settings: Value) -> Value {
    let added = onyx.post("/api/admin/mcp", &json!({"mcpServers": {name: settings}})).await;
    added.expect(201).json()
}

pub(crate) async fn test(onyx: &OnyxProcess, name: &str) -> Value {
    onyx.post(&format!("/api/admin/mcp/{name}/test"), &json!({})).await.expect(200).json()
}

async fn show(onyx: &OnyxProcess, name: &str) -> Value {
    onyx.get(&format!("/api/admin/mcp/{name}")).await.expect(200).json()
}

/// Starts the server and accepts all of its tools.
pub(crate) async fn accept_all(onyx: &OnyxProcess, name: &str) -> Value {
    let seen = test(onyx, name).await;
    assert_eq!(seen["status"], "running", "{seen:#}");
    accept(onyx, name, &seen).await
}

async fn accept(onyx: &OnyxProcess, name: &str, seen: &Value) -> Value {
    let tools: serde_json::Map<String, Value> = seen["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["hash"].is_string())
        .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool["hash"].clone()))
        .collect();
    let address = format!("/api/admin/mcp/{name}/accept");
    onyx.post(&address, &json!({"tools": tools})).await.expect(200).json()
}

async fn set_tool(onyx: &OnyxProcess, name: &str, tool: &str, settings: Value) -> Value {
    let path = format!("/api/admin/mcp/{name}/tools/{tool}");
    Reply::of(onyx.client().request(Method::PUT, &path).json(&settings)).await.expect(200).json()
}

pub(crate) fn tool<'a>(server: &'a Value, name: &str) -> &'a Value {
    let tools = server["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{server:#}"))
}

/// The result of the call of this message, and all events.
pub(crate) async fn called(
    onyx: &OnyxProcess,
    tool: &str,
    arguments: Value,
) -> (Value, Vec<Value>) {
    let message = crate::drafts::message(&[(tool, arguments)]);
    let lines = onyx.chat_stream(&json!({"message": message})).await;
    let lines = events_of(onyx, &lines[0]).await;
    let result = lines.iter().find(|event| event["type"] == "tool_result");
    let result = result.unwrap_or_else(|| panic!("no result among {lines:#?}")).clone();
    (result, lines)
}

pub(crate) fn output(result: &Value) -> &str {
    result["output"].as_str().unwrap()
}

/// The names of the tools that the last request offered.
fn offered(model: &ScriptedModel) -> Vec<String> {
    let body = model.last_request().body;
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}
