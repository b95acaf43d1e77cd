//! What lasts a short time is known at every gateway: stored responses, codes of programs, sessions of
//! MCP clients, chats of `useChat`, keys of messages.

use std::time::Duration;

use futures::future::join_all;
use onyx_test_support::{
    Answer, DEFAULT_TOKEN, OnyxProcess, Reply, Script, ScriptedModel, Step, wait_for,
};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::queues::companion;
use super::together::two;
use super::{gateway, place};
use crate::drafts::obedient;
use crate::ws::Client;
use crate::{SOON, stranger};

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/api/v1/chat";

/// The gateways in turn.
fn either<'a>(n: usize, one: &'a OnyxProcess, two: &'a OnyxProcess) -> &'a OnyxProcess {
    if n.is_multiple_of(2) { one } else { two }
}

#[tokio::test]
async fn a_response_of_one_is_gone_on_with_and_deleted_at_the_other() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let body = json!({"model": "mine/some-model", "input": "my name is Ann"});
    let first = one.post(RESPONSES, &body).await.expect(200).json();
    let id = first["id"].as_str().unwrap();
    let path = format!("{RESPONSES}/{id}");
    assert_eq!(two.get(&path).await.expect(200).json(), first);
    let more =
        json!({"model": "mine/some-model", "input": "who am I?", "previous_response_id": id});
    let _ = two.post(RESPONSES, &more).await.expect(200);
    let asked = model.last_request().body["messages"].to_string();
    assert!(asked.contains("my name is Ann") && asked.contains("who am I?"), "{asked}");
    let _ = two.delete(&path).await.expect(200);
    let _ = one.get(&path).await.expect(404);
    let refused = one.post(RESPONSES, &more).await.expect(404).json();
    assert_eq!(refused["error"]["param"], "previous_response_id", "{refused}");
}

#[tokio::test]
async fn a_conversation_of_responses_grows_at_both() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let made = one.post("/v1/conversations", &json!({})).await.expect(200).json();
    let id = made["id"].as_str().unwrap();
    for (onyx, words) in [(&one, "first"), (&two, "second"), (&one, "third")] {
        let body = json!({"model": "mine/some-model", "input": words, "conversation": id});
        let _ = onyx.post(RESPONSES, &body).await.expect(200);
    }
    let asked = model.last_request().body["messages"].to_string();
    assert!(asked.contains("first") && asked.contains("second"), "{asked}");
    let items = two.get(&format!("/v1/conversations/{id}/items")).await.expect(200).json();
    assert_eq!(items["data"].as_array().unwrap().len(), 6, "{items}");
}

/// A program that signs in with OAuth.
struct Program {
    client: String,
}

const BACK: &str = "http://127.0.0.1:9/cb";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

impl Program {
    async fn register(onyx: &OnyxProcess) -> Self {
        let wish = json!({"client_name": "T", "redirect_uris": [BACK]});
        let asked = stranger().post(onyx.url("/oauth/register")).json(&wish);
        let made = Reply::of(asked).await.expect(201).json();
        Self { client: made["client_id"].as_str().unwrap().to_owned() }
    }

    /// The code that the program gets when its person agrees at this gateway.
    async fn code(&self, onyx: &OnyxProcess) -> String {
        let asked = json!({"response_type": "code", "client_id": self.client, "redirect_uri": BACK,
            "code_challenge": CHALLENGE, "code_challenge_method": "S256", "scope": "read"});
        let agreed = onyx.post("/api/oauth/authorize", &asked).await.expect(200).json();
        let back = agreed["redirect"].as_str().unwrap().to_owned();
        onyx_mcp::oauth::pairs(back.split_once('?').unwrap().1).remove(0).1
    }

    async fn redeem(&self, onyx: &OnyxProcess, code: &str, verifier: &str) -> Reply {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.client),
            ("redirect_uri", BACK),
            ("code_verifier", verifier),
        ];
        let request = stranger().post(onyx.url("/oauth/token"));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        Reply::of(request.body(onyx_mcp::oauth::form(&fields))).await
    }
}

#[tokio::test]
async fn a_code_of_one_is_redeemed_at_the_other_and_of_all_who_try_at_once_one_gets_tokens() {
    let model = ScriptedModel::start().await;
    let (place, one, two) = two(&model).await;
    let program = Program::register(&one).await;
    let code = program.code(&one).await;
    let stored = "SELECT string_agg(kind || key || value, '') FROM pending_entries";
    let stored: String = place.sql().await.query_one(stored, &[]).await.unwrap().get(0);
    assert!(!stored.contains(&code), "the code itself is stored nowhere");
    let tokens = program.redeem(&two, &code, VERIFIER).await.expect(200).json();
    assert_eq!(tokens["scope"], "read", "{tokens}");
    let token = tokens["access_token"].as_str().unwrap();
    for onyx in [&one, &two] {
        let read = stranger().get(onyx.url("/v1/sessions")).bearer_auth(token);
        let _ = Reply::of(read).await.expect(200);
    }
    let again = program.redeem(&one, &code, VERIFIER).await.expect(400).json();
    assert_eq!(again["error"], "invalid_grant", "it was used at the other");
    for _ in 0..5 {
        let code = program.code(&two).await;
        let tries = (0..8).map(|n| program.redeem(either(n, &one, &two), &code, VERIFIER));
        let answers = join_all(tries).await;
        let mut answers: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        answers.sort_unstable();
        assert_eq!(answers, [200, 400, 400, 400, 400, 400, 400, 400]);
    }
    let code = program.code(&one).await;
    let _ = program.redeem(&two, &code, "a guess").await.expect(400);
    let _ = program.redeem(&one, &code, VERIFIER).await.expect(400);
}

