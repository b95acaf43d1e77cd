//! What MCP clients find besides tools, and how their person is asked for an approval.

use onyx_test_support::{OnyxProcess, Reply};
use reqwest::Method;
use serde_json::{Value, json};

use super::obedient;
use crate::builder;
use crate::drafts::suggesting;

/// A request of the protocol without a handshake, from a client that can ask its person.
async fn ask(onyx: &OnyxProcess, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    onyx.post("/mcp", &message).await.expect(200).json()
}

#[tokio::test]
async fn files_and_conversations_are_resources() {
    let model = obedient().await;
    let onyx = builder(&model)
        .file("people/owner/vault/Zürich.md", "# Lake\n\nblue\n")
        .file("people/owner/vault/a.md", "one\n")
        .start()
        .await;
    let _ = onyx.chat_stream(&json!({"message": "hello there"})).await;
    let listed = ask(&onyx, "resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap();
    let lake = resources.iter().find(|it| it["name"] == "vault/Zürich.md").unwrap();
    let uri = lake["uri"].as_str().unwrap();
    assert_eq!(uri, "onyx://files/vault/Z%C3%BCrich.md");
    let read = ask(&onyx, "resources/read", json!({"uri": uri})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "# Lake\n\nblue\n", "{read}");
    assert_eq!(read["result"]["cacheScope"], "private");
    let conversation =
        resources.iter().find(|it| it["uri"].as_str().unwrap().starts_with("onyx://sessions/"));
    let conversation = conversation.unwrap()["uri"].as_str().unwrap();
    let read = ask(&onyx, "resources/read", json!({"uri": conversation})).await;
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("hello there"), "{text}");
    let typed = json!({"ref": {"type": "ref/resource", "uri": "onyx://files/{+path}"},
        "argument": {"name": "path", "value": "vault/Z"}});
    let completed = ask(&onyx, "completion/complete", typed).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["vault/Zürich.md"]));
    for uri in ["onyx://files/vault/none.md", "onyx://files/../../onyx.json", "file:///etc/passwd"]
    {
        let missing = ask(&onyx, "resources/read", json!({"uri": uri})).await;
        assert_eq!(missing["error"]["code"], -32602, "{missing}");
        assert_eq!(missing["error"]["data"]["uri"], uri);
    }
}

#[tokio::test]
async fn actions_are_prompts() {
    let model = obedient().await;
    let action = "---\nlabel: Shorten\n---\nShorten this: {{selection}}\n";
    let onyx =
        builder(&model).file("people/owner/vault/agent/actions/shorten.md", action).start().await;
    let listed = ask(&onyx, "prompts/list", json!({})).await;
    let prompt = &listed["result"]["prompts"][0];
    assert_eq!(prompt["name"], "shorten", "{listed}");
    assert_eq!(prompt["arguments"][0]["name"], "selection");
    let wanted = json!({"name": "shorten", "arguments": {"selection": "a long text"}});
    let got = ask(&onyx, "prompts/get", wanted).await;
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Shorten this: a long text"), "{got}");
    let missing = ask(&onyx, "prompts/get", json!({"name": "none"})).await;
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
}

#[tokio::test]
async fn a_person_is_asked_through_their_client_and_their_answer_counts_once() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let file = onyx.home().join("people/owner/vault/new.md");
    let call = json!({"name": "write_file", "arguments": {"path": "new.md", "content": "hi"}});
    let asked = ask(&onyx, "tools/call", call.clone()).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["approve"];
    assert_eq!(question["method"], "elicitation/create", "{asked}");
    assert!(question["params"]["message"].as_str().unwrap().contains("new.md"), "{asked}");
    assert!(!file.exists());
    let answer = |state: &Value, arguments: &Value, approve: bool| {
        let given = json!({"approve": {"action": "accept", "content": {"approve": approve}}});
        json!({"name": "write_file", "arguments": arguments, "inputResponses": given,
            "requestState": state})
    };
    // The approval covers only the call that was asked about.
    let other = json!({"path": "other.md", "content": "evil"});
    let refused = ask(&onyx, "tools/call", answer(&asked["requestState"], &other, true)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let changed = format!("{}x", asked["requestState"].as_str().unwrap());
    let refused = ask(&onyx, "tools/call", answer(&json!(changed), &call["arguments"], true)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(!file.exists());
    let yes = answer(&asked["requestState"], &call["arguments"], true);
    let done = ask(&onyx, "tools/call", yes.clone()).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hi");
    std::fs::write(&file, "mine").unwrap();
    let again = ask(&onyx, "tools/call", yes).await;
    assert_eq!(again["result"]["isError"], true, "a second yes does nothing: {again}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    // After a rejection no draft is left.
    let call = json!({"name": "write_file", "arguments": {"path": "no.md", "content": "x"}});
    let asked = ask(&onyx, "tools/call", call.clone()).await["result"].clone();
    let no = answer(&asked["requestState"], &call["arguments"], false);
    let _ = ask(&onyx, "tools/call", no).await;
    assert!(!onyx.home().join("people/owner/vault/no.md").exists());
    let drafts = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    assert_eq!(drafts["drafts"], json!([]), "{drafts}");
}

#[tokio::test]
async fn a_session_is_kept_until_it_is_ended() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}});
    let opened = onyx.post("/mcp", &hello).await;
    let session = opened.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let with = |method: Method, session: &str| {
        onyx.client().request(method, "/mcp").header("mcp-session-id", session.to_owned())
    };
    let _ = Reply::of(with(Method::POST, &session).json(&list)).await.expect(200);
    let _ = Reply::of(with(Method::POST, "another").json(&list)).await.expect(404);
    let _ = Reply::of(with(Method::DELETE, &session)).await.expect(204);
    let _ = Reply::of(with(Method::POST, &session).json(&list)).await.expect(404);
}
