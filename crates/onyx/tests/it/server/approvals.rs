//! Approvals through one gateway for a run that works at another.

use onyx_test_support::{Answer, Page, ScriptedCall, ScriptedModel, Site};
use serde_json::json;

use super::{gateway, place};

#[tokio::test]
async fn an_approval_through_the_other_gateway_holds_for_the_whole_run_if_the_person_says_so() {
    let site = Site::start(|_| Page::html("<p>here</p>")).await;
    let fetch = |id: &str, path: &str| {
        Answer::tool_calls([ScriptedCall::new(id, "web_fetch", &json!({"url": site.url(path)}))])
    };
    let model = ScriptedModel::with_answers([
        fetch("a", "/one"),
        fetch("b", "/two"),
        fetch("c", "/three"),
        Answer::text("done"),
    ])
    .await;
    let web = json!({"tools": {"web": {"allowPrivateHosts": [site.address().to_string()]}}});
    let place = place().await;
    let one = gateway(&place, "one", &model).merge(web.clone());
    let two = gateway(&place, "two", &model).merge(web);
    let (one, two) = tokio::join!(one.start(), two.start());
    let mut lines = one.chat_lines(&json!({"message": "look around"})).await;
    for scope in ["once", "run"] {
        let confirm = lines.until("confirm").await;
        let draft = confirm["draft_id"].as_str().unwrap();
        let approve = format!("/api/pending-changes/{draft}/approve");
        let _ = two.post(&approve, &json!({"scope": scope})).await.expect(200);
    }
    let end = loop {
        let line = lines.next().await.expect("the run goes on");
        assert_ne!(line["type"], "confirm", "it was approved for the whole run: {line}");
        if line["type"] == "done" {
            break line;
        }
    };
    assert_eq!(end["status"], "done", "{end}");
    assert_eq!(site.requests().len(), 3);
}