/// Sends a message of an MCP client, perhaps in a session.
async fn mcp(onyx: &OnyxProcess, session: Option<&str>, message: &Value) -> Response {
    let request = onyx.request(Method::POST, "/mcp").json(message);
    let request = request.header("accept", "application/json, text/event-stream");
    let request = match session {
        Some(session) => request.header("mcp-session-id", session),
        None => request,
    };
    request.send().await.unwrap()
}

/// Begins a session of a client that can ask its person.
async fn begin(onyx: &OnyxProcess) -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let begun = mcp(onyx, None, &hello).await;
    begun.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

/// The next message of a stream of events.
async fn event(stream: &mut Response, text: &mut String) -> Value {
    loop {
        if let Some((frame, rest)) = text.split_once("\n\n") {
            let data = frame.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            let message = serde_json::from_str(data).unwrap();
            *text = rest.to_owned();
            return message;
        }
        let more = stream.chunk().await.unwrap().unwrap_or_else(|| panic!("it ended: {text}"));
        text.push_str(std::str::from_utf8(&more).unwrap());
    }
}

#[tokio::test]
async fn a_session_of_an_mcp_client_that_began_at_one_works_and_ends_at_the_other() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    let session = begin(&one).await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}});
    let listed = mcp(&two, Some(&session), &list).await;
    assert_eq!(listed.status(), 200);
    let listed: Value = listed.json().await.unwrap();
    assert!(
        listed["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
        "{listed}"
    );
    let ended = two.request(Method::DELETE, "/mcp").header("mcp-session-id", &session);
    assert_eq!(ended.send().await.unwrap().status(), 204);
    assert_eq!(mcp(&one, Some(&session), &list).await.status(), 404, "it ended at the other");
}

#[tokio::test]
async fn a_question_of_a_call_at_one_is_answered_through_the_other() {
    let (place, model) = (place().await, obedient().await);
    let suggesting = |id: &str| {
        gateway(&place, id, &model).merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
        ]}}))
    };
    let (one, two) = tokio::join!(suggesting("one").start(), suggesting("two").start());
    let session = begin(&one).await;
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params":
        {"name": "write_file", "arguments": {"path": "new.md", "content": "hi"}}});
    let mut stream = mcp(&one, Some(&session), &call).await;
    let mut text = String::new();
    let question = event(&mut stream, &mut text).await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let yes = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"approve": true}}});
    assert_eq!(mcp(&two, Some(&session), &yes).await.status(), 202);
    let done = event(&mut stream, &mut text).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
}

#[tokio::test]
async fn a_round_of_a_call_without_a_session_goes_on_at_the_other() {
    let (place, model) = (place().await, obedient().await);
    let suggesting = |id: &str| {
        gateway(&place, id, &model).merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
        ]}}))
    };
    let (one, two) = tokio::join!(suggesting("one").start(), suggesting("two").start());
    let call = async |onyx: &OnyxProcess, more: Value| {
        let mut params = json!({"name": "write_file", "arguments": {"path": "new.md", "content": "hi"},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        onyx.post("/mcp", &message).await.expect(200).json()["result"].clone()
    };
    let asked = call(&one, json!({})).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let given = json!({"approve": {"action": "accept", "content": {"approve": true}}});
    let answered = json!({"requestState": asked["requestState"], "inputResponses": given});
    let done = call(&two, answered).await;
    assert_eq!(done["isError"], false, "{done}");
}

#[tokio::test]
async fn a_task_of_one_is_shown_and_cancelled_through_the_other() {
    let (place, model) = (place().await, obedient().await);
    let patient = |id: &str| {
        gateway(&place, id, &model).merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "act",
                "tools": {"commands": [["sleep"]]}},
        ]}}))
    };
    let (one, two) = tokio::join!(patient("one").start(), patient("two").start());
    let ask = async |onyx: &OnyxProcess, method: &str, mut params: Value| {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":
                {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        onyx.post("/mcp", &message).await.expect(200).json()["result"].clone()
    };
    let sleeping =
        |seconds: &str| json!({"name": "exec", "arguments": {"argv": ["sleep", seconds]}});
    let short = ask(&one, "tools/call", sleeping("6")).await;
    let short = json!({"taskId": short["taskId"]});
    assert_eq!(ask(&two, "tasks/get", short.clone()).await["status"], "working");
    let over = wait_for("the end of the task", Duration::from_secs(60), async || {
        let shown = ask(&two, "tasks/get", short.clone()).await;
        (shown["status"] != "working").then_some(shown)
    })
    .await;
    assert_eq!((&over["status"], &over["result"]["isError"]), (&json!("completed"), &json!(false)));
    assert_eq!(ask(&one, "tasks/get", short).await["result"], over["result"]);
    let long = ask(&one, "tools/call", sleeping("1234")).await;
    let long = json!({"taskId": long["taskId"]});
    ask(&two, "tasks/cancel", long.clone()).await;
    assert_eq!(ask(&two, "tasks/get", long.clone()).await["status"], "cancelled");
    assert_eq!(ask(&one, "tasks/get", long).await["status"], "cancelled");
}

