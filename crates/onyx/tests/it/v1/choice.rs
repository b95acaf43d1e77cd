//! Clients that say whether and which tools must be called.

use onyx_test_support::{Answer, OnyxProcess, ScriptedCall, ScriptedModel, Wire};
use serde_json::{Value, json};

use super::CHAT;
use crate::builder;

/// How a wire format writes a choice of tools.
struct Dialect {
    path: &'static str,
    body: fn(&str) -> Value,
    required: fn() -> Value,
    named: fn(&str) -> Value,
    none: fn() -> Value,
    /// The path of a tool's name.
    name: &'static str,
}

const DIALECTS: [Dialect; 3] = [
    Dialect {
        path: CHAT,
        body: |model| {
            json!({"model": model, "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"type": "function", "function": {"name": "weather"}}]})
        },
        required: || "required".into(),
        named: |name| json!({"type": "function", "function": {"name": name}}),
        none: || "none".into(),
        name: "tool_choice.function.name",
    },
    Dialect {
        path: "/v1/responses",
        body: |model| json!({"model": model, "input": "hi", "tools": [{"type": "function", "name": "weather"}]}),
        required: || "required".into(),
        named: |name| json!({"type": "function", "name": name}),
        none: || "none".into(),
        name: "tool_choice.name",
    },
    Dialect {
        path: "/v1/messages",
        body: |model| {
            json!({"model": model, "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"name": "weather", "input_schema": {"type": "object"}}]})
        },
        required: || json!({"type": "any"}),
        named: |name| json!({"type": "tool", "name": name}),
        none: || json!({"type": "none"}),
        name: "tool_choice.name",
    },
];

impl Dialect {
    fn with(&self, model: &str, choice: Value) -> Value {
        let mut body = (self.body)(model);
        body["tool_choice"] = choice;
        body
    }
}

/// Providers of three wire formats, so that each dialect meets two that are not its own.
async fn providers(model: &ScriptedModel) -> OnyxProcess {
    builder(model)
        .merge(json!({"providers": {
            "claude": {"kind": "anthropic", "baseUrl": model.base_url_of(Wire::Anthropic), "apiKey": "k"},
            "resp": {"kind": "openai-responses", "baseUrl": model.base_url(), "apiKey": "k"},
            "gem": {"kind": "gemini", "baseUrl": model.base_url_of(Wire::Gemini), "apiKey": "k"},
            "llama": {"kind": "ollama", "baseUrl": model.base_url_of(Wire::Ollama)},
        }}))
        .start()
        .await
}

fn weather() -> Answer {
    Answer::tool_calls([ScriptedCall::new("c1", "weather", &json!({}))])
}

#[tokio::test]
async fn an_agent_that_must_call_a_tool_of_the_client_is_offered_nothing_else() {
    let model = ScriptedModel::start().await;
    let onyx = providers(&model).await;
    for dialect in &DIALECTS {
        for (choice, sent) in [
            ((dialect.required)(), json!("required")),
            (
                (dialect.named)("weather"),
                json!({"type": "function", "function": {"name": "weather"}}),
            ),
        ] {
            model.push(weather());
            let reply = onyx.post(dialect.path, &dialect.with("main", choice)).await.expect(200);
            assert!(reply.text().contains("weather"), "{}", reply.text());
            let asked = model.last_request().body;
            assert_eq!(asked["tool_choice"], sent, "{}", dialect.path);
            assert_eq!(asked["tools"].as_array().unwrap().len(), 1, "{}", asked["tools"]);
        }
        let _ = onyx.post(dialect.path, &dialect.with("main", (dialect.none)())).await.expect(200);
        let asked = model.last_request().body;
        assert_eq!(asked.get("tool_choice"), None);
        let offered = asked["tools"].to_string();
        assert!(offered.contains("read_file") && !offered.contains("weather"), "{offered}");
    }
}

#[tokio::test]
async fn another_wire_is_told_of_the_choice_and_one_that_cannot_say_it_is_not_asked() {
    let model = ScriptedModel::start().await;
    let onyx = providers(&model).await;
    let named = json!({"type": "function", "function": {"name": "weather"}});
    let table = [
        ("mine", "/tool_choice", json!("required"), named, json!("none")),
        (
            "resp",
            "/tool_choice",
            json!("required"),
            json!({"type": "function", "name": "weather"}),
            json!("none"),
        ),
        (
            "claude",
            "/tool_choice",
            json!({"type": "any"}),
            json!({"type": "tool", "name": "weather"}),
            json!({"type": "none"}),
        ),
        (
            "gem",
            "/toolConfig/functionCallingConfig",
            json!({"mode": "ANY"}),
            json!({"mode": "ANY", "allowedFunctionNames": ["weather"]}),
            json!({"mode": "NONE"}),
        ),
    ];
    for dialect in &DIALECTS {
        for (provider, place, required, named, none) in &table {
            for (choice, sent) in [
                ((dialect.required)(), required),
                ((dialect.named)("weather"), named),
                ((dialect.none)(), none),
            ] {
                let body = dialect.with(&format!("{provider}/m"), choice);
                let _ = onyx.post(dialect.path, &body).await.expect(200);
                let asked = model.last_request().body;
                assert_eq!(asked.pointer(place), Some(sent), "{} to {provider}", dialect.path);
            }
        }
        let before = model.request_count();
        for choice in [(dialect.required)(), (dialect.named)("weather")] {
            let body = dialect.with("llama/m", choice);
            let refused = onyx.post(dialect.path, &body).await.expect(400).json();
            assert!(refused.to_string().contains("tool_choice"), "{refused}");
            if dialect.path != "/v1/messages" {
                assert_eq!(refused["error"]["param"], "tool_choice");
            }
        }
        assert_eq!(model.request_count(), before);
    }
}

#[tokio::test]
async fn a_choice_of_what_is_not_there_is_refused_with_its_path() {
    let model = ScriptedModel::start().await;
    let onyx = providers(&model).await;
    for dialect in &DIALECTS {
        for target in ["main", "gem/m"] {
            let mut without = dialect.with(target, (dialect.required)());
            without.as_object_mut().unwrap().remove("tools");
            let other = dialect.with(target, (dialect.named)("snow"));
            let garbage = dialect.with(target, json!("perhaps"));
            for (body, path) in
                [(without, "tool_choice"), (other, dialect.name), (garbage, "tool_choice")]
            {
                let refused = onyx.post(dialect.path, &body).await.expect(400).json();
                assert!(refused["error"]["message"].as_str().unwrap().contains(path), "{refused}");
            }
        }
    }
    assert_eq!(model.request_count(), 0);
}

#[tokio::test]
async fn one_call_at_a_time_is_asked_for_where_it_can_be() {
    let model = ScriptedModel::start().await;
    let onyx = providers(&model).await;
    let [chat, responses, messages] = &DIALECTS;
    let single = |dialect: &Dialect, target: &str| {
        let mut body = (dialect.body)(target);
        if dialect.path == "/v1/messages" {
            body["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true});
        } else {
            body["parallel_tool_calls"] = false.into();
        }
        body
    };
    let _ = onyx.post(messages.path, &single(messages, "main")).await.expect(200);
    assert_eq!(model.last_request().body["parallel_tool_calls"], false);
    let _ = onyx.post(responses.path, &single(responses, "claude/m")).await.expect(200);
    assert_eq!(model.last_request().body["tool_choice"]["disable_parallel_tool_use"], true);
    let before = model.request_count();
    let refused = onyx.post(chat.path, &single(chat, "gem/m")).await.expect(400).json();
    assert_eq!(refused["error"]["param"], "parallel_tool_calls");
    assert_eq!(model.request_count(), before);
}
