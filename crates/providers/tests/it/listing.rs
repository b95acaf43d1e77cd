use crate::page_server::PageServer;
use crate::support::{KEY, registry};
use onyx_providers::{Finding, ListedModel, ProviderSettings, Registry};
use onyx_test_support::ScriptedModel;
use onyx_types::ErrorCode;
use serde_json::{Value, json};

fn at(kind: &str, base_url: &str) -> Registry {
    let settings = json!({"kind": kind, "baseUrl": base_url, "apiKey": KEY, "models": ["a"]});
    let settings: ProviderSettings = serde_json::from_value(settings).unwrap();
    Registry::resolve([("mine".to_owned(), settings)], &|_| None)
}

fn listed(id: &str) -> ListedModel {
    ListedModel { id: id.into(), context_window: None }
}

#[tokio::test]
async fn models_are_listed_over_the_route_of_each_wire() {
    let pages = [
        ("GET /v1/models", json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}]})),
        ("GET /bare/models", json!([{"id": "a", "context_length": 4096}])),
        ("GET /v1/models?limit=1000", json!({"data": [{"id": "claude"}], "has_more": false})),
        (
            "GET /v1beta/models?pageSize=1000",
            json!({"models": [{"name": "models/gemini", "inputTokenLimit": 9}]}),
        ),
        ("GET /api/tags", json!({"models": [{"name": "a:latest", "size": 1}]})),
    ];
    let server = PageServer::with_pages(pages).await;
    let list = async |kind, path| {
        let base = format!("{}{path}", server.origin());
        at(kind, &base).list_models("mine").await.unwrap()
    };
    assert_eq!(list("openai", "/v1").await, [listed("a"), listed("b")]);
    let windowed = ListedModel { context_window: Some(4096), ..listed("a") };
    assert_eq!(list("openai", "/bare/").await, [windowed]);
    assert_eq!(list("ollama", "").await, [listed("a:latest")]);
    assert_eq!(list("ollama", "/v1").await, [listed("a:latest")]);
    assert_eq!(list("anthropic", "").await, [listed("claude")]);
    assert_eq!(list("anthropic", "/v1").await, [listed("claude")]);
    let gemini = ListedModel { context_window: Some(9), ..listed("gemini") };
    assert_eq!(list("gemini", "").await, [gemini]);
    assert!(server.asked().iter().all(|asked| asked.head.contains(KEY)));
    let anthropic = &server.asked()[4].head;
    assert!(anthropic.contains(&format!("x-api-key: {KEY}")), "{anthropic}");
    assert!(anthropic.contains("anthropic-version: 2023-06-01"), "{anthropic}");
}

#[tokio::test]
async fn a_test_of_a_provider_says_what_it_found_in_words() {
    let server = ScriptedModel::start().await;
    server.set_models(["a", "b"]);
    let works = registry(&server, json!({"models": ["a"]})).test("mine").await;
    assert!(works.advice.ends_with("It lists 2 models."), "{}", works.advice);
    assert!(matches!(works.finding, Finding::Works { models, .. } if models.len() == 2));
    let missing = registry(&server, json!({"models": ["a", "gone"]})).test("mine").await;
    assert!(missing.advice.contains("It does not list gone:"), "{}", missing.advice);

    let answer = |status: u16, body: &str| {
        let body = body.to_owned();
        PageServer::answering(move |_| (status, body.clone()))
    };
    let cases = [
        (401, "{}", "It refuses the key: check `apiKey`."),
        (429, "{}", "The key works, but the account is at its limit"),
        (404, "{}", "knows no list of models"),
        (200, "<html>", "does not speak this wire"),
        (503, "{}", "It is overloaded: wait, or name a fallback model."),
    ];
    for (status, body, words) in cases {
        let server = answer(status, body).await;
        let found = at("openai", &server.origin()).test("mine").await;
        assert!(found.advice.contains(words), "{status}: {}", found.advice);
    }
    let nobody = at("openai", "http://127.0.0.1:9/v1").test("mine").await;
    assert!(nobody.advice.starts_with("Nothing answers at its address"), "{}", nobody.advice);
    let unknown = at("openai", "http://127.0.0.1:9/v1").test("yours").await;
    assert_eq!(unknown.advice, "No provider is named yours in the config; there are: mine.");
}

#[tokio::test]
async fn a_provider_that_echoes_the_key_does_not_get_it_into_a_finding() {
    let echo = format!(r#"{{"error": {{"message": "bad key {KEY}"}}}}"#);
    let server = PageServer::answering(move |_| (401, echo.clone())).await;
    let registry = at("openai", &server.origin());
    let found = registry.test("mine").await;
    let printed = format!("{found:?} {}", serde_json::to_string(&found).unwrap());
    assert!(printed.contains("bad key ***") && !printed.contains(KEY), "{printed}");
    let fault = registry.list_models("mine").await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ProviderAuth);
    assert!(!fault.message.contains(KEY));
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let thief = PageServer::with_pages([("GET /models", Value::Null)]).await;
    let target = thief.origin();
    // Without a Location header a client has nowhere to go; the status alone must not pass either.
    let server = PageServer::answering(move |_| (302, target.clone())).await;
    assert!(at("openai", &server.origin()).list_models("mine").await.is_err());
    assert_eq!(thief.asked().len(), 0);
}
