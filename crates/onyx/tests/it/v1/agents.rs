use onyx_test_support::{Reply, ScriptedModel};
use reqwest::Method;
use serde_json::json;

use super::{CHAT, ask, system};
use crate::onyx;

const SOUL: &str = "/v1/agents/main/files/SOUL.md";

#[tokio::test]
async fn agents_are_listed_with_what_they_are() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let listed = onyx.get("/v1/agents").await.expect(200).json();
    let main = &listed["agents"][0];
    assert_eq!(
        (&main["id"], &main["default"], &main["tier"], &main["model"]),
        (&json!("main"), &json!(true), &json!("act"), &json!("mine/some-model"))
    );
    assert_eq!(onyx.get("/v1/agents/main").await.expect(200).json()["files"], json!([]));
    for nobody in ["/v1/agents/nobody", "/v1/agents/NOT-A-NAME", "/v1/agents/nobody/files/SOUL.md"]
    {
        assert_eq!(onyx.get(nobody).await.expect(404).json()["code"], "not_found");
    }
}

#[tokio::test]
async fn a_file_is_written_once_for_each_version_that_was_read() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let put = |text: &'static str, header: &'static str, value: String| {
        let request = onyx.request(Method::PUT, SOUL).body(text);
        Reply::of(if header.is_empty() { request } else { request.header(header, value) })
    };
    let _ = onyx.get(SOUL).await.expect(404);
    let first = put("Be bold.", "if-none-match", "*".into()).await.expect(204);
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let read = onyx.get(SOUL).await.expect(200);
    assert_eq!((read.text().as_str(), read.headers["etag"].to_str().unwrap()), ("Be bold.", &*tag));
    assert_eq!(onyx.get("/v1/agents/main").await.json()["files"], json!(["SOUL.md"]));
    let again = put("Be shy.", "if-none-match", "*".into()).await.expect(412).json();
    assert_eq!(again["code"], "version_conflict");
    let second = put("Be kind.", "if-match", tag.clone()).await.expect(204);
    let stale = put("Be late.", "if-match", tag).await.expect(412).json();
    assert_eq!(stale["code"], "version_conflict");
    assert_ne!(second.headers["etag"], first.headers["etag"]);
    let _ = onyx.post(CHAT, &ask("main", "hi")).await.expect(200);
    assert!(system(&model.last_request()).contains("Be kind."));
    for name in ["x.txt", ".hidden.md", "%2e%2e%2fonyx.md"] {
        let path = format!("/v1/agents/main/files/{name}");
        let refused = Reply::of(onyx.request(Method::PUT, &path).body("x")).await;
        assert_eq!(refused.status, 400, "{name}: {}", refused.text());
    }
}
