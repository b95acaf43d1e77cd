//! Calls that take long: the client gets a handle and asks again later.

use std::time::Duration;

use onyx_test_support::{OnyxBuilder, Reply, ScriptedModel, wait_for};
use serde_json::{Value, json};

use super::obedient;
use crate::attack::members::member;
use crate::builder;

fn patient(model: &ScriptedModel) -> OnyxBuilder {
    builder(model).merge(json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "act", "tools": {"commands": [["sleep"]]}},
    ]}}))
}

fn request(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":
            {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn sleeping(seconds: &str) -> Value {
    json!({"name": "exec", "arguments": {"argv": ["sleep", seconds]}})
}

#[tokio::test]
async fn a_call_that_takes_long_becomes_a_task_that_only_its_caller_can_ask_for() {
    let model = obedient().await;
    let onyx = patient(&model).start().await;
    let ask = async |method: &str, params: Value| {
        onyx.post("/mcp", &request(method, params)).await.expect(200).json()["result"].clone()
    };
    let found = ask("server/discover", json!({})).await;
    assert!(found["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    let quick = json!({"name": "list_files", "arguments": {}});
    assert_eq!(ask("tools/call", quick).await["resultType"], "complete");
    let task = ask("tools/call", sleeping("6")).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
    let which = json!({"taskId": task["taskId"]});
    let shown = ask("tasks/get", which.clone()).await;
    assert_eq!((&shown["resultType"], &shown["status"]), (&json!("complete"), &json!("working")));
    // Another person can neither read the task nor cancel it.
    let anna = member(&onyx).await;
    for method in ["tasks/get", "tasks/cancel"] {
        let asked =
            anna.request(reqwest::Method::POST, "/mcp").json(&request(method, which.clone()));
        let refused = Reply::of(asked).await.expect(200).json();
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let over = wait_for("the end of the task", Duration::from_secs(60), async || {
        let shown = ask("tasks/get", which.clone()).await;
        (shown["status"] != "working").then_some(shown)
    })
    .await;
    assert_eq!(over["status"], "completed", "{over}");
    assert_eq!(over["result"]["isError"], false, "{over}");
}

#[tokio::test]
async fn a_cancelled_task_ends_its_command() {
    let model = obedient().await;
    let onyx = patient(&model).start().await;
    let ask = async |method: &str, params: Value| {
        onyx.post("/mcp", &request(method, params)).await.expect(200).json()["result"].clone()
    };
    let task = ask("tools/call", sleeping("1234")).await;
    let which = json!({"taskId": task["taskId"]});
    ask("tasks/cancel", which.clone()).await;
    assert_eq!(ask("tasks/get", which.clone()).await["status"], "cancelled");
    wait_for("the command's end", Duration::from_secs(30), async || {
        let lists = std::fs::read_dir("/proc").unwrap().flatten();
        let runs = lists.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        (!runs.into_iter().any(|line| line == b"sleep\x001234\0")).then_some(())
    })
    .await;
    // A client without support for tasks gets none.
    let mut plain = request("tools/call", sleeping("4"));
    plain["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let waited = onyx.post("/mcp", &plain).await.expect(200).json();
    assert_eq!(waited["result"]["resultType"], "complete", "{waited}");
}
