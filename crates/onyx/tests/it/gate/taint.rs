//! The taint of a conversation, and how it spreads.

use serde_json::{Value, json};

use super::{has_status, obedient, read_tainted, sent, told};
use crate::builder;
use crate::drafts::{session_of, tainting, words};

#[tokio::test]
async fn a_fork_of_a_tainted_conversation_is_tainted_from_its_start_and_says_so() {
    let model = obedient().await;
    let onyx = tainting(builder(&model)).start().await;
    let events = told(&onyx, &[read_tainted()]).await;
    let session = session_of(&events);
    let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let turns = turns["turns"].as_array().unwrap();
    let answer = turns.iter().rfind(|turn| turn["type"] == "assistant_text").unwrap();
    let body = json!({"turn_id": answer["id"]});
    let fork = onyx.post(&format!("/v1/sessions/{session}/fork"), &body).await.expect(201).json();
    for id in [session.as_str(), fork["id"].as_str().unwrap()] {
        let events = sent(&onyx, json!({"message": "and?", "session_id": id})).await;
        let kinds: Vec<&Value> = events.iter().take(2).map(|event| &event["type"]).collect();
        assert_eq!(kinds, [&json!("start"), &json!("status")], "{events:#?}");
        assert_eq!(events[1]["code"], "tainted");
    }
    let fresh = sent(&onyx, json!({"message": "hi"})).await;
    assert!(!has_status(&fresh, "tainted"), "{fresh:#?}");
}

#[tokio::test]
async fn a_note_made_under_taint_comes_back_only_as_untrusted_text_and_taints() {
    let model = obedient().await;
    let onyx = tainting(builder(&model)).start().await;
    let note = |text: &str| ("memory_write", json!({"text": text}));
    told(&onyx, &[note("said by the clean one")]).await;
    told(&onyx, &[read_tainted(), note("said by the tainted one")]).await;
    let events = sent(&onyx, json!({"message": "hi"})).await;
    assert!(has_status(&events[..2], "tainted"), "{events:#?}");
    let request = model.last_request();
    let messages = request.body["messages"].as_array().unwrap();
    let of = |role: &str| -> String {
        let all = messages.iter().filter(|message| message["role"] == role);
        all.map(|message| words(&message["content"])).collect()
    };
    let (system, user) = (of("system"), of("user"));
    assert!(system.contains("said by the clean one") && !system.contains("tainted one"));
    let fence = user.find("Context (untrusted)").unwrap();
    assert!(user[fence..].contains("said by the tainted one"), "{user}");
    assert!(!user[..fence].contains("tainted one"), "{user}");
}
