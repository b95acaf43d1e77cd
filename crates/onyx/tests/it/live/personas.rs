//! A persona's test input, answered by the real model.

use onyx_test_support::OnyxProcess;
use serde_json::json;

use super::{FRANCE, binary, config, link_small_model};
use crate::personas::events_of;

#[tokio::test]
#[ignore = "make test-live"]
async fn a_test_input_is_answered_live() {
    let onyx = OnyxProcess::builder()
        .binary(binary())
        .config(config(&json!({})))
        .merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "tier": "act"},
            {"id": "guide", "name": "Guide", "tier": "act"},
        ]}}))
        .file("agents/guide/SOUL.md", "You know every country.")
        .file("agents/guide/tests/france.md", FRANCE)
        .start()
        .await;
    link_small_model(&onyx).await;

    let path = "/api/storage/personas/guide/test-inputs/france/run";
    let events = events_of(&onyx.post(path, &json!({})).await);

    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let pieces = kinds.iter().filter(|kind| **kind == "text_delta").count();
    assert!(pieces > 2, "{events:?}");
    let complete = events.iter().find(|event| event["type"] == "text_complete").unwrap();
    assert!(complete["content"].as_str().unwrap().contains("Paris"), "{events:?}");
    assert_eq!(kinds.last(), Some(&"done"), "{events:?}");
}
