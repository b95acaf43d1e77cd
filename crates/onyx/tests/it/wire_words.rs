//! What a surface shows is typed on the wire: texts for people, the results of calls, context
//! beside a message. Each client gets one spelling of names.

use onyx_test_support::{Answer, OnyxProcess, Reply, ScriptedCall, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use crate::builder;

const ACTIONS: &str = "people/owner/vault/agent/actions";

async fn after_writing(tool: &str, input: Value) -> (OnyxProcess, Vec<Value>) {
    let model = ScriptedModel::start().await;
    model.push(Answer::tool_calls([ScriptedCall::new("c1", tool, &input)]));
    model.push(Answer::text("So."));
    let onyx = builder(&model).file("people/owner/vault/a.md", "one\ntwo\n").start().await;
    let events = onyx.chat_stream(&json!({"message": "do it"})).await;
    (onyx, events)
}

fn one<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events
        .iter()
        .find(|event| event["type"] == kind)
        .unwrap_or_else(|| panic!("{kind}: {events:?}"))
}

/// The turns of the only session.
async fn turns(onyx: &OnyxProcess, camel: bool) -> Vec<Value> {
    let sessions = onyx.get("/v1/sessions").await.expect(200).json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap();
    let path = format!("/v1/sessions/{id}/turns");
    let page = if camel { in_camel_case(onyx, &path).await } else { onyx.get(&path).await };
    page.expect(200).json()["turns"].as_array().unwrap().clone()
}

async fn in_camel_case(onyx: &OnyxProcess, path: &str) -> Reply {
    Reply::of(onyx.request(Method::GET, path).header("x-onyx-names", "camelCase")).await
}

#[tokio::test]
async fn a_call_carries_its_words_and_its_result_what_came_of_it_live_and_in_the_log() {
    let (onyx, events) =
        after_writing("edit_file", json!({"path": "a.md", "old": "two", "new": "2\nthree"})).await;
    let label = &one(&events, "tool_call")["label"];
    assert_eq!(
        label["verb"],
        json!({"plain": "Edit", "wants": "Wants to edit", "doing": "Editing", "did": "Edited",
            "refused": "Was not allowed to edit", "failed": "Could not edit"})
    );
    assert_eq!(label["subject"], "a.md");
    assert_eq!(label["target"], json!({"kind": "file", "name": "a.md"}));
    assert_eq!((&label["change"]["added"], &label["change"]["removed"]), (&json!(2), &json!(1)));
    let report = json!({"state": "done", "effect": "write", "lines": {"added": 2, "removed": 1}});
    assert_eq!(one(&events, "tool_result")["report"], report);

    let turns = turns(&onyx, false).await;
    assert_eq!(one(&turns, "tool_call")["label"], *label);
    assert_eq!(one(&turns, "tool_result")["report"], report);
}

#[tokio::test]
async fn a_call_that_was_refused_says_so_in_a_field_and_not_only_in_words() {
    let (_onyx, events) = after_writing("no_such_tool", json!({})).await;
    let result = one(&events, "tool_result");
    assert_eq!((&result["ok"], &result["report"]["state"]), (&json!(false), &json!("refused")));
}

#[tokio::test]
async fn a_client_is_answered_in_the_spelling_that_it_asks_for_and_content_keeps_its_names() {
    let (onyx, _) =
        after_writing("write_file", json!({"path": "b.md", "content": "x", "made_up": 1})).await;
    let documented = onyx.get("/v1/sessions").await.expect(200);
    assert!(documented.json()["sessions"][0]["message_count"].is_number());
    assert!(documented.headers["vary"].to_str().unwrap().contains("x-onyx-names"));
    let camel = in_camel_case(&onyx, "/v1/sessions").await.expect(200).json();
    assert!(camel["sessions"][0]["messageCount"].is_number(), "{camel}");
    assert!(camel["sessions"][0].get("message_count").is_none(), "{camel}");
    let turns = turns(&onyx, true).await;
    let call = one(&turns, "tool_call");
    assert_eq!(call["toolUseId"], "c1");
    assert_eq!(call["input"]["made_up"], 1);

    let session = camel["sessions"][0]["id"].as_str().unwrap();
    let run_id = one(&turns, "tool_call")["runId"].as_str().unwrap();
    let events = in_camel_case(&onyx, &format!("/api/runs/{run_id}/events")).await.expect(200);
    assert!(events.text().contains(&format!("\"sessionId\":\"{session}\"")), "{}", events.text());
    assert!(!events.text().contains("\"tool_use_id\""), "{}", events.text());

    let wrong = onyx.request(Method::GET, "/v1/sessions").header("x-onyx-names", "kebab-case");
    let wrong = Reply::of(wrong).await.expect(400).json();
    assert_eq!(
        (&wrong["code"], &wrong["field"]),
        (&json!("invalid_request"), &json!("x-onyx-names"))
    );
}

