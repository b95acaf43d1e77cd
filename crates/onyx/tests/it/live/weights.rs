//! What is shown about weights on this machine.

use onyx_test_support::wait_until;
use serde_json::{Value, json};

use super::{FRANCE, PATIENCE, run, small_model, started, worker_of};
use crate::said;

#[tokio::test]
#[ignore = "make test-live"]
async fn info_tells_file_size_sum_licence_and_whether_it_is_loaded() {
    let onyx = started(json!({"timeouts": {"idleSeconds": 1}})).await;
    std::fs::copy(small_model().await, onyx.home().join("models/mine.gguf")).unwrap();
    let info = async |model: &str| {
        let shown = run(&onyx.home(), &["models", "info", model, "--json"]).await;
        assert_eq!(shown.code, Some(0), "{shown:?}");
        serde_json::from_str::<Value>(&shown.out).unwrap()["weights"].clone()
    };

    let small = info("local/smollm2").await;
    let file = &small["files"][0];
    assert_eq!((&file["bytes"], &small["licence"]), (&json!(98_362_432), &json!("Apache-2.0")));
    assert_eq!(file["sha256"], file["pinned_sha256"]);
    assert_eq!((&small["trained_window"], &small["loaded"]), (&json!(8192), &json!(false)));
    let mine = info("local/mine").await;
    assert_eq!(mine["files"][0]["sha256"], file["sha256"]);
    assert_eq!(mine["licence"], "apache-2.0");
    assert_eq!(mine["files"][0].get("pinned_sha256"), None);

    let mut lines = onyx.chat_lines(&json!({"message": FRANCE})).await;
    lines.until("text").await;
    assert_eq!(info("local/smollm2").await["loaded"], true);
    assert!(said(&lines.rest().await).contains("capital"));
    wait_until("the model's process to end", PATIENCE, || worker_of(&onyx).is_none()).await;
    assert_eq!(info("local/smollm2").await["loaded"], false);
}
