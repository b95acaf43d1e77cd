use crate::page_server::{Asked, PageServer};
use crate::support::KEY;
use onyx_providers::{BreakerPolicy, ProviderSettings, Registry, RetryPolicy};
use onyx_types::{EmbedderIdentity, ErrorCode, ModelFailureClass};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const QUICK: RetryPolicy =
    RetryPolicy { attempts: 3, base: Duration::from_millis(1), longest: Duration::from_millis(20) };

fn registry(kind: &str, server: &PageServer) -> Registry {
    let settings = json!({"kind": kind, "baseUrl": format!("{}/v1", server.origin()),
        "apiKey": KEY, "models": [{"id": "known", "dims": 2}]});
    let settings: ProviderSettings = serde_json::from_value(settings).unwrap();
    Registry::resolve([("mine".to_owned(), settings)], &|_| None).with_retry(QUICK)
}

/// A vector that encodes the length of its text.
fn vector(text: &Value) -> Value {
    json!([text.as_str().unwrap().len() as f32, 0.5])
}

fn inputs(asked: &Asked) -> Vec<Value> {
    asked.body["input"].as_array().unwrap().clone()
}

/// Answers in reverse order: the index says where each vector belongs.
fn openai(asked: &Asked) -> (u16, String) {
    let rows = inputs(asked).iter().enumerate().rev().map(
        |(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}),
    ).collect::<Vec<_>>();
    (200, json!({"data": rows, "usage": {"prompt_tokens": 3}}).to_string())
}

fn ollama(asked: &Asked) -> (u16, String) {
    let rows: Vec<Value> = inputs(asked).iter().map(vector).collect();
    (200, json!({"embeddings": rows}).to_string())
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[tokio::test]
async fn texts_become_vectors_in_their_order_over_both_wires() {
    let expected = vec![vec![1.0, 0.5], vec![3.0, 0.5], vec![2.0, 0.5]];
    let identity =
        |model: &str| EmbedderIdentity { provider: "mine".into(), model: model.into(), dims: 2 };

    let server = PageServer::answering(openai).await;
    let embedder = registry("openai", &server).embedder("mine/known").await.unwrap();
    assert_eq!(embedder.embed(texts(&["a", "bcd", "ef"])).await, Ok(expected.clone()));
    assert_eq!(embedder.identity(), identity("known"));
    let asked = server.asked();
    let body = json!({"model": "known", "input": ["a", "bcd", "ef"], "encoding_format": "float"});
    assert_eq!((asked.len(), asked[0].line.as_str()), (1, "POST /v1/embeddings"));
    assert_eq!(asked[0].body, body);

    let server = PageServer::answering(ollama).await;
    let embedder = registry("ollama", &server).embedder("mine/nomic").await.unwrap();
    assert_eq!(embedder.identity(), identity("nomic"));
    assert_eq!(embedder.embed(texts(&["a", "bcd", "ef"])).await, Ok(expected));
    let lines: Vec<String> = server.asked().into_iter().map(|asked| asked.line).collect();
    // The first request asked for the length of the vectors.
    assert_eq!(lines, ["POST /api/embed", "POST /api/embed"]);
}

#[tokio::test]
async fn many_texts_go_in_several_requests_and_none_in_none() {
    let server = PageServer::answering(openai).await;
    let embedder = registry("openai", &server).embedder("mine/known").await.unwrap();
    assert_eq!(embedder.embed(Vec::new()).await, Ok(Vec::new()));
    let many: Vec<String> = (0..150).map(|length| "x".repeat(length + 1)).collect();
    let vectors = embedder.embed(many).await.unwrap();
    let lengths: Vec<f32> = vectors.iter().map(|vector| vector[0]).collect();
    assert_eq!(lengths, (1..=150).map(|length| length as f32).collect::<Vec<_>>());
    let large = vec!["y".repeat(100_000); 3];
    assert_eq!(embedder.embed(large).await.unwrap().len(), 3);
    let sizes: Vec<usize> = server.asked().iter().map(|asked| inputs(asked).len()).collect();
    assert_eq!(sizes, [64, 64, 22, 2, 1]);
}

#[tokio::test]
async fn what_cannot_be_embedded_is_said_before_anything_is_sent() {
    let server = PageServer::answering(openai).await;
    let embedder = registry("openai", &server).embedder("mine/known").await.unwrap();
    for text in [String::new(), "z".repeat(300_000)] {
        let failure = embedder.embed(vec!["fine".to_owned(), text]).await.unwrap_err();
        assert_eq!(failure.class, ModelFailureClass::InvalidRequest);
        assert!(failure.message.starts_with("text 2 of 2 has "), "{failure}");
    }
    assert_eq!(server.asked().len(), 0);
    let fault = registry("anthropic", &server).embedder("mine/known").await.err().unwrap();
    assert_eq!(fault.code, ErrorCode::ModelNotFound);
}

#[tokio::test]
async fn vectors_that_do_not_fit_are_refused() {
    let answers = [
        (json!({"data": []}), ModelFailureClass::Transport),
        (
            json!({"data": [{"index": 0, "embedding": [1, 2, 3]}]}),
            ModelFailureClass::InvalidRequest,
        ),
        (json!({"data": [{"index": 0, "embedding": [1, 1e99]}]}), ModelFailureClass::Transport),
        (json!({"vectors": 1}), ModelFailureClass::Transport),
    ];
    for (answer, class) in answers {
        let body = answer.to_string();
        let server = PageServer::answering(move |_| (200, body.clone())).await;
        let embedder = registry("openai", &server).embedder("mine/known").await.unwrap();
        let failure = embedder.embed(texts(&["a"])).await.unwrap_err();
        assert_eq!(failure.class, class, "{answer}: {failure}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_keys_stay_out_of_failures() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let server = PageServer::answering(move |asked| match seen.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => (529, String::new()),
        2 => openai(asked),
        _ => (401, format!(r#"{{"error": {{"message": "wrong key {KEY}"}}}}"#)),
    })
    .await;
    let embedder = registry("openai", &server).embedder("mine/known").await.unwrap();
    assert_eq!(embedder.embed(texts(&["a"])).await, Ok(vec![vec![1.0, 0.5]]));
    let failure = embedder.embed(texts(&["a"])).await.unwrap_err();
    assert_eq!((failure.class, server.asked().len()), (ModelFailureClass::Auth, 4));
    assert!(failure.message.contains("***") && !failure.message.contains(KEY));
}

#[tokio::test]
async fn a_provider_at_rest_gets_no_request_for_vectors_either() {
    let server = PageServer::answering(|_| (503, String::new())).await;
    let breaker = BreakerPolicy { failures: 2, ..BreakerPolicy::default() };
    let registry = registry("openai", &server).with_breaker(breaker);
    let embedder = registry.embedder("mine/known").await.unwrap();
    for _ in 0..2 {
        assert!(embedder.embed(texts(&["a"])).await.is_err());
    }
    assert_eq!(server.asked().len(), 2);
}
