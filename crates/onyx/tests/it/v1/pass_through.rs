use onyx_test_support::{
    Answer, DEFAULT_KEY, ErrorKind, Fault, OnyxProcess, Script, ScriptedCall, ScriptedError,
    ScriptedModel, Step, Wire,
};
use serde_json::{Value, json};

use super::{CHAT, ask, content, finish, frames, stream};
use crate::{builder, onyx};

/// One provider for each wire format of clients, all at the same scripted server.
async fn providers(model: &ScriptedModel) -> OnyxProcess {
    builder(model)
        .merge(json!({"providers": {
            "claude": {"kind": "anthropic", "baseUrl": model.base_url_of(Wire::Anthropic), "apiKey": "key-c"},
            "resp": {"kind": "openai-responses", "baseUrl": model.base_url(), "apiKey": "key-r"},
            "gem": {"kind": "gemini", "baseUrl": model.base_url_of(Wire::Gemini), "apiKey": "key-g"},
        }}))
        .start()
        .await
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = true.into();
    body
}

#[tokio::test]
async fn the_same_wire_passes_byte_for_byte_with_model_and_key_replaced() {
    let script = || Script::text_pieces(["Hel", "lo", "."]);
    let model = ScriptedModel::with_answers([Answer::script(script())]).await;
    let onyx = onyx(&model).await;
    let mut body = streamed(ask("mine/some-model", "hi"));
    body["seed"] = 7.into();
    body["logit_bias"] = json!({"50256": -100});
    body["x-onyx-include-memory"] = "false".into();
    let reply = onyx.post(CHAT, &body).await.expect(200);
    let asked = model.last_request();
    let mut expected = body.clone();
    expected["model"] = "some-model".into();
    expected.as_object_mut().unwrap().shift_remove("x-onyx-include-memory");
    assert_eq!(asked.body, expected);
    assert_eq!(asked.header("authorization"), Some(&*format!("Bearer {DEFAULT_KEY}")));
    let sent = Wire::OpenAiChat.stream(&script(), &asked.body).bytes();
    assert_eq!(reply.body, sent);
    assert!(reply.headers.get("x-onyx-session-id").is_none());
    let sessions = onyx.get("/v1/sessions?origin=api").await.json();
    assert_eq!(sessions["sessions"], json!([]));
}

#[tokio::test]
async fn a_whole_answer_and_every_dialect_pass_on_their_own_wire() {
    let model = ScriptedModel::start().await;
    let onyx = providers(&model).await;
    let whole = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(200).json();
    assert_eq!(whole["choices"][0]["message"]["content"], "ok");
    let body = json!({"model": "resp/m", "input": "hi", "reasoning": {"effort": "low"}});
    let reply = onyx.post("/v1/responses", &body).await.expect(200).json();
    assert_eq!(reply["object"], "response");
    assert_eq!(model.last_request().body["reasoning"], json!({"effort": "low"}));
    let body = json!({"model": "claude/m", "max_tokens": 9, "top_k": 3,
        "messages": [{"role": "user", "content": "hi"}]});
    let reply = onyx.post("/v1/messages", &body).await.expect(200).json();
    assert_eq!(reply["content"][0]["text"], "ok");
    let asked = model.last_request();
    assert_eq!((asked.header("x-api-key"), &asked.body["top_k"]), (Some("key-c"), &json!(3)));
}

#[tokio::test]
async fn another_wire_is_asked_in_its_own_words() {
    let model = ScriptedModel::start().await;
    let onyx = providers(&model).await;
    for provider in ["claude", "resp", "gem"] {
        let calls = [ScriptedCall::new("c1", "weather", &json!({"town": "Rome"}))];
        model.push(Answer::tool_calls(calls));
        let body = json!({
            "model": format!("{provider}/m"),
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "weather?"},
            ],
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
            "max_tokens": 50,
        });
        let asked = onyx.post(CHAT, &body).await.expect(200).json();
        let choice = &asked["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{provider}");
        let function = &choice["message"]["tool_calls"][0]["function"];
        assert_eq!(function["arguments"], "{\"town\":\"Rome\"}", "{provider}");
        assert!(model.last_request().body.to_string().contains("Be brief."));

        model.push(Script::text_pieces(["Hel", "lo."]));
        let mut body = streamed(ask(&format!("{provider}/m"), "hi"));
        body["stream_options"] = json!({"include_usage": true});
        let chunks = stream(&onyx, CHAT, &body).await;
        assert_eq!((content(&chunks).as_str(), finish(&chunks)), ("Hello.", Some("stop")));
        assert_eq!(chunks[chunks.len() - 2]["usage"]["completion_tokens"], 5, "{provider}");
        assert_eq!(chunks.last().unwrap(), "[DONE]");
    }
}

