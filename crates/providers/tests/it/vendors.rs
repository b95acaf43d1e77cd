use crate::page_server::PageServer;
use crate::support::{KEY, NO_RETRY, ask};
use onyx_providers::{ProviderSettings, Registry};
use serde_json::{Value, json};

#[tokio::test]
async fn claude_on_vertex_is_named_in_the_path_and_its_version_in_the_body() {
    let server = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let base = format!("{}/v1/projects/p/locations/r", server.origin());
    let settings: ProviderSettings =
        serde_json::from_value(json!({"baseUrl": base, "apiKey": KEY})).unwrap();
    let registry = Registry::resolve([("vertex_claude".to_owned(), settings)], &|_| None);
    let registry = registry.with_retry(NO_RETRY);
    ask(&registry.model("vertex_claude/claude-3-5-haiku@20241022").unwrap()).await;
    let asked = &server.asked()[0];
    let path = "/v1/projects/p/locations/r/publishers/anthropic/models";
    assert_eq!(asked.line, format!("POST {path}/claude-3-5-haiku@20241022:streamRawPredict"));
    assert!(asked.head.contains(&format!("authorization: Bearer {KEY}")), "{}", asked.head);
    assert_eq!(asked.body["model"], Value::Null);
    assert_eq!(asked.body["anthropic_version"], "vertex-2023-10-16");
    let facts = registry.facts("vertex_claude/claude-3-5-haiku@20241022").unwrap();
    assert_eq!(facts.context_window, Some(200_000));
}
