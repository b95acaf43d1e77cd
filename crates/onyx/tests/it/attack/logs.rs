//! The log: no secret in it wherever it goes, and nothing that steers whoever reads it.

use onyx_test_support::{ScriptedModel, canary, wait_for};
use serde_json::json;

use crate::{SOON, builder};

/// A folder in the vault whose name steers terminals, and a file in it that cannot be read as one of
/// the person's.
#[tokio::test]
async fn neither_stderr_nor_the_kept_lines_hold_a_secret_or_a_hidden_character() {
    let model = ScriptedModel::start().await;
    let key = canary::secret("sk-logged");
    let onyx = builder(&model)
        .merge(json!({"providers": {"other": {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1",
            "apiKey": key, "models": [{"id": "m"}]}}}))
        .env("ONYX_LOG", "debug")
        .start()
        .await;
    // A client chooses these words; the server's log of requests repeats them.
    let path = format!("/nowhere/{key}%1b%5b2K%e2%80%ae/x");
    drop(onyx.get(&path).await);
    let header = format!("\u{202e}agent {key}");
    let request = onyx.request(reqwest::Method::GET, "/api/agent/session/history?session_id=x");
    drop(onyx_test_support::Reply::of(request.header("user-agent", header)).await);
    let lines = wait_for("the log", SOON, async || {
        let log = onyx.get("/api/admin/logs?limit=500").await.expect(200).text();
        log.contains("nowhere").then_some(log)
    })
    .await;
    for (place, text) in [("the kept lines", lines), ("stderr", onyx.log())] {
        assert!(text.contains("nowhere"), "{place} has the request: {text}");
        assert!(!text.contains(&key), "{place}: {text}");
        let steers = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}')
        };
        assert!(!text.contains(steers), "{place}: {text:?}");
    }
}
