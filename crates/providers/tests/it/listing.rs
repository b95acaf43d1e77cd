use crate::page_server::PageServer;
use crate::support::{KEY, NO_RETRY, ask, registry};
use onyx_providers::{Finding, ListedModel, ProviderProblem, ProviderSettings, Registry};
use onyx_test_support::ScriptedModel;
use onyx_types::{ErrorCode, ModelEvent};
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

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
        (404, "{}", "has no list of models"),
        (200, "<html>", "not in the expected format"),
        (503, "{}", "It is overloaded: wait, or name a fallback model."),
    ];
    for (status, body, words) in cases {
        let server = answer(status, body).await;
        let found = at("openai", &server.origin()).test("mine").await;
        assert!(found.advice.contains(words), "{status}: {}", found.advice);
    }
    let nobody = at("openai", "http://127.0.0.1:9/v1").test("mine").await;
    assert!(nobody.advice.starts_with("Nothing listens at its address"), "{}", nobody.advice);
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

async fn trouble_of(kind: &str, base_url: &str) -> (ProviderProblem, String) {
    let found = at(kind, base_url).test("mine").await;
    match found.finding {
        Finding::Fails { trouble, .. } => (trouble, found.advice),
        other => panic!("{other:?}"),
    }
}

/// A server that answers every request with plain text.
async fn plain_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // The client may have gone; the test notices that on its own side.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    address
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_apart() {
    let list = json!({"data": [{"id": "a"}]});
    let server = PageServer::with_pages([("GET /v1/models", list)]).await;
    let origin = server.origin();
    let cases = [
        ("http://no-such-host.invalid/v1".to_owned(), ProviderProblem::Dns, "cannot be found"),
        ("http://127.0.0.1:9/v1".to_owned(), ProviderProblem::Refused, "Nothing listens"),
        (format!("https://{}/v1", plain_server().await), ProviderProblem::Tls, "https"),
        (format!("{origin}/nowhere"), ProviderProblem::WrongAddress, "with `baseUrl: "),
    ];
    for (base, expected, words) in cases {
        let (trouble, advice) = trouble_of("openai", &base).await;
        assert_eq!(trouble, expected, "{base}: {advice}");
        assert!(advice.contains(words), "{advice}");
    }
    let (trouble, advice) = trouble_of("ollama", &origin).await;
    assert_eq!(trouble, ProviderProblem::WrongAddress);
    let meant = format!("It lists models as `kind: openai` with `baseUrl: {origin}/v1`.");
    assert!(advice.ends_with(&meant), "{advice}");
}

/// A redirect to another place must neither be followed with the key nor taken for an answer.
#[tokio::test]
async fn a_redirect_to_another_origin_is_refused_and_the_key_stays_here() {
    let list = json!({"data": [{"id": "stolen"}]});
    let thief = PageServer::with_pages([("GET /v1/models", list)]).await;
    for status in [301, 302, 303, 307, 308] {
        let target = format!("{}/v1/models", thief.origin());
        let server = PageServer::redirecting(status, target.clone()).await;
        let base = format!("{}/v1", server.origin());
        assert!(at("openai", &base).list_models("mine").await.is_err());
        let model = at("openai", &base).with_retry(NO_RETRY).model("mine/a").unwrap();
        let events = ask(&model).await;
        assert!(matches!(events.as_slice(), [ModelEvent::Failed(_)]), "{status}: {events:?}");
        assert_eq!(server.asked().len(), 2, "the key reached the place it is for");
    }
    assert_eq!(thief.asked().len(), 0, "nobody else was asked");
}
