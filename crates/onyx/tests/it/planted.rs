//! Every test of the harness ends with a search for secrets. These tests plant a leak, which the
//! search must find.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onyx_test_support::{
    AgentClient, DEFAULT_KEY, DEFAULT_PASSWORD, DEFAULT_TOKEN, OnyxProcess, Page, ScriptedModel,
    Site, canary,
};
use serde_json::{Value, json};

use crate::rejoin::Rejoined;

/// The message of the panic when the value is dropped.
fn complaint_of<T>(dropped: T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(dropped))).expect_err("a complaint");
    *panic.downcast::<String>().expect("words")
}

/// The message of a task's panic.
async fn complaint(work: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(work).await.expect_err("a complaint").into_panic();
    *panic.downcast::<String>().expect("words")
}

#[test]
fn a_secret_is_found_wherever_it_stands_and_in_base64() {
    for secret in [DEFAULT_KEY, DEFAULT_PASSWORD, DEFAULT_TOKEN, &canary::secret("some")] {
        for before in ["", "a", "ab", "abc"] {
            let plain = format!("{before}{secret}, and more");
            let encoded = URL_SAFE_NO_PAD.encode(&plain);
            for leak in [plain, encoded] {
                let found = catch_unwind(|| canary::assert_absent("a text", leak.as_bytes()));
                assert!(found.is_err(), "{leak}");
            }
        }
    }
    canary::assert_absent("a text", b"a canary, and no secret");
}

#[tokio::test]
async fn a_secret_in_a_file_of_the_home_fails_the_test() {
    let onyx = OnyxProcess::builder().start().await;
    std::fs::write(onyx.home().join("left.txt"), format!("key: {DEFAULT_KEY}")).unwrap();
    let told = complaint_of(onyx);
    assert!(told.starts_with("a secret was written to") && told.contains("left.txt"), "{told}");
}

#[tokio::test]
async fn a_secret_that_reaches_the_model_fails_the_test() {
    let model = ScriptedModel::start().await;
    let client = AgentClient::new(model.base_url(), DEFAULT_KEY);
    let ask = |words: &str| json!({"model": "m", "messages": [{"role": "user", "content": words}]});
    // The key is legitimate in its own header.
    let _ = client.post("/chat/completions", &ask("hello")).await.expect(200);
    let _ = client.post("/chat/completions", &ask(DEFAULT_PASSWORD)).await.expect(200);
    let told = complaint_of(model);
    assert!(told.starts_with("a secret was sent to the model"), "{told}");
}

#[tokio::test]
async fn a_secret_in_an_answer_a_line_or_an_event_fails_the_test() {
    let event: Value = json!({"type": "text", "delta": DEFAULT_TOKEN, "seq": 1});
    let site = Site::start(move |path| {
        if path.contains("/events") {
            Page::html(format!("id: r:1\ndata: {event}\n\n"))
        } else {
            Page::html(format!("{event}\n"))
        }
    })
    .await;
    let client = AgentClient::new(site.url(""), "t");

    let asked = client.clone();
    let told = complaint(async move { drop(asked.get("/x").await) }).await;
    assert!(told.starts_with("a secret leaked into an answer"), "{told}");
    let streamed = client.clone();
    let told = complaint(async move { drop(streamed.chat_stream(&json!({})).await) }).await;
    assert!(told.starts_with("a secret leaked into a stream"), "{told}");
    let told = complaint(async move {
        Rejoined::new("r".to_owned()).read(&client, usize::MAX).await;
    })
    .await;
    assert!(told.starts_with("a secret leaked into a run's events"), "{told}");
}
