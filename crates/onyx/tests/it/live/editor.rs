//! The persona editor with a real model, case by case of its design. The tests need a model that
//! calls tools, which no package registry offers: `ONYX_LIVE_TOOLS` names a JSON file with
//! `providers` and `agents.defaults.model` for one. Without it the tests print that and do nothing.

use onyx_test_support::{OnyxProcess, Reply};
use serde_json::{Value, json};

use super::{binary, config, link_small_model};
use crate::personas::events_of;

const PERSONA: &str = "/api/storage/personas/optimist";
const PROMPT: &str = "You see the good in everything. Your favourite colour is Zinnober.";

/// A server with a persona to be edited by a model with these settings.
async fn house_of(settings: Value) -> OnyxProcess {
    OnyxProcess::builder()
        .binary(binary())
        .config(config(&json!({})))
        .merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "tier": "act"},
            {"id": "optimist", "name": "Sunny", "tier": "act"},
        ]}}))
        .merge(settings)
        .file("agents/optimist/SOUL.md", PROMPT)
        .file("agents/optimist/tests/math.md", "What is 2+2?")
        .start()
        .await
}

#[allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "whoever runs these names the model, and is told that none was tried"
)]
async fn house() -> Option<OnyxProcess> {
    let Some(file) = std::env::var_os("ONYX_LIVE_TOOLS") else {
        println!("not tried: ONYX_LIVE_TOOLS names no model that calls tools");
        return None;
    };
    let settings = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    Some(house_of(settings).await)
}

async fn ask(onyx: &OnyxProcess, message: &str) -> Vec<Value> {
    let body = json!({"personaId": "optimist", "message": message});
    let events = events_of(&onyx.post("/api/persona-agent/chat", &body).await);
    assert_eq!(events.last().unwrap()["type"], "done", "{events:?}");
    let failed = events.iter().find(|event| event["type"] == "error");
    assert!(failed.is_none(), "{events:?}");
    events
}

fn called(events: &[Value]) -> Vec<&str> {
    let calls = events.iter().filter(|event| event["type"] == "tool_call");
    calls.map(|call| call["toolName"].as_str().unwrap()).collect()
}

