use onyx_test_support::{Answer, OnyxProcess, ScriptedCall, ScriptedModel, wait_for};
use serde_json::{Value, json};

use crate::{SOON, onyx, said};

/// A model that makes the call of its message once and then says `ok`.
async fn calling(model: &ScriptedModel) {
    model.respond_with(|request| {
        let messages = request.body["messages"].as_array().unwrap();
        if messages.last().unwrap()["role"] == "tool" {
            return "ok".into();
        }
        let text = messages.last().unwrap()["content"].to_string();
        let text: String = serde_json::from_str(&text).unwrap_or(text);
        let (_, call) = text.split_once("call ").unwrap();
        let (name, arguments) = call.split_once(' ').unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        Answer::tool_calls([ScriptedCall::new("c1", name, &arguments)])
    });
}

async fn pending(onyx: &OnyxProcess) -> Value {
    wait_for("a card", SOON, async || {
        let drafts = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
        drafts["drafts"].as_array().unwrap().first().cloned()
    })
    .await
}

#[tokio::test]
async fn an_agent_schedules_only_with_a_persons_yes_to_a_card_with_the_next_times() {
    let model = ScriptedModel::start().await;
    calling(&model).await;
    let onyx = onyx(&model).await;
    let arguments = json!({"id": "tuesdays", "prompt": "Water the plants.", "every": "2w",
        "at": "2030-01-01T09:00", "timezone": "Europe/Berlin"});
    let message = json!({"message": format!("call schedule {arguments}")});
    // Even at tier `act` the person is asked.
    let mut lines = onyx.chat_lines(&message).await;
    let confirm = lines.until("confirm").await;
    let card = confirm["preview"]["text"].as_str().unwrap();
    assert!(
        card.contains("every other week from Tue 2030-01-01 09:00 on, Europe/Berlin"),
        "{card}"
    );
    for next in ["Tue 2030-01-01 09:00", "Tue 2030-01-15 09:00", "Tue 2030-02-26 09:00"] {
        assert!(card.contains(next), "{card}");
    }
    let _ = onyx.get("/api/jobs/tuesdays").await.expect(404);
    let id = pending(&onyx).await["id"].as_str().unwrap().to_owned();
    let _ = onyx.post(&format!("/api/pending-changes/{id}/approve"), &json!({})).await.expect(200);
    assert_eq!(said(&lines.rest().await), "ok");
    let job = onyx.get("/api/jobs/tuesdays").await.expect(200).json();
    assert_eq!((&job["state"], &job["prompt"]), (&json!("active"), &json!("Water the plants.")));
    assert_eq!(job["next"][0], "2030-01-01T08:00:00.000Z");

    let told = onyx.chat_stream(&json!({"message": "call list_jobs {}"})).await;
    let result = told.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["ok"], true, "{told:?}");
    let seen = model.last_request().body["messages"].to_string();
    assert!(seen.contains("tuesdays: every other week"), "{seen}");

    onyx.chat_stream(&json!({"message": "call cancel_job {\"id\": \"tuesdays\"}"})).await;
    let _ = onyx.get("/api/jobs/tuesdays").await.expect(404);
}

#[tokio::test]
async fn a_schedule_that_cannot_be_is_told_to_the_model() {
    let model = ScriptedModel::start().await;
    calling(&model).await;
    let onyx = onyx(&model).await;
    let arguments = json!({"id": "x", "prompt": "x", "cron": "99 * * * *"});
    onyx.chat_stream(&json!({"message": format!("call schedule {arguments}")})).await;
    let seen = model.last_request().body["messages"].to_string();
    assert!(seen.contains("is no cron expression"), "{seen}");
    let drafts = onyx.get("/api/pending-changes").await.expect(200).json();
    assert_eq!(drafts["drafts"], json!([]));
}
