//! Processes that keep running between calls.

use serde_json::json;

use super::{obedient, results, told};
use crate::builder;

#[tokio::test]
async fn a_process_goes_on_between_calls_and_the_call_that_starts_it_does_not_wait() {
    let model = obedient().await;
    let rules = json!({"agents": {"list": [{
        "id": "main", "default": true, "model": "mine/some-model", "tier": "act",
        "tools": {"commands": [["cat"]]},
    }]}});
    let onyx = builder(&model).merge(rules).start().await;
    let events = told(
        &onyx,
        &[
            ("process", json!({"action": "start", "argv": ["cat", "-"]})),
            ("process", json!({"action": "poll", "id": 1, "seconds": 1})),
            ("process", json!({"action": "kill", "id": 1})),
            ("process", json!({"action": "poll", "id": 1, "seconds": 30})),
        ],
    )
    .await;
    let results = results(&events);
    assert_eq!(results.len(), 4, "{events:#?}");
    for (result, said) in results.iter().zip(["process 1 runs", "[process 1 runs]", "", "stopped"])
    {
        assert_eq!(result["ok"], true, "{result:#}");
        assert!(result.to_string().contains(said), "{said} in {result:#}");
    }
}