fn said(events: &[Value]) -> String {
    let texts = events.iter().filter(|event| event["type"] == "text_complete");
    texts.map(|text| text["content"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

fn kinds(values: &[Value]) -> Vec<&str> {
    values.iter().map(|value| value["type"].as_str().unwrap()).collect()
}

async fn turns(onyx: &OnyxProcess) -> Vec<Value> {
    let history = onyx.get("/api/persona-agent/history?personaId=optimist").await.expect(200);
    history.json()["turns"].as_array().unwrap().clone()
}

async fn persona(onyx: &OnyxProcess) -> Value {
    onyx.get(PERSONA).await.expect(200).json()
}

#[tokio::test]
#[ignore = "make test-live"]
async fn the_small_model_says_that_it_has_no_tools() {
    let onyx = house_of(json!({})).await;
    link_small_model(&onyx).await;
    let body = json!({"personaId": "optimist", "message": "What is this persona's name?"});
    let events = events_of(&onyx.post("/api/persona-agent/chat", &body).await);
    assert_eq!(kinds(&events), ["error", "done"], "{events:?}");
    assert!(events[0]["message"].as_str().unwrap().contains("has no tools"), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn asked_for_the_name_the_editor_looks_it_up() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "Look up this persona and tell me its name.").await;
    assert!(called(&events).contains(&"get_persona"), "{events:?}");
    assert!(said(&events).contains("Sunny"), "{events:?}");
    let call = events.iter().position(|event| event["type"] == "tool_call").unwrap();
    let result = events.iter().position(|event| event["type"] == "tool_result").unwrap();
    let last = events.iter().rposition(|event| event["type"] == "text_complete").unwrap();
    assert!(call < result && result < last, "{events:?}");
    let turns = turns(&onyx).await;
    assert_eq!(turns.first().unwrap()["type"], "user");
    assert_eq!(turns.last().unwrap()["type"], "assistant_text");
    assert!(kinds(&turns).contains(&"tool_result"), "{turns:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn asked_for_the_prompt_the_editor_reads_it() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "Show me the current system prompt.").await;
    assert!(called(&events).contains(&"get_persona"), "{events:?}");
    assert!(said(&events).contains("Zinnober"), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn asked_for_test_inputs_the_editor_lists_them() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "What test inputs do I have?").await;
    assert!(called(&events).contains(&"list_test_inputs"), "{events:?}");
    assert!(said(&events).contains("2+2"), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn told_a_name_the_editor_sets_it() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "Change the name to 'Helpful Assistant'.").await;
    assert!(called(&events).contains(&"update_persona_name"), "{events:?}");
    assert_eq!(persona(&onyx).await["name"], "Helpful Assistant");
    assert!(said(&events).contains("Helpful Assistant"), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn told_to_add_to_the_prompt_the_editor_keeps_the_rest() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "Add 'Be concise' to the system prompt and keep the rest.").await;
    let calls = called(&events);
    let read = calls.iter().position(|call| *call == "get_persona");
    let written = calls.iter().position(|call| *call == "update_system_prompt");
    assert!(read.is_some() && read < written, "{events:?}");
    let prompt = persona(&onyx).await["systemPrompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("Be concise") && prompt.contains("Zinnober"), "{prompt}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn told_a_test_input_the_editor_makes_it() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "Add a test input: 'How does rain feel?'").await;
    assert!(called(&events).contains(&"create_test_input"), "{events:?}");
    let list = onyx.get(&format!("{PERSONA}/test-inputs")).await.expect(200).json();
    assert!(list.to_string().contains("How does rain feel?"), "{list}");
    assert_eq!(persona(&onyx).await["testInputIds"].as_array().unwrap().len(), 2);
}

#[tokio::test]
#[ignore = "make test-live"]
async fn told_to_delete_one_the_editor_finds_and_deletes_it() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "Delete the test input about math.").await;
    let calls = called(&events);
    assert!(calls.contains(&"list_test_inputs"), "{events:?}");
    assert!(calls.contains(&"delete_test_input"), "{events:?}");
    assert_eq!(persona(&onyx).await["testInputIds"], json!([]));
}

#[tokio::test]
#[ignore = "make test-live"]
async fn a_task_of_two_steps_is_done_in_one_turn() {
    let Some(onyx) = house().await else { return };
    let events = ask(&onyx, "Show me all test inputs and add a new one about coding.").await;
    let calls = called(&events);
    let listed = calls.iter().position(|call| *call == "list_test_inputs");
    let made = calls.iter().position(|call| *call == "create_test_input");
    assert!(listed.is_some() && listed < made, "{events:?}");
    let results = turns(&onyx).await.iter().filter(|turn| turn["type"] == "tool_result").count();
    assert_eq!(results, calls.len());
}

#[tokio::test]
#[ignore = "make test-live"]
async fn the_editor_remembers_until_it_is_cleared() {
    let Some(onyx) = house().await else { return };
    ask(&onyx, "My favourite word is plum. Just say that you heard it.").await;
    let events = ask(&onyx, "What is my favourite word? Do not use a tool.").await;
    assert!(said(&events).to_lowercase().contains("plum"), "{events:?}");
    let body = json!({"personaId": "optimist"});
    let cleared = onyx.post("/api/persona-agent/clear", &body).await.expect(200).json();
    assert_eq!(persona(&onyx).await["agentChatSessionId"], cleared["sessionId"]);
    let events = ask(&onyx, "What is my favourite word? Do not use a tool.").await;
    assert!(!said(&events).to_lowercase().contains("plum"), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn a_test_input_that_is_not_there_is_told_so() {
    let Some(onyx) = house().await else { return };
    let ask_for = "Call get_test_input with the id \"nowhere\" and tell me what came of it.";
    let events = ask(&onyx, ask_for).await;
    let failed = events.iter().filter(|event| event["isError"] == json!(true)).count();
    assert_eq!(failed, 1, "{events:?}");
    assert!(!said(&events).is_empty(), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn two_personas_answer_one_message_live() {
    let onyx = house_of(json!({})).await;
    link_small_model(&onyx).await;
    let body = json!({"message": "Say hello.", "agent": "main"});
    let events = onyx.chat_stream(&body).await;
    let session = events[0]["session_id"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}");
    let agents = json!({"agents": ["main", "optimist"]});
    let patch = onyx.request(reqwest::Method::PATCH, &path).json(&agents);
    let _ = Reply::of(patch).await.expect(200);
    let body = json!({"message": "Who are you?", "session_id": session});
    let events = onyx.chat_stream(&body).await;
    assert_eq!(events.last().unwrap()["status"], "done", "{events:?}");
    let answers = onyx.history(session).await;
    let authors: Vec<&Value> = answers.iter().rev().take(2).map(|said| &said["agent"]).collect();
    assert_eq!(authors, ["optimist", "main"], "{answers:?}");
}
