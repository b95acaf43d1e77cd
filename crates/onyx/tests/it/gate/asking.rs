//! The tool `ask_person`.

use serde_json::{Value, json};

use super::{events_of, obedient, pending, results};
use crate::builder;
use crate::drafts::{message, path};

fn question() -> String {
    message(&[("ask_person", json!({"question": "Which colour?"}))])
}

#[tokio::test]
async fn a_question_pauses_the_run_and_the_answer_is_its_result() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let mut lines = onyx.chat_lines(&json!({"message": question()})).await;
    let start = lines.until("start").await;
    let confirm = lines.until("confirm").await;
    assert_eq!(confirm["tool"], "ask_person");
    assert_eq!(confirm["preview"], json!({"kind": "text", "text": "Which colour?"}));
    let draft = confirm["draft_id"].as_str().unwrap();
    let body = json!({"reason": "blue, like the sea"});
    let _ = onyx.post(&format!("{}/approve", path(draft)), &body).await.expect(200);
    lines.rest().await;
    let rest = events_of(&onyx, &start).await;
    let result = results(&rest)[0];
    assert_eq!((&result["ok"], &result["output"]), (&json!(true), &json!("blue, like the sea")));
    assert_eq!(rest.last().unwrap()["status"], "done");
}

#[tokio::test]
async fn with_nobody_there_a_question_is_told_so_at_once_and_its_answer_comes_later() {
    let model = obedient().await;
    let read_only = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "read"},
    ]}});
    let onyx = builder(&model).merge(read_only).start().await;
    let ask = |words: String| json!({"model": "onyx:main", "messages": [{"role": "user", "content": words}]});
    let _ = onyx.post("/v1/chat/completions", &ask(question())).await.expect(200);
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("Nobody is here to answer now"), "{heard}");
    let drafts = pending(&onyx).await;
    let [draft] = drafts.as_slice() else { panic!("{drafts:#?}") };
    let draft_path = path(draft["id"].as_str().unwrap());
    let done = onyx.post(&format!("{draft_path}/approve"), &json!({"reason": "green"})).await;
    let done: Value = done.expect(200).json();
    assert_eq!((&done["state"], &done["output"]), (&json!("applied"), &json!("green")));
    let session = draft["session_id"].as_str().unwrap();
    onyx.chat_stream(&json!({"message": "and?", "session_id": session})).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("applied. They say: green"), "{heard}");
}

#[tokio::test]
async fn a_question_may_offer_options_and_any_other_answer_still_counts() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    for answer in ["Larch", "neither, take stone"] {
        let arguments = json!({"question": "Oak or larch?", "options": [" Oak ", "Larch"]});
        let asks = message(&[("ask_person", arguments)]);
        let mut lines = onyx.chat_lines(&json!({"message": asks})).await;
        let start = lines.until("start").await;
        let confirm = lines.until("confirm").await;
        let preview =
            json!({"kind": "choice", "text": "Oak or larch?", "options": ["Oak", "Larch"]});
        assert_eq!(confirm["preview"], preview);
        let draft = path(confirm["draft_id"].as_str().unwrap());
        assert_eq!(onyx.get(&draft).await.expect(200).json()["preview"], preview);
        let _ =
            onyx.post(&format!("{draft}/approve"), &json!({"reason": answer})).await.expect(200);
        lines.rest().await;
        let rest = events_of(&onyx, &start).await;
        assert_eq!(results(&rest)[0]["output"], answer);
    }
}

#[tokio::test]
async fn options_that_cannot_be_buttons_are_told_to_the_model() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let nine: Vec<_> = (0..9).map(|number| number.to_string()).collect();
    for options in [json!(["a", "a"]), json!([" "]), json!(["x".repeat(81)]), json!(nine)] {
        let asks = message(&[("ask_person", json!({"question": "Which?", "options": options}))]);
        let told = onyx.chat_stream(&json!({"message": asks})).await;
        assert!(told.iter().all(|event| event["type"] != "confirm"), "{told:#?}");
        let result = told.iter().find(|event| event["type"] == "tool_result").unwrap();
        assert_eq!(result["ok"], false, "{options}");
        let heard = model.last_request().body["messages"].to_string();
        assert!(heard.contains("option"), "{heard}");
    }
}
