//! How much memory a model takes, and that it is returned.

use onyx_test_support::wait_until;
use serde_json::json;
use tokio::process::Command;

use super::{FRANCE, PATIENCE, started, worker_of};
use crate::said;

#[tokio::test]
#[ignore = "make test-live"]
async fn memory_goes_back_when_the_model_is_idle_and_a_killed_one_comes_back() {
    let onyx = started(json!({"timeouts": {"idleSeconds": 1}})).await;
    let before = onyx.settled_bytes().await;
    let ask = json!({"message": FRANCE});
    assert!(said(&onyx.chat_stream(&ask).await).contains("Paris"));
    wait_until("the model's process to end", PATIENCE, || worker_of(&onyx).is_none()).await;

    let after = onyx.settled_bytes().await;
    println!("gateway: {} MB before, {} MB after", before / 1_000_000, after / 1_000_000);
    assert!(after < before + 10_000_000, "{before} {after}");
    let mut lines = onyx.chat_lines(&json!({"message": "Tell me a long story."})).await;
    lines.until("text").await;
    let worker = worker_of(&onyx).unwrap();
    let killed = Command::new("kill").args(["-9", &worker.to_string()]).status().await.unwrap();
    assert!(killed.success());
    let rest = lines.rest().await;
    let error = rest.iter().find(|event| event["type"] == "error").unwrap();
    assert!(error["message"].as_str().unwrap().contains("signal 9"), "{error}");
    assert!(said(&onyx.chat_stream(&ask).await).contains("Paris"));
}
