//! Failures at a provider, in the form that the libraries of the client's maker expect.

use onyx_test_support::{Answer, ErrorKind, OnyxProcess, ScriptedModel, Wire};
use serde_json::{Value, json};

use super::{CHAT, ask};
use crate::builder;

async fn server(model: &ScriptedModel) -> OnyxProcess {
    builder(model)
        .merge(json!({"providers": {
            "claude": {"kind": "anthropic", "baseUrl": model.base_url_of(Wire::Anthropic), "apiKey": "k"},
            "gem": {"kind": "gemini", "baseUrl": model.base_url_of(Wire::Gemini), "apiKey": "k",
                "models": [{"id": "m", "contextWindow": 1000}]},
        }}))
        .start()
        .await
}

fn message(target: &str) -> Value {
    json!({"model": target, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
}

#[tokio::test]
async fn status_code_field_and_limits_of_the_provider_are_kept() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let refused = json!({"error": {"message": "bad value", "type": "invalid_request_error",
        "param": "messages[0].content", "code": "invalid_value"}});
    model.push(Answer::status(422, refused.to_string()));
    let reply = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(422).json();
    let error = &reply["error"];
    assert_eq!(
        (&error["type"], &error["param"], &error["code"]),
        (&json!("invalid_request_error"), &json!("messages[0].content"), &json!("invalid_value"))
    );

    let limited = Answer::error(ErrorKind::RateLimited)
        .header("retry-after", "77")
        .header("x-ratelimit-remaining-requests", "0");
    model.push(limited);
    let reply = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(429);
    assert_eq!(reply.headers["retry-after"], "77");
    assert_eq!(reply.headers["x-ratelimit-remaining-requests"], "0");
    assert_eq!(reply.json()["error"]["code"], "rate_limit_exceeded");

    let limited = Answer::error(ErrorKind::RateLimited)
        .header("retry-after", "78")
        .header("anthropic-ratelimit-tokens-remaining", "0");
    model.push(limited);
    let reply = onyx.post("/v1/messages", &message("claude/m")).await.expect(429);
    assert_eq!(reply.headers["retry-after"], "78");
    assert_eq!(reply.headers["anthropic-ratelimit-tokens-remaining"], "0");
    assert_eq!(reply.json()["error"]["type"], "rate_limit_error");

    model.push(Answer::text("ok").header("x-ratelimit-limit-tokens", "9000"));
    let reply = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(200);
    assert_eq!(reply.headers["x-ratelimit-limit-tokens"], "9000");
}

#[tokio::test]
async fn a_limit_that_an_agent_meets_is_told_with_its_wait_whole_and_streamed() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let limited = || Answer::error(ErrorKind::RateLimited).header("retry-after", "77");
    for streamed in [false, true] {
        model.push(limited());
        let mut body = ask("onyx:main", "hi");
        body["stream"] = streamed.into();
        let reply = onyx.post(CHAT, &body).await.expect(429);
        assert_eq!(reply.headers["retry-after"], "77", "{streamed}");
        assert_eq!(reply.json()["error"]["code"], "provider_rate_limited", "{streamed}");

        model.push(limited());
        let mut body = message("onyx:main");
        body["stream"] = streamed.into();
        let reply = onyx.post("/v1/messages", &body).await.expect(429);
        assert_eq!(reply.headers["retry-after"], "77", "{streamed}");
        assert_eq!(reply.json()["error"]["type"], "rate_limit_error", "{streamed}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_told_in_each_makers_way() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    model.set_default(Answer::error(ErrorKind::ContextLength));
    // Gemini has no code for this error, so it is recognised by the length of the prompt.
    let long = "word ".repeat(2000);
    for target in ["mine/m", "claude/m", "gem/m"] {
        let reply = onyx.post(CHAT, &ask(target, &long)).await.expect(400).json();
        assert_eq!(reply["error"]["code"], "context_length_exceeded", "{target}");
        let mut body = message(target);
        body["messages"][0]["content"] = long.clone().into();
        let reply = onyx.post("/v1/messages", &body).await.expect(400).json();
        assert_eq!(reply["error"]["type"], "invalid_request_error", "{target}: {reply}");
        let said = reply["error"]["message"].as_str().unwrap();
        assert!(said.starts_with("prompt is too long"), "{said}");
        let body = json!({"model": target, "input": long, "stream": false});
        let reply = onyx.post("/v1/responses", &body).await.expect(400).json();
        assert_eq!(reply["error"]["code"], "context_length_exceeded", "{target}");
    }
    let reply = onyx.post(CHAT, &ask("gem/m", "short")).await.expect(400).json();
    assert_ne!(reply["error"]["code"], "context_length_exceeded");
}

#[tokio::test]
async fn all_attempts_of_a_request_are_one_failure_and_a_paused_model_says_for_how_long() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    model.set_default(Answer::error(ErrorKind::Server).header("retry-after", "0"));
    for request in 0..5 {
        let reply = onyx.post(CHAT, &ask("mine/m", &format!("try {request}"))).await;
        assert_eq!(reply.status, 500, "{}", reply.text());
    }
    assert_eq!(model.request_count(), 15, "three attempts each");
    let reply = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(503);
    let wait: u64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=15).contains(&wait), "{wait}");
    assert_eq!(reply.json()["error"]["code"], "provider_paused");
    assert_eq!(model.request_count(), 15);
}

#[tokio::test]
async fn what_one_person_asks_wrongly_pauses_a_model_for_nobody() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    model.set_default(Answer::error(ErrorKind::InvalidRequest));
    for _ in 0..8 {
        let _ = onyx.post(CHAT, &ask("mine/m", "bad")).await.expect(400);
    }
    model.set_default(Answer::text("fine"));
    let reply = onyx.post(CHAT, &ask("mine/m", "good")).await.expect(200).json();
    assert_eq!(reply["choices"][0]["message"]["content"], "fine");
}