#[tokio::test]
async fn an_action_says_where_it_lies_what_it_would_say_and_what_became_of_it() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .file(
            format!("{ACTIONS}/Sum up.prompt.md"),
            "---\nmax_steps: 3\n---\nFor {{person}}: {{selection}}",
        )
        .file(format!("{ACTIONS}/Plain.md"), "Go.")
        .start()
        .await;
    let actions = onyx.get("/api/agent/actions").await.expect(200).json();
    let facts = |id: &str| {
        let action = actions.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
        (action["path"].clone(), action["asks_for_selection"].clone())
    };
    assert_eq!(facts("sum-up"), (json!("vault/agent/actions/Sum up.prompt.md"), json!(true)));
    assert_eq!(facts("plain"), (json!("vault/agent/actions/Plain.md"), json!(false)));

    let prompt =
        onyx.post("/api/agent/actions/sum-up/prompt", &json!({"selection": "boats"})).await;
    assert_eq!(prompt.expect(200).json(), json!({"prompt": "For owner: boats"}));
    let none = onyx.post("/api/agent/actions/nothing/prompt", &json!({})).await;
    assert_eq!(none.expect(404).json()["code"], "not_found");

    let mut ran = Vec::new();
    for id in ["plain", "sum-up"] {
        let reply =
            onyx.post(&format!("/api/agent/actions/{id}/run"), &json!({})).await.expect(200);
        let start: Value = serde_json::from_str(reply.text().lines().next().unwrap()).unwrap();
        assert_eq!(start["action"]["id"], id, "{start}");
        ran.push((start["run_id"].clone(), start["action"]["page"].clone()));
    }
    ran.reverse();
    let past = onyx.get("/api/agent/action-runs").await.expect(200).json();
    let listed: Vec<_> = past["runs"].as_array().unwrap().iter().collect();
    let found: Vec<_> =
        listed.iter().map(|run| (run["run_id"].clone(), run["page"].clone())).collect();
    assert_eq!(found, ran);
    let record = &listed[0]["record"];
    assert_eq!(
        (&record["action_id"], &record["label"], &record["status"]),
        (&json!("sum-up"), &json!("Sum up"), &json!("done"))
    );
    assert!(record["text"].as_str().unwrap().starts_with("## Prompt"), "{record}");
    assert!(record["started_at"].is_string() && record["session_id"].is_string(), "{record}");
    let page = ran[0].1.as_str().unwrap();
    let _ = onyx.get(&format!("/v1/memory/files/{page}")).await.expect(200);

    let first = onyx.get("/api/agent/action-runs?limit=1").await.expect(200).json();
    assert_eq!(first["before"], ran[0].0);
    let before = ran[0].0.as_str().unwrap();
    let rest =
        onyx.get(&format!("/api/agent/action-runs?before={before}")).await.expect(200).json();
    assert_eq!(rest["runs"][0]["run_id"], ran[1].0);
    let _ = onyx.get("/api/agent/action-runs?limit=0").await.expect(400);
}

#[tokio::test]
async fn the_memory_that_an_agent_may_read_is_set_in_either_form_and_never_dropped() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let _ = onyx.post("/v1/agents", &json!({"id": "other"})).await.expect(201);
    let patch = |body: Value| Reply::of(onyx.request(Method::PATCH, "/v1/agents/main").json(&body));
    let changed = patch(json!({"memory": {"read": ["other"]}})).await.expect(200).json();
    assert_eq!(changed["settings"]["memory_read"], json!(["other"]));
    let both = patch(json!({"memory": {"read": []}, "memory_read": []})).await.expect(400).json();
    assert_eq!(both["field"], "memory");
    let unknown = patch(json!({"memory": {"write": []}})).await.expect(400).json();
    assert_eq!(unknown["field"], "memory.write");
    let cleared = patch(json!({"memory_read": []})).await.expect(200).json();
    assert_eq!(cleared["settings"]["memory_read"], json!([]));
}

#[tokio::test]
async fn that_an_agent_uses_only_local_models_is_kept() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let patch = |body: Value| Reply::of(onyx.request(Method::PATCH, "/v1/agents/main").json(&body));
    let changed = patch(json!({"local_only": true})).await.expect(200).json();
    assert_eq!(changed["settings"]["local_only"], true);
    let reset = patch(json!({"local_only": null})).await.expect(200).json();
    assert_eq!(reset["settings"]["local_only"], Value::Null);
}

#[tokio::test]
async fn whether_an_agent_s_chats_get_context_is_set_in_either_form() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let patch = |body: Value| Reply::of(onyx.request(Method::PATCH, "/v1/agents/main").json(&body));
    let config = || std::fs::read_to_string(onyx.config_path()).unwrap();
    let changed = patch(json!({"memory": {"retrieval": true}})).await.expect(200).json();
    assert_eq!(changed["settings"]["memory_retrieval"], true);
    assert!(config().contains("\"retrieval\": true"), "{}", config());
    // A change of another setting leaves it as it is.
    let renamed = patch(json!({"name": "Main"})).await.expect(200).json();
    assert_eq!(renamed["settings"]["memory_retrieval"], true);
    let both = json!({"memory": {"read": []}, "memory_retrieval": true});
    assert_eq!(patch(both).await.expect(400).json()["field"], "memory");
    let wrong = patch(json!({"memory_retrieval": "always"})).await.expect(400).json();
    assert_eq!(wrong["field"], "memory_retrieval");
    let off = patch(json!({"memory_retrieval": null})).await.expect(200).json();
    assert_eq!(off["settings"]["memory_retrieval"], Value::Null);
    assert!(!config().contains("retrieval"), "{}", config());
}
