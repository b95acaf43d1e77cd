//! Runs that wait for a person.

use onyx_test_support::{OnyxBuilder, ScriptedModel, wait_for};
use serde_json::{Value, json};

use super::{READ_TAINTED, message, obedient, path, session_of, tainting};
use crate::{SOON, builder};

/// A call that a tainted run at tier `act` needs a person for: it would change a file that steers
/// agents.
fn remember() -> String {
    let (tool, log) = READ_TAINTED;
    let fact = json!({"text": "they said so", "heading": "Facts"});
    message(&[(tool, json!({"path": log})), ("memory_write", fact)])
}

fn acting(model: &ScriptedModel) -> OnyxBuilder {
    tainting(builder(model))
}

fn memory(onyx: &onyx_test_support::OnyxProcess) -> Option<String> {
    std::fs::read_to_string(onyx.home().join("people/owner/memory/main/MEMORY.md")).ok()
}

#[tokio::test]
async fn an_attended_run_waits_for_a_yes_and_goes_on_with_what_came_of_it() {
    let model = obedient().await;
    let onyx = acting(&model).start().await;
    let mut lines = onyx.chat_lines(&json!({"message": remember()})).await;
    let confirm = lines.until("confirm").await;
    assert_eq!((&confirm["tool"], memory(&onyx)), (&json!("memory_write"), None));
    let draft = confirm["draft_id"].as_str().unwrap();
    let _ = onyx.post(&format!("{}/approve", path(draft)), &json!({})).await.expect(200);
    let rest = lines.rest().await;
    let result = rest.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["ok"], true, "{result}");
    assert_eq!(rest.last().unwrap()["status"], "done");
    assert_eq!(memory(&onyx).as_deref(), Some("## Facts\n\n- they said so\n"));
    // The result contained the decision, so no turn of its own repeats it.
    let session = rest.last().unwrap()["session_id"].as_str().unwrap();
    onyx.chat_stream(&json!({"message": "and?", "session_id": session})).await;
    let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let of =
        |kind: &str| turns["turns"].as_array().unwrap().iter().any(|turn| turn["type"] == kind);
    assert!(of("tool_result") && !of("decision"), "{turns:#}");
}

#[tokio::test]
async fn a_no_is_told_to_the_waiting_run_with_its_reason() {
    let model = obedient().await;
    let onyx = acting(&model).start().await;
    let mut lines = onyx.chat_lines(&json!({"message": remember()})).await;
    let confirm = lines.until("confirm").await;
    let draft = confirm["draft_id"].as_str().unwrap();
    let body = json!({"reason": "that is not true"});
    let _ = onyx.post(&format!("{}/reject", path(draft)), &body).await.expect(200);
    let rest = lines.rest().await;
    let result = rest.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["ok"], false);
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("They say: that is not true"), "{heard}");
    assert_eq!(memory(&onyx), None);
}

#[tokio::test]
async fn nobody_answers_so_the_run_goes_on_and_the_draft_stays_while_the_clock_stood() {
    let model = obedient().await;
    let limits = json!({"limits": {"confirm_seconds": 7, "max_run_seconds": 6}});
    let onyx = acting(&model).merge(limits).start().await;
    let events = onyx.chat_stream(&json!({"message": remember()})).await;
    assert_eq!(events.last().unwrap()["status"], "done", "{events:#?}");
    let confirm = events.iter().find(|event| event["type"] == "confirm").unwrap();
    let draft = confirm["draft_id"].as_str().unwrap();
    assert_eq!(onyx.get(&path(draft)).await.expect(200).json()["state"], "pending");
    let _ = onyx.post(&format!("{}/approve", path(draft)), &json!({})).await.expect(200);
    let session = session_of(&events);
    onyx.chat_stream(&json!({"message": "and?", "session_id": session})).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains(&format!("decided on draft {draft}: applied")), "{heard}");
}

#[tokio::test]
async fn a_client_that_leaves_while_a_run_waits_leaves_the_draft() {
    let model = obedient().await;
    let onyx = acting(&model).start().await;
    let mut lines = onyx.chat_lines(&json!({"message": remember()})).await;
    let start = lines.until("start").await;
    let confirm = lines.until("confirm").await;
    drop(lines);
    let session = start["session_id"].as_str().unwrap();
    let turns = format!("/v1/sessions/{session}/turns");
    wait_for("the run to end", SOON, async || {
        let page = onyx.get(&turns).await.expect(200).json();
        let ended = |turn: &Value| turn["type"] == "run_end" && turn["status"] == "cancelled";
        page["turns"].as_array().unwrap().iter().any(ended).then_some(())
    })
    .await;
    let draft = confirm["draft_id"].as_str().unwrap();
    let row = onyx.post(&format!("{}/approve", path(draft)), &json!({})).await.expect(200).json();
    assert_eq!(row["state"], "applied");
    assert!(memory(&onyx).is_some());
}

#[tokio::test]
async fn an_unattended_run_gets_a_draft_at_once() {
    let model = obedient().await;
    let onyx = acting(&model).start().await;
    let body = json!({"model": "onyx:main", "messages": [{"role": "user", "content": remember()}]});
    let _ = onyx.post("/v1/chat/completions", &body).await.expect(200);
    let list = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    assert_eq!(list["drafts"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["drafts"][0]["tool"], "memory_write");
    assert_eq!(memory(&onyx), None);
}
