//! Personas over HTTP: storage, test inputs, and the agent that edits them.

mod editor;
mod safety;
mod storage;

use onyx_test_support::{Answer, OnyxProcess, Reply, ScriptedCall, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use crate::builder;

const PERSONA: &str = "/api/storage/personas/optimist";

/// A server with two personas, one of which is edited.
async fn house() -> (ScriptedModel, OnyxProcess) {
    house_of(ScriptedModel::start().await).await
}

async fn house_of(model: ScriptedModel) -> (ScriptedModel, OnyxProcess) {
    let onyx = builder(&model)
        .merge(json!({"people": ["anna"], "agents": {
            "defaults": {"model": "mine/some-model"},
            "list": [
                {"id": "main", "default": true, "tier": "act"},
                {"id": "optimist", "name": "Optimist", "tier": "act"},
            ],
        }}))
        .file("agents/optimist/SOUL.md", "You see the good in everything.")
        .file("agents/optimist/tests/math.md", "What is 2+2?")
        .start()
        .await;
    (model, onyx)
}

fn call(tool: &str, input: &Value) -> Answer {
    Answer::tool_calls([ScriptedCall::new(format!("call-{tool}"), tool, input)])
}

/// The events of an answer in server-sent events; every frame is one `data:` line.
pub(crate) fn events_of(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.headers["content-type"], "text/event-stream");
    let text = reply.text();
    let frames = text.split_terminator("\n\n");
    frames
        .map(|frame| {
            let data = frame.strip_prefix("data: ").expect("data lines only");
            assert!(!data.contains('\n'), "{frame}");
            serde_json::from_str(data).unwrap()
        })
        .collect()
}

async fn ask(onyx: &OnyxProcess, message: &str) -> Vec<Value> {
    let body = json!({"personaId": "optimist", "message": message});
    events_of(&onyx.post("/api/persona-agent/chat", &body).await)
}

async fn turns(onyx: &OnyxProcess) -> Vec<Value> {
    let history = onyx.get("/api/persona-agent/history?personaId=optimist").await.expect(200);
    history.json()["turns"].as_array().unwrap().clone()
}

async fn persona(onyx: &OnyxProcess) -> Value {
    onyx.get(PERSONA).await.expect(200).json()
}

async fn send(onyx: &OnyxProcess, method: Method, path: &str, body: &Value) -> Reply {
    Reply::of(onyx.request(method, path).json(body)).await
}

fn kinds(values: &[Value]) -> Vec<&str> {
    values.iter().map(|value| value["type"].as_str().unwrap()).collect()
}

/// The types of the events in order, without the pieces of text.
fn steps(events: &[Value]) -> Vec<&str> {
    let mut kinds = kinds(events);
    kinds.retain(|kind| *kind != "text_delta");
    kinds
}

/// The output of the first tool, as JSON.
fn first_output(events: &[Value]) -> Value {
    let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
    serde_json::from_str(result["output"].as_str().unwrap()).unwrap()
}