#[tokio::test]
async fn a_failure_before_the_first_word_is_retried_and_then_told_by_status() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    model.push(Answer::error(ErrorKind::Overloaded).header("retry-after", "0"));
    // Only the head and the first frame came, without a word, so the failure still has its own
    // status.
    let silent = Wire::OpenAiChat.stream(&Script::text("ok"), &json!({})).boundaries()[0];
    model.push(Answer::text("never").fault(Fault::ResetAt(silent.min(20))));
    let reply = onyx.post(CHAT, &streamed(ask("mine/m", "hi"))).await.expect(200);
    assert_eq!(content(&frames(&reply.text())), "ok");
    assert_eq!(model.request_count(), 3);
    model.push(Answer::error(ErrorKind::InvalidRequest));
    let refused = onyx.post(CHAT, &streamed(ask("mine/m", "hi"))).await.expect(400).json();
    assert_eq!(refused["error"]["code"], "invalid_value");
    model.push(Answer::error(ErrorKind::Auth));
    let refused = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(401).json();
    assert_eq!(refused["error"]["code"], "invalid_api_key");
}

#[tokio::test]
async fn an_answer_cut_at_any_byte_ends_with_an_error_and_no_half_frame() {
    let script = Script::text_pieces(["first", "second"]);
    let bytes = Wire::OpenAiChat.stream(&script, &json!({"model": "m"})).bytes();
    let text = String::from_utf8(bytes).unwrap();
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let after_first = text.find("first").unwrap() + 40;
    let before_end = text.find("finish_reason\":\"stop").unwrap();
    for cut in (after_first..before_end).step_by(37) {
        model.push(Answer::script(script.clone()).fault(Fault::EndAt(cut)));
        // Each case uses another model, because one that keeps failing is paused.
        let cut_model = format!("mine/m{cut}");
        let reply = onyx.post(CHAT, &streamed(ask(&cut_model, "hi"))).await.expect(200);
        let chunks = frames(&reply.text());
        let [said @ .., error, end] = chunks.as_slice() else { panic!("{chunks:?}") };
        assert!(said.iter().all(Value::is_object), "cut at {cut}: {chunks:?}");
        assert_eq!(error["error"]["code"], "provider_truncated", "cut at {cut}");
        assert_eq!(end, "[DONE]");
    }
}

#[tokio::test]
async fn a_providers_error_frame_is_told_in_our_words_and_without_the_key() {
    let leaking = Script::new([
        Step::Text("half".to_owned()),
        Step::Error(ScriptedError::new(ErrorKind::Server, format!("no such key: {DEFAULT_KEY}"))),
    ]);
    let model = ScriptedModel::with_answers([leaking]).await;
    let onyx = onyx(&model).await;
    let reply = onyx.post(CHAT, &streamed(ask("mine/m", "hi"))).await.expect(200);
    assert!(!reply.text().contains(DEFAULT_KEY), "{}", reply.text());
    let chunks = frames(&reply.text());
    assert_eq!(content(&chunks), "half");
    assert_eq!(chunks[chunks.len() - 2]["error"]["code"], "provider_unavailable");
}

#[tokio::test]
async fn a_model_that_keeps_failing_is_left_alone() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    model.set_default(Answer::error(ErrorKind::Server).header("retry-after", "0"));
    let mut last = 0;
    for _ in 0..6 {
        onyx.post(CHAT, &ask("mine/m", "hi")).await;
        last = model.request_count();
    }
    let refused = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(503).json();
    assert_eq!(refused["error"]["code"], "provider_paused");
    assert_eq!(model.request_count(), last);
}

#[tokio::test]
async fn what_passes_through_counts_in_the_persons_day() {
    let model = ScriptedModel::start().await;
    let priced = json!({"id": "m", "price": {"input": 100_000.0, "output": 100_000.0}});
    let onyx = builder(&model)
        .merge(json!({"providers": {"mine": {"models": [priced]}}, "limits": {"max_cost_per_day": 1.0}}))
        .start()
        .await;
    let _ = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(200);
    onyx_test_support::wait_for("the day's budget to be met", crate::SOON, async || {
        let reply = onyx.post(CHAT, &ask("mine/m", "hi")).await;
        (reply.status == 422 && reply.json()["error"]["code"] == "limit_budget").then_some(())
    })
    .await;
}
