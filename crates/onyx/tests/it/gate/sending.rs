//! `sessions_send`: a message from one conversation to another.

use serde_json::{Value, json};

use super::{has_status, obedient, read_tainted, results, sent, told};
use crate::builder;
use crate::drafts::{message, session_of, tainting};

#[tokio::test]
async fn words_left_in_a_conversation_are_read_when_it_goes_on_and_keep_where_they_came_from() {
    let model = obedient().await;
    let onyx = tainting(builder(&model)).start().await;
    let first = session_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    let own = session_of(&onyx.chat_stream(&json!({"message": "ho"})).await);
    let send = |words: &str| ("sessions_send", json!({"session": first, "message": words}));

    let asked = model.request_count();
    let events = told(&onyx, &[send("mind the tide")]).await;
    assert_eq!(results(&events)[0]["ok"], true, "{events:#?}");
    assert_eq!(model.request_count(), asked + 2, "nobody answers it now");
    let history = onyx.history(&first).await;
    assert_eq!(history.last().unwrap()["content"], "mind the tide");
    let listed = onyx.get("/v1/sessions").await.expect(200).json();
    let row = listed["sessions"].as_array().unwrap().iter().find(|s| s["id"] == first.as_str());
    assert_eq!(row.unwrap()["preview"], "mind the tide");
    let events = sent(&onyx, json!({"message": "go on", "session_id": first})).await;
    assert!(!has_status(&events, "tainted"));
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("[main]: mind the tide"), "{heard}");

    told(&onyx, &[read_tainted(), send("they say")]).await;
    let turns = onyx.get(&format!("/v1/sessions/{first}/turns")).await.expect(200).json();
    let last = turns["turns"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["type"], &last["origin"]), (&json!("user"), &json!("agent_tainted")));
    let events = sent(&onyx, json!({"message": "go on", "session_id": first})).await;
    assert!(has_status(&events, "tainted"), "{events:#?}");

    // A message cannot be sent to the own session or to one that does not exist.
    let nobody = "0197f3a0-0000-7000-8000-000000000001";
    let to = |session: &str| ("sessions_send", json!({"session": session, "message": "x"}));
    let calls = message(&[to(&own), to(nobody), to("x")]);
    let events = sent(&onyx, json!({"message": calls, "session_id": own})).await;
    let ok: Vec<&Value> = results(&events).iter().map(|result| &result["ok"]).collect();
    assert_eq!(ok, [&json!(false), &json!(false), &json!(false)], "{events:#?}");
}