fn submit(messages: &[&str]) -> Value {
    let message = |words: &&str| json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": words}]});
    let messages: Vec<Value> = messages.iter().map(message).collect();
    json!({"id": "chat-1", "agent": "main", "trigger": "submit-message", "messages": messages})
}

async fn reads(stream: &mut Response, words: &str) {
    let mut text = String::new();
    while !text.contains(words) {
        let chunk = stream.chunk().await.unwrap().unwrap_or_else(|| panic!("it ended: {text}"));
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

#[tokio::test]
async fn a_chat_of_one_goes_on_at_the_other_in_the_same_session() {
    let model =
        ScriptedModel::with_answers([Answer::text("First."), Answer::text("Second.")]).await;
    let (_place, one, two) = two(&model).await;
    let first = one.post(CHAT, &submit(&["begin"])).await.expect(200);
    let second = two.post(CHAT, &submit(&["begin", "go on"])).await.expect(200);
    let session = |reply: &Reply| reply.headers["x-onyx-session-id"].to_str().unwrap().to_owned();
    assert_eq!(session(&first), session(&second));
    assert_eq!(one.history(&session(&first)).await.len(), 4);
}

#[tokio::test]
async fn a_chat_is_rejoined_at_the_other_and_stopped_when_nobody_reads_it_at_either() {
    let hanging = Script::new([Step::Text("Hel".into()), Step::Hang]);
    let model = ScriptedModel::with_answers([hanging]).await;
    let (_place, one, two) = two(&model).await;
    let open = one.request(Method::POST, CHAT).json(&submit(&["hi"])).send();
    let mut first = open.await.unwrap();
    reads(&mut first, "Hel").await;
    let rejoin = two.request(Method::GET, &format!("{CHAT}/chat-1/stream")).send();
    let mut second = rejoin.await.unwrap();
    assert_eq!(second.status(), 200);
    reads(&mut second, "Hel").await;
    drop(first);
    // Longer than a run goes on without a reader.
    let stopped = async || (model.abandoned() == 1).then_some(());
    let early = tokio::time::timeout(Duration::from_secs(11), async {
        while stopped().await.is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert!(early.await.is_err(), "it is read at the other");
    drop(second);
    wait_for("the run to be stopped", Duration::from_secs(30), stopped).await;
}

#[tokio::test]
async fn a_message_with_a_key_is_sent_once_by_the_sockets_of_both() {
    let model = ScriptedModel::start().await;
    model.set_default(Answer::text("ok"));
    let (_place, one, two) = two(&model).await;
    let (mut left, mut right) = tokio::join!(
        Client::with_token(&one, DEFAULT_TOKEN),
        Client::with_token(&two, DEFAULT_TOKEN)
    );
    for round in 0..5 {
        let data = json!({"message": "once", "key": format!("k{round}")});
        let (first, repeat) =
            tokio::join!(left.ask("chat.send", data.clone()), right.ask("chat.send", data.clone()));
        assert_eq!(first["data"]["runId"], repeat["data"]["runId"], "{first} {repeat}");
        assert!(first["data"]["runId"].is_string(), "{first}");
        let late = right.ask("chat.send", data).await;
        assert_eq!(late["data"], first["data"]);
    }
    wait_for("all answers", SOON, async || (model.requests().len() == 5).then_some(())).await;
}

#[tokio::test]
async fn a_message_under_one_idempotency_key_is_kept_once_by_both() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let path = format!("{}/messages", companion(&one).await);
    let send = async |onyx: &OnyxProcess, key: &str, content: &str| {
        let request = onyx.request(Method::POST, &path).header("idempotency-key", key);
        Reply::of(request.json(&json!({"content": content}))).await
    };
    for round in 0..5 {
        let key = format!("k{round}");
        let sends = (0..6).map(|n| send(either(n, &one, &two), &key, "hi"));
        let kept: Vec<Value> =
            join_all(sends).await.into_iter().map(|reply| reply.expect(201).json()).collect();
        assert!(kept.iter().all(|message| *message == kept[0]), "{kept:?}");
        assert_eq!(send(&two, &key, "something else").await.status, 400);
    }
    let page = two.get(&path).await.expect(200).json();
    assert_eq!(page["messages"].as_array().unwrap().len(), 5, "{page}");
}
