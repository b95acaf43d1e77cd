//! Calls that send something out, and how far an approval for them goes.

use onyx_test_support::{Answer, ChatLines, OnyxProcess, Page, ScriptedCall, ScriptedModel, Site};
use serde_json::{Value, json};

use crate::builder;
use crate::drafts::path;

async fn decide(onyx: &OnyxProcess, confirm: &Value, decision: &str, body: &Value) -> Value {
    let draft = path(confirm["draft_id"].as_str().unwrap());
    onyx.post(&format!("{draft}/{decision}"), body).await.expect(200).json()
}

/// The next question to a person; `None` at the end of the run.
async fn asked(lines: &mut ChatLines) -> Option<Value> {
    loop {
        let event = lines.next().await?;
        match event["type"].as_str().unwrap() {
            "confirm" => return Some(event),
            "done" => return None,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_yes_for_the_run_covers_the_same_host_in_that_run_and_nothing_else() {
    let site = Site::start(|_| Page::html("<p>here</p>")).await;
    let other = Site::start(|_| Page::html("<p>there</p>")).await;
    let fetch = |id: &str, url: String| {
        Answer::tool_calls([ScriptedCall::new(id, "web_fetch", &json!({"url": url}))])
    };
    let model = ScriptedModel::with_answers([
        fetch("a", site.url("/one")),
        fetch("b", site.url("/two")),
        fetch("c", other.url("/three")),
        Answer::text("done"),
        fetch("d", site.url("/four")),
        Answer::text("done"),
    ])
    .await;
    let hosts = [site.address().to_string(), other.address().to_string()];
    let web = json!({"tools": {"web": {"allowPrivateHosts": hosts}}});
    let onyx = builder(&model).merge(web).start().await;
    let mut lines = onyx.chat_lines(&json!({"message": "look around"})).await;
    let session = lines.until("start").await["session_id"].clone();

    let first = asked(&mut lines).await.expect("nobody gave this address");
    assert!(first["summary"].as_str().unwrap().contains("/one"), "{first}");
    assert!(site.requests().is_empty());
    decide(&onyx, &first, "approve", &json!({"scope": "run"})).await;
    let next = asked(&mut lines).await.expect("another host is another question");
    assert!(next["summary"].as_str().unwrap().contains("/three"), "{next}");
    assert_eq!(site.requests().len(), 2, "the second page of the host needed nobody");
    decide(&onyx, &next, "reject", &json!({})).await;
    assert!(asked(&mut lines).await.is_none());
    assert!(other.requests().is_empty());

    let body = json!({"message": "again", "session_id": session});
    let mut lines = onyx.chat_lines(&body).await;
    let again = asked(&mut lines).await.expect("another run is another question");
    decide(&onyx, &again, "reject", &json!({})).await;
    assert!(asked(&mut lines).await.is_none());
    assert_eq!(site.requests().len(), 2);
}
