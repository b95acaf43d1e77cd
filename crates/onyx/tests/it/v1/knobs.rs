//! Settings of the model: each is passed on to the provider, or the client is told that it was not.

use onyx_test_support::{OnyxProcess, ScriptedModel, Wire};
use serde_json::{Value, json};

use super::fields::ignored;
use super::{CHAT, ask};
use crate::builder;

/// A field of a request, a distinctive value, and the part of it that the provider's request shows.
struct Case {
    path: &'static str,
    field: &'static str,
    value: Value,
    mark: &'static str,
}

fn case(path: &'static str, field: &'static str, value: Value, mark: &'static str) -> Case {
    Case { path, field, value, mark }
}

fn cases() -> Vec<Case> {
    vec![
        case(CHAT, "top_p", json!(0.125), "0.125"),
        case(CHAT, "top_k", json!(3737), "3737"),
        case(CHAT, "min_p", json!(0.0625), "0.0625"),
        case(CHAT, "seed", json!(424_242), "424242"),
        case(CHAT, "frequency_penalty", json!(0.375), "0.375"),
        case(CHAT, "presence_penalty", json!(0.625), "0.625"),
        case(CHAT, "logit_bias", json!({"4711": -3}), "4711"),
        case(CHAT, "stop", json!("HALT"), "HALT"),
        case(CHAT, "prompt_cache_key", json!("cachekey"), "cachekey"),
        case("/v1/messages", "top_k", json!(3737), "3737"),
        case("/v1/messages", "stop_sequences", json!(["HALT"]), "HALT"),
        case("/v1/responses", "top_p", json!(0.125), "0.125"),
    ]
}

/// A server with a provider of every wire format, all at the same scripted server. `think` has
/// models that can reason.
async fn server(model: &ScriptedModel) -> OnyxProcess {
    let at = |wire| model.base_url_of(wire);
    let thinking = json!([{"id": "think", "reasoning": true, "maxOutputTokens": 60_000}]);
    builder(model)
        .merge(json!({"providers": {
            "mine": {"models": [{"id": "m"}, {"id": "think", "reasoning": true}]},
            "claude": {"kind": "anthropic", "baseUrl": at(Wire::Anthropic), "apiKey": "k", "models": thinking},
            "resp": {"kind": "openai-responses", "baseUrl": model.base_url(), "apiKey": "k", "models": thinking},
            "gem": {"kind": "gemini", "baseUrl": at(Wire::Gemini), "apiKey": "k", "models": thinking},
            "llama": {"kind": "ollama", "baseUrl": at(Wire::Ollama), "models": thinking},
        }}))
        .start()
        .await
}

fn body(path: &str, target: &str) -> Value {
    match path {
        "/v1/responses" => json!({"model": target, "input": "hi"}),
        "/v1/messages" => {
            json!({"model": target, "max_tokens": 50_000, "messages": [{"role": "user", "content": "hi"}]})
        }
        _ => ask(target, "hi"),
    }
}

#[tokio::test]
async fn every_setting_arrives_or_is_named_on_every_wire() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let mut arrived = Vec::new();
    for Case { path, field, value, mark } in cases() {
        for target in ["main", "mine/m", "claude/m", "resp/m", "gem/m", "llama/m"] {
            let mut body = body(path, target);
            body[field] = value.clone();
            let reply = onyx.post(path, &body).await.expect(200);
            let named = ignored(&reply).split(", ").any(|name| name == field);
            let there = model.last_request().body.to_string().contains(mark);
            // The responses format has no stop words, so Onyx applies them itself.
            let kept = target == "resp/m" && mark == "HALT";
            assert!(there != named || kept, "{path} {field} to {target}: {}", ignored(&reply));
            if there {
                arrived.push(format!("{field} {target}"));
            }
        }
    }
    for expected in [
        "top_p main",
        "top_p claude/m",
        "top_p gem/m",
        "top_p llama/m",
        "top_p resp/m",
        "top_k claude/m",
        "top_k gem/m",
        "top_k llama/m",
        "min_p llama/m",
        "seed main",
        "seed gem/m",
        "logit_bias main",
        "stop main",
        "stop claude/m",
        "stop_sequences mine/m",
        "frequency_penalty main",
        "presence_penalty llama/m",
    ] {
        assert!(arrived.iter().any(|found| found == expected), "{expected} did not arrive");
    }
}

#[tokio::test]
async fn stop_words_end_an_answer_where_the_wire_has_none() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    model.push(onyx_test_support::Script::text_pieces(["one tw", "o HA", "LT three"]));
    let mut body = ask("resp/m", "count");
    body["stop"] = "HALT".into();
    let reply = onyx.post(CHAT, &body).await.expect(200);
    assert_eq!(ignored(&reply), "");
    let reply = reply.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "one two ");
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert_eq!(reply["usage"]["completion_tokens"], 5);
}

#[tokio::test]
async fn how_hard_to_think_is_said_in_each_wires_own_words() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let table = [
        ("mine", "/reasoning_effort", json!("high")),
        ("resp", "/reasoning/effort", json!("high")),
        ("claude", "/thinking/budget_tokens", json!(16_384)),
        ("gem", "/generationConfig/thinkingConfig/thinkingBudget", json!(16_384)),
        ("llama", "/think", json!(true)),
    ];
    for (provider, place, expected) in table {
        let dialects = [
            (CHAT, "reasoning_effort", json!("high")),
            ("/v1/responses", "reasoning", json!({"effort": "high"})),
            ("/v1/messages", "output_config", json!({"effort": "high"})),
        ];
        for (path, field, value) in dialects {
            let same = [("mine", CHAT), ("resp", "/v1/responses"), ("claude", "/v1/messages")];
            if same.contains(&(provider, path)) {
                continue;
            }
            let mut thinking = body(path, &format!("{provider}/think"));
            thinking[field] = value.clone();
            let reply = onyx.post(path, &thinking).await.expect(200);
            assert_eq!(ignored(&reply), "", "{path} to {provider}");
            let asked = model.last_request().body;
            assert_eq!(asked.pointer(place), Some(&expected), "{path} to {provider}: {asked}");

            let mut plain = body(path, &format!("{provider}/m"));
            plain[field] = value.clone();
            let reply = onyx.post(path, &plain).await.expect(200);
            assert!(
                ignored(&reply).starts_with(field),
                "{path} to {provider}: {}",
                ignored(&reply)
            );
            let asked = model.last_request().body;
            assert_eq!(asked.pointer(place), None, "{path} to {provider}");
        }
    }
}
