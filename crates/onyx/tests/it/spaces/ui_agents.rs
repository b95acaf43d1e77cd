//! `/api/v1/chat` with an agent, in the shapes that `useChat` sends.

use std::time::Duration;

use onyx_test_support::{
    Answer, DEFAULT_TOKEN, OnyxProcess, Reply, Script, ScriptedCall, ScriptedModel, Step, wait_for,
};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::house;

const CHAT: &str = "/api/v1/chat";

/// The parts of a whole stream.
fn parts(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.headers["x-vercel-ai-ui-message-stream"], "v1");
    let text = reply.text();
    let mut frames: Vec<&str> = text.split_terminator("\n\n").collect();
    assert_eq!(frames.pop(), Some("data: [DONE]"), "{text}");
    let part = |frame: &&str| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap();
    frames.iter().map(part).collect()
}

fn kinds(parts: &[Value]) -> Vec<&str> {
    parts.iter().map(|part| part["type"].as_str().unwrap()).collect()
}

fn said(words: &str) -> Value {
    json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": words}]})
}

fn submit(chat: &str, messages: &Value) -> Value {
    json!({"id": chat, "agent": "main", "trigger": "submit-message", "messages": messages})
}

fn calls(id: &str, tool: &str, input: &Value) -> Answer {
    Answer::tool_calls([ScriptedCall::new(id, tool, input)])
}

#[tokio::test]
async fn an_agent_shows_its_tools_and_its_session_keeps_what_is_said() {
    let (model, onyx) = house().await;
    model.push(calls("call_1", "write_file", &json!({"path": "a.md", "content": "mauve"})));
    model.push("It is noted.");
    let reply = onyx.post(CHAT, &submit("chat-1", &json!([said("keep this")]))).await;
    let told = parts(&reply);
    let expected = [
        "start",
        "start-step",
        "tool-input-available",
        "tool-output-available",
        "finish-step",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
    ];
    assert_eq!(kinds(&told), expected, "{told:#?}");
    assert_eq!(told[2]["toolName"], "write_file");
    assert_eq!((&told[2]["dynamic"], &told[2]["providerExecuted"]), (&json!(true), &json!(true)));
    assert_eq!(told[3]["toolCallId"], told[2]["toolCallId"]);
    let session = told[0]["messageMetadata"]["sessionId"].as_str().unwrap();
    assert_eq!(reply.headers["x-onyx-session-id"], *session);
    assert_eq!(told[0]["messageId"], told[0]["messageMetadata"]["runId"]);

    // The session holds the earlier messages, so only new ones are read from the request.
    model.push("Twice.");
    let answer = json!({"id": told[0]["messageId"], "role": "assistant", "parts": [],
        "metadata": {"sessionId": session}});
    let more = submit("another-name", &json!([said("keep this"), answer, said("and this")]));
    let again = parts(&onyx.post(CHAT, &more).await);
    assert_eq!(again[0]["messageMetadata"]["sessionId"], session);
    let asked = model.last_request().body["messages"].to_string();
    assert_eq!(asked.matches("keep this").count(), 1, "{asked}");
    let listed = onyx.get("/v1/sessions").await.expect(200).json();
    assert_eq!(listed["sessions"][0]["id"], session);
}

#[tokio::test]
async fn a_chat_whose_session_was_deleted_begins_another_one() {
    let (model, onyx) = house().await;
    model.set_default(Answer::text("ok"));
    let session = async || {
        let told = parts(&onyx.post(CHAT, &submit("chat-1", &json!([said("hi")]))).await);
        told[0]["messageMetadata"]["sessionId"].as_str().unwrap().to_owned()
    };
    let first = session().await;
    assert_eq!(session().await, first, "it goes on in its session");
    let _ = onyx.delete(&format!("/v1/sessions/{first}")).await.expect(204);
    assert_ne!(session().await, first);
}

/// Asks to delete a file and reads up to the approval request.
async fn up_to_the_question(model: &ScriptedModel, onyx: &OnyxProcess) -> Vec<Value> {
    model.push(calls("call_1", "write_file", &json!({"path": "a.md", "content": "mauve"})));
    model.push(calls("call_2", "delete_file", &json!({"path": "a.md"})));
    model.push("That is over.");
    let told = parts(&onyx.post(CHAT, &submit("chat-2", &json!([said("throw it away")]))).await);
    let end = ["tool-input-available", "tool-approval-request", "finish-step", "finish"].as_slice();
    assert!(kinds(&told).ends_with(end), "{told:#?}");
    told
}

/// The message in which a person has answered the approval request.
fn answered(told: &[Value], approved: bool) -> Value {
    let asked = told.iter().find(|part| part["type"] == "tool-approval-request").unwrap();
    let part = json!({"type": "dynamic-tool", "toolName": "delete_file", "input": {},
        "toolCallId": asked["toolCallId"], "state": "approval-responded",
        "approval": {"id": asked["approvalId"], "approved": approved}});
    json!({"id": told[0]["messageId"], "role": "assistant", "parts": [part],
        "metadata": told[0]["messageMetadata"]})
}

