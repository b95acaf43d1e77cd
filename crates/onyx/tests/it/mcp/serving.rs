use onyx_test_support::{OnyxProcess, Reply};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::obedient;
use crate::drafts::suggesting;
use crate::{builder, command};

async fn rpc(onyx: &OnyxProcess, method: &str, params: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    onyx.post("/mcp", &message).await.expect(200).json()
}

fn stateless(params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[tokio::test]
async fn an_agents_tools_are_listed_and_called_in_both_eras() {
    let model = obedient().await;
    let onyx = builder(&model).file("people/owner/vault/a.md", "my note\n").start().await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
    let opened = rpc(&onyx, "initialize", hello).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let _ = onyx.post("/mcp", &note).await.expect(202);
    let listed = rpc(&onyx, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let read = tools.iter().find(|tool| tool["name"] == "read_file").unwrap();
    assert_eq!(read["inputSchema"]["type"], "object", "{read}");
    assert!(!tools.iter().any(|tool| tool["name"] == "ask_person"), "{listed}");
    let call = json!({"name": "read_file", "arguments": {"path": "a.md"}});
    let read = rpc(&onyx, "tools/call", call.clone()).await;
    assert_eq!(read["result"]["content"][0]["text"], "my note\n", "{read}");
    let found = rpc(&onyx, "server/discover", stateless(json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
    assert_eq!(found["result"]["resultType"], "complete");
    let read = rpc(&onyx, "tools/call", stateless(call)).await;
    assert_eq!(read["result"]["resultType"], "complete", "{read}");
    assert_eq!(read["result"]["content"][0]["text"], "my note\n", "{read}");
}

#[tokio::test]
async fn what_is_wrong_gets_an_answer_of_the_protocol() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    for (message, status, code) in [
        (json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"}), 200, -32601),
        (json!({"jsonrpc": "2.0", "id": 1}), 400, -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}), 200, -32602),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta":
            {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}}),
            400,
            -32022,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": stateless(json!({}))}),
            404,
            -32601,
        ),
    ] {
        let answer = onyx.post("/mcp", &message).await.expect(status).json();
        assert_eq!(answer["error"]["code"], code, "{message}: {answer}");
    }
    let request = onyx.client().request(Method::POST, "/mcp").header("mcp-method", "tools/call");
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": stateless(json!({}))});
    let answer = Reply::of(request.json(&message)).await.expect(400).json();
    assert_eq!(answer["error"]["code"], -32020, "{answer}");
    let _ = onyx.get("/mcp").await.expect(405);
    let request =
        onyx.client().request(Method::POST, "/mcp").header("origin", "http://evil.example");
    let _ = Reply::of(request.json(&message)).await.expect(403);
}

#[tokio::test]
async fn what_needs_a_person_becomes_a_draft_that_the_answer_names() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let call = json!({"name": "write_file", "arguments": {"path": "new.md", "content": "hi"}});
    let answer = rpc(&onyx, "tools/call", call).await;
    let said = answer["result"]["content"].to_string();
    assert!(said.contains("Nothing has been done"), "{answer}");
    let file = onyx.home().join("people/owner/vault/new.md");
    assert!(!file.exists());
    let drafts = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    let id = drafts["drafts"][0]["id"].as_str().unwrap();
    assert!(said.contains(id), "{said}");
    let _ = onyx.post(&format!("/api/pending-changes/{id}/approve"), &json!({})).await.expect(200);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "hi");
}

#[tokio::test]
async fn a_program_speaks_with_it_over_stdio() {
    let model = obedient().await;
    let onyx = builder(&model).file("people/owner/vault/a.md", "my note\n").start().await;
    let mut child = command(&onyx.home(), &["mcp", "serve"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "read_file", "arguments": {"path": "a.md"}}}),
    ];
    for message in messages {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let first: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(first["result"]["protocolVersion"], "2025-06-18", "{first}");
    let second: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(second["result"]["content"][0]["text"], "my note\n", "{second}");
    drop(input);
    assert!(child.wait().await.unwrap().success());
}
