//! What memory keeping is told of its own earlier proposals.

use onyx_test_support::{Answer, OnyxProcess, ScriptedCall, ScriptedModel};
use serde_json::{Value, json};

use crate::memory::write;
use crate::onyx;

#[tokio::test]
async fn memory_keeping_is_told_which_proposals_were_rejected_and_which_still_wait() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let log = "- 10:00 Ben is in Rome\n- 11:00 Ben borrowed a cat and a boat\n";
    write(&onyx, "people/owner/memory/main/daily/2026-03-01.md", log);
    let first = keep(&onyx, &model, &["- Ben lives in Rome", "- Ben has a cat"]).await;
    assert_eq!(shown(&model), [] as [Value; 0], "nothing was proposed before");

    // The two proposals became one draft, so the person decides on both at once.
    let reject = format!("/api/pending-changes/{}/reject", first.last().unwrap());
    drop(onyx.post(&reject, &json!({"reason": "Only for a week"})).await.expect(200));
    keep(&onyx, &model, &["- Ben has a boat"]).await;
    let rejected = |text: &str| proposal("rejected", text, &json!("Only for a week"));
    let mut told = shown(&model);
    told.sort_by_key(Value::to_string);
    assert_eq!(told, [rejected("- Ben has a cat"), rejected("- Ben lives in Rome")]);

    keep(&onyx, &model, &[]).await;
    let told = shown(&model);
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0], proposal("pending", "- Ben has a boat", &Value::Null), "newest first");
}

#[tokio::test]
async fn memory_keeping_is_not_told_of_what_was_approved() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    write(&onyx, "people/owner/memory/main/daily/2026-03-01.md", "- 10:00 Ben is in Rome\n");
    let drafts = keep(&onyx, &model, &["- Ben lives in Rome"]).await;
    let approve = format!("/api/pending-changes/{}/approve", drafts[0]);
    drop(onyx.post(&approve, &json!({})).await.expect(200));
    keep(&onyx, &model, &[]).await;
    assert_eq!(shown(&model), [] as [Value; 0]);
    let asked = model.last_request().body.to_string();
    assert!(asked.contains("- Ben lives in Rome"), "it is in MEMORY.md: {asked}");
}

/// Lets the agent make these proposals, one a step, and returns its drafts.
async fn keep(onyx: &OnyxProcess, model: &ScriptedModel, proposals: &[&str]) -> Vec<String> {
    for (index, text) in proposals.iter().enumerate() {
        let fact = json!({"heading": "Facts", "text": text});
        let call = ScriptedCall::new(format!("call{index}"), "memory_write", &fact);
        model.push(Answer::tool_calls([call]));
    }
    model.push(Answer::text("That is all."));
    let kept = onyx.post("/v1/memory/keep", &json!({})).await.expect(200).json();
    assert_eq!(kept["status"], "done", "{kept}");
    let drafts = kept["drafts"].as_array().unwrap();
    assert_eq!(drafts.len(), proposals.len(), "{kept}");
    drafts.iter().map(|draft| draft.as_str().unwrap().to_owned()).collect()
}

fn proposal(state: &str, text: &str, reason: &Value) -> Value {
    let replaces = Value::Null;
    json!({"state": state, "heading": "Facts", "text": text, "replaces": replaces,
        "reason": reason})
}

/// The earlier proposals in the newest request to the model.
fn shown(model: &ScriptedModel) -> Vec<Value> {
    let request = model.last_request().body;
    let messages = request["messages"].as_array().unwrap();
    let texts = messages.iter().filter_map(|message| message["content"].as_str());
    let lists = texts.filter_map(|text| text.split_once("# Earlier proposals"));
    let lines = lists.flat_map(|(_, list)| list.lines());
    lines.filter_map(|line| serde_json::from_str(line).ok()).filter(Value::is_object).collect()
}
