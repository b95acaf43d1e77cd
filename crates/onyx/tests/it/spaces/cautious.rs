//! In a space agents may only suggest, whatever their own tier is, until the person of the space
//! allows more.

use onyx_test_support::{Answer, OnyxProcess, ScriptedModel};
use serde_json::json;

use super::companion::{companion, post};
use super::{call, house, patch, stream};

/// A space whose tier nobody has set.
async fn cautious() -> (ScriptedModel, OnyxProcess) {
    let (model, onyx) = house().await;
    let card = onyx.home().join("people/owner/spaces/home/space.json");
    std::fs::write(card, "{\"name\": \"Home\"}").unwrap();
    (model, onyx)
}

fn note(name: &str) -> Answer {
    call("write_file", &json!({"path": name, "content": "hello\n"}))
}

#[tokio::test]
async fn in_a_space_an_agent_that_may_act_suggests_until_its_owner_raises_the_cap() {
    let (model, onyx) = cautious().await;
    let written = |name: &str| crate::drafts::vault(&onyx, name).is_some();
    let at = companion(&onyx).await;
    let told = async |name: &str| {
        model.push(note(name));
        model.push(Answer::text("done"));
        let message = post(&onyx, &at, "write it").await;
        let told = stream(&onyx, &format!("{at}/stream?messageId={message}"), None).await;
        told.iter().any(|told| told.event == "draft")
    };
    assert!(told("a.md").await && !written("a.md"), "it is a draft");
    let space = onyx.get("/api/spaces/home").await.expect(200).json();
    assert_eq!(space["tier"], "suggest", "{space}");

    let bad = patch(&onyx, "/api/spaces/home", &json!({"tier": "king"})).await.expect(400).json();
    assert_eq!(bad["code"], "invalid_request", "{bad}");
    let raised = patch(&onyx, "/api/spaces/home", &json!({"tier": "act"})).await.expect(200).json();
    assert_eq!(raised["tier"], "act", "{raised}");
    assert!(!told("b.md").await && written("b.md"), "it is done");
    drop(patch(&onyx, "/api/spaces/home", &json!({"tier": "read"})).await.expect(200));
    assert!(!told("c.md").await && !written("c.md"), "it may only look");

    // The tier of a space is an upper limit: it raises no agent's own tier, and applies only in the
    // space.
    model.push(note("d.md"));
    model.push(Answer::text("done"));
    drop(onyx.chat_stream(&json!({"message": "write it"})).await);
    assert!(written("d.md"));
}

#[tokio::test]
async fn a_space_that_lets_agents_act_makes_none_bolder() {
    let (model, onyx) = house().await;
    drop(patch(&onyx, "/api/spaces/home", &json!({"tier": "act"})).await.expect(200));
    drop(patch(&onyx, "/v1/agents/main", &json!({"tier": "suggest"})).await.expect(200));
    let at = companion(&onyx).await;
    model.push(note("a.md"));
    model.push(Answer::text("done"));
    let message = post(&onyx, &at, "write it").await;
    let told = stream(&onyx, &format!("{at}/stream?messageId={message}"), None).await;
    assert!(told.iter().any(|told| told.event == "draft"), "{told:?}");
    assert_eq!(crate::drafts::vault(&onyx, "a.md"), None);
}