#[tokio::test]
async fn a_question_ends_the_stream_and_its_answer_goes_on_in_the_same_message() {
    for (approved, outcome) in [(true, "tool-output-available"), (false, "tool-output-denied")] {
        let (model, onyx) = house().await;
        let told = up_to_the_question(&model, &onyx).await;
        let file = onyx.home().join("people/owner/vault/a.md");
        assert!(file.exists());
        let asked = submit("chat-2", &json!([said("throw it away"), answered(&told, approved)]));
        let rest = parts(&onyx.post(CHAT, &asked).await);
        let expected = [
            "start",
            outcome,
            "finish-step",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish",
        ];
        assert_eq!(kinds(&rest), expected, "{rest:#?}");
        assert_eq!(rest[0]["messageId"], told[0]["messageId"]);
        assert_eq!(rest[1]["toolCallId"], told[told.len() - 4]["toolCallId"]);
        assert_eq!(file.exists(), !approved);
    }
}

async fn open(onyx: &OnyxProcess, method: Method, path: &str, body: Option<&Value>) -> Response {
    let request = onyx.request(method, path);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    request.send().await.unwrap()
}

async fn reads(stream: &mut Response, words: &str) {
    let mut text = String::new();
    while !text.contains(words) {
        let chunk = stream.chunk().await.unwrap().unwrap_or_else(|| panic!("it ended: {text}"));
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

#[tokio::test]
async fn a_run_is_rejoined_from_its_beginning_and_stopped_when_nobody_reads_it() {
    let (model, onyx) = house().await;
    let nothing = onyx.get("/api/v1/chat/chat-3/stream").await;
    assert_eq!(nothing.status, 204);
    model.push(Script::new([Step::Text("Hel".into()), Step::Hang]));
    let asked = submit("chat-3", &json!([said("hi")]));
    let mut first = open(&onyx, Method::POST, CHAT, Some(&asked)).await;
    reads(&mut first, "Hel").await;
    let busy = submit("chat-3", &json!([said("hi"), said("more")]));
    let _ = onyx.post(CHAT, &busy).await.expect(409);
    let mut second = open(&onyx, Method::GET, "/api/v1/chat/chat-3/stream", None).await;
    assert_eq!(second.status(), 200);
    reads(&mut second, "Hel").await;
    drop(first);
    assert_eq!((model.answering(), model.abandoned()), (1, 0));
    drop(second);
    let limit = Duration::from_secs(30);
    wait_for("the provider's answer to be dropped", limit, async || {
        (model.abandoned() == 1).then_some(())
    })
    .await;
}

/// Some clients send a body with every request, even a GET.
#[tokio::test]
async fn whoever_leaves_is_noticed_though_a_get_had_a_body_that_came_late() {
    let (model, onyx) = house().await;
    model.push(Script::new([Step::Text("Hel".into()), Step::Hang]));
    let mut first =
        open(&onyx, Method::POST, CHAT, Some(&submit("late", &json!([said("hi")])))).await;
    reads(&mut first, "Hel").await;
    let host = onyx.base_url().trim_start_matches("http://");
    let mut second = TcpStream::connect(host).await.unwrap();
    second.set_nodelay(true).unwrap();
    let head = format!(
        "GET {CHAT}/late/stream HTTP/1.1\r\nhost: {host}\r\n\
         authorization: Bearer {DEFAULT_TOKEN}\r\ncontent-length: 4\r\n\r\n"
    );
    second.write_all(head.as_bytes()).await.unwrap();
    let mut text = vec![0; 4096];
    // Without a wait for the body, the answer would have begun by then.
    let early = timeout(Duration::from_secs(1), second.read(&mut text)).await;
    assert!(early.is_err(), "answered before the body came");
    second.write_all(b"null").await.unwrap();
    let mut told = String::new();
    while !told.contains("Hel") {
        let size = second.read(&mut text).await.unwrap();
        assert!(size > 0, "it ended: {told}");
        told += std::str::from_utf8(&text[..size]).unwrap();
    }
    drop((first, second));
    let limit = Duration::from_secs(30);
    wait_for("the provider's answer to be dropped", limit, async || {
        (model.abandoned() == 1).then_some(())
    })
    .await;
    let too_much = onyx.request(Method::GET, "/health").body("x".repeat(65 * 1024));
    let refused = Reply::of(too_much).await.expect(413).json();
    assert_eq!(refused["code"], "too_large");
}

#[tokio::test]
async fn what_an_agent_cannot_be_told_is_refused_or_named() {
    let (model, onyx) = house().await;
    for (field, value) in [
        ("agent", json!("nobody")),
        ("systemPrompt", json!("Obey.")),
        ("sessionId", json!("00000000-0000-7000-8000-000000000000")),
    ] {
        let mut body = submit("chat-4", &json!([said("hi")]));
        body[field] = value;
        let refused = onyx.post(CHAT, &body).await;
        assert!((400..500).contains(&refused.status), "{field}: {}", refused.text());
    }
    assert_eq!(model.request_count(), 0);
    let answered = json!([said("hi"), {"id": "a", "role": "assistant", "parts": []}]);
    let _ = onyx.post(CHAT, &submit("chat-4", &answered)).await.expect(400);
    let mut body = submit("chat-4", &json!([said("hi")]));
    body["temperature"] = json!(0.5);
    let reply = onyx.post(CHAT, &body).await.expect(200);
    assert_eq!(reply.headers["x-onyx-ignored-fields"], "temperature");
}
