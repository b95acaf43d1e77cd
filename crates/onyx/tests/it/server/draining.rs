//! The list of gateways for the owner, and the draining of one of them.

use std::time::{Duration, Instant};

use onyx_test_support::{Answer, OnyxProcess, Script, ScriptedModel, Step, wait_for};
use serde_json::{Value, json};

use super::together::{assert_at_once, two};
use crate::{SOON, builder, said};

async fn gateways(onyx: &OnyxProcess) -> Vec<Value> {
    let list = onyx.get("/api/admin/gateways").await.expect(200).json();
    list["gateways"].as_array().unwrap().clone()
}

fn of<'a>(list: &'a [Value], id: &str) -> &'a Value {
    list.iter().find(|gateway| gateway["id"] == id).unwrap_or_else(|| panic!("{list:#?}"))
}

#[tokio::test]
async fn the_owner_sees_what_each_gateway_does_and_drains_one() {
    let model =
        ScriptedModel::with_answers([Script::new([Step::Text("half".into()), Step::Hang])]).await;
    let (_place, one, two) = two(&model).await;
    let mut lines = one.chat_lines(&json!({"message": "go"})).await;
    let session = lines.until("start").await["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;
    let list = gateways(&two).await;
    let (first, second) = (of(&list, "one"), of(&list, "two"));
    assert_eq!((&first["state"], &first["runs"]), (&json!("serving"), &json!(1)), "{first}");
    assert_eq!((&first["answers_you"], &second["answers_you"]), (&json!(false), &json!(true)));
    assert_eq!((&second["state"], &second["runs"]), (&json!("serving"), &json!(0)), "{second}");
    assert!(first["silent_for_ms"].as_u64().unwrap() < 15_000, "{first}");
    assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
    let none = two.post("/api/admin/gateways/three/drain", &json!({})).await;
    let _ = none.expect(404);
    let _ = two.post("/api/admin/gateways/one/drain", &json!({})).await.expect(204);
    wait_for("it to begin nothing new", SOON, async || {
        (one.get("/ready").await.status == 503).then_some(())
    })
    .await;
    let refused = one.post("/api/agent/chat", &json!({"message": "something new"})).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("storage_unavailable"), "{}", refused.text());
    wait_for("it to be drained", SOON * 2, async || {
        (of(&gateways(&two).await, "one")["state"] == "drained").then_some(())
    })
    .await;
    let drained = Instant::now();
    model.push(Answer::text("Here I am."));
    let more = json!({"message": "Still there?", "session_id": session});
    assert_eq!(said(&two.chat_stream(&more).await), "Here I am.");
    assert_at_once(drained.elapsed(), &two, &session).await;
    assert_eq!(one.history(&session).await, two.history(&session).await, "it answers who looks");
}

/// While the table is away, whoever looks into it says so.
#[tokio::test]
async fn a_drained_gateway_looks_for_nothing_to_take_over() {
    let model = ScriptedModel::start().await;
    let (place, one, two) = two(&model).await;
    let _ = two.post("/api/admin/gateways/one/drain", &json!({})).await.expect(204);
    wait_for("it to be drained", SOON, async || {
        (of(&gateways(&two).await, "one")["state"] == "drained").then_some(())
    })
    .await;
    let looked = "open runs could not be looked up";
    place.sql().await.batch_execute("ALTER TABLE runs RENAME TO runs_away").await.unwrap();
    // A gateway looks every two seconds. When the other one has looked twice, this one would have.
    wait_for("the other to look twice", SOON, async || {
        (two.log().matches(looked).count() >= 2).then_some(())
    })
    .await;
    assert!(!one.log().contains(looked), "{}", one.log());
}

#[tokio::test]
async fn one_that_died_is_forgotten_and_a_drained_one_serves_again_when_it_is_restarted() {
    let model = ScriptedModel::start().await;
    let (_place, mut one, two) = two(&model).await;
    let _ = two.post("/api/admin/gateways/one/drain", &json!({})).await.expect(204);
    wait_for("it to be drained", SOON, async || {
        (of(&gateways(&two).await, "one")["state"] == "drained").then_some(())
    })
    .await;
    one.terminate().await;
    assert_eq!(gateways(&two).await.len(), 1, "one that ended in order is gone from the list");
    one.restart().await;
    assert_eq!(of(&gateways(&two).await, "one")["state"], "serving");
    assert_eq!(said(&one.chat_stream(&json!({"message": "hi"})).await), "ok");
    one.kill().await;
    wait_for("its life to be over", Duration::from_secs(20), async || {
        (of(&gateways(&two).await, "one")["state"] == "silent").then_some(())
    })
    .await;
    let _ = two.post("/api/admin/gateways/one/drain", &json!({})).await.expect(204);
    assert_eq!(gateways(&two).await.len(), 1);
}

#[tokio::test]
async fn a_process_of_its_own_has_no_gateways() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    assert_eq!(gateways(&onyx).await, [] as [Value; 0]);
    let _ = onyx.post("/api/admin/gateways/one/drain", &json!({})).await.expect(404);
}
