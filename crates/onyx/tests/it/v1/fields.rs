//! Every field that the makers' own libraries can send, and what becomes of it: nothing is left out
//! in silence. The lists come from the libraries' types, so a new field fails here until somebody
//! decides about it.

use onyx_test_support::{OnyxProcess, Reply, ScriptedModel, Wire};
use serde_json::{Value, json};
use tokio::process::Command;

use super::CHAT;
use crate::{builder, clients};

/// What becomes of a field, by the value given.
enum Fate {
    /// Read: other tests show what it does.
    Read,
    /// Taken, and of no consequence for the answer.
    Idle(Value),
    /// An agent decides it for itself and says so; a model of another wire cannot be told.
    Advice(Value),
    Refused(Value),
}

use Fate::{Advice, Idle, Read, Refused};

fn chat() -> Vec<(&'static str, Fate)> {
    vec![
        ("messages", Read),
        ("model", Read),
        ("stream", Read),
        ("stream_options", Read),
        ("tools", Read),
        ("tool_choice", Read),
        ("parallel_tool_calls", Read),
        ("response_format", Read),
        ("temperature", Read),
        ("max_tokens", Read),
        ("max_completion_tokens", Read),
        ("user", Idle("u".into())),
        ("metadata", Idle(json!({"a": "b"}))),
        ("store", Idle(true.into())),
        ("service_tier", Idle("auto".into())),
        ("safety_identifier", Idle("s".into())),
        ("prompt_cache_key", Idle("k".into())),
        ("prompt_cache_options", Idle(json!({}))),
        ("prompt_cache_retention", Idle("24h".into())),
        ("prediction", Idle(json!({"type": "content", "content": "x"}))),
        ("reasoning_effort", Advice("low".into())),
        ("verbosity", Advice("low".into())),
        ("seed", Advice(7.into())),
        ("top_p", Refused(json!(0.5))),
        ("frequency_penalty", Refused(json!(0.5))),
        ("presence_penalty", Refused(json!(0.5))),
        ("logit_bias", Refused(json!({"1": 2}))),
        ("n", Refused(2.into())),
        ("stop", Refused("x".into())),
        ("logprobs", Refused(true.into())),
        ("top_logprobs", Refused(2.into())),
        ("audio", Refused(json!({}))),
        ("modalities", Refused(json!(["audio"]))),
        ("functions", Refused(json!([]))),
        ("function_call", Refused(json!({"name": "f"}))),
        ("web_search_options", Refused(json!({}))),
        ("moderation", Refused(json!({}))),
    ]
}

fn responses() -> Vec<(&'static str, Fate)> {
    vec![
        ("input", Read),
        ("model", Read),
        ("stream", Read),
        ("instructions", Read),
        ("tools", Read),
        ("tool_choice", Read),
        ("parallel_tool_calls", Read),
        ("text", Read),
        ("temperature", Read),
        ("max_output_tokens", Read),
        ("previous_response_id", Read),
        ("user", Idle("u".into())),
        ("metadata", Idle(json!({"a": "b"}))),
        ("store", Idle(false.into())),
        ("service_tier", Idle("auto".into())),
        ("safety_identifier", Idle("s".into())),
        ("prompt_cache_key", Idle("k".into())),
        ("prompt_cache_options", Idle(json!({}))),
        ("prompt_cache_retention", Idle("24h".into())),
        ("stream_options", Idle(json!({"include_obfuscation": false}))),
        ("access_programs", Idle(json!([]))),
        ("reasoning", Advice(json!({"effort": "low"}))),
        ("include", Advice(json!(["reasoning.encrypted_content"]))),
        ("truncation", Advice("auto".into())),
        ("context_management", Advice(json!([{"type": "compaction"}]))),
        ("background", Refused(true.into())),
        ("conversation", Refused("c".into())),
        ("prompt", Refused(json!({"id": "p"}))),
        ("top_logprobs", Refused(2.into())),
        ("top_p", Refused(json!(0.5))),
        ("max_tool_calls", Refused(2.into())),
        ("image", Refused(json!({}))),
        ("moderation", Refused(json!({}))),
    ]
}

fn messages() -> Vec<(&'static str, Fate)> {
    vec![
        ("messages", Read),
        ("model", Read),
        ("max_tokens", Read),
        ("stream", Read),
        ("system", Read),
        ("tools", Read),
        ("tool_choice", Read),
        ("temperature", Read),
        ("output_config", Read),
        ("metadata", Idle(json!({"user_id": "u"}))),
        ("service_tier", Idle("auto".into())),
        ("cache_control", Idle(json!({"type": "ephemeral"}))),
        ("diagnostics", Idle(json!({}))),
        ("user_profile_id", Idle("u".into())),
        ("workspace_id", Idle("w".into())),
        ("thinking", Advice(json!({"type": "enabled", "budget_tokens": 2000}))),
        ("speed", Advice("fast".into())),
        ("context_management", Advice(json!({"edits": []}))),
        ("top_p", Refused(json!(0.5))),
        ("top_k", Refused(5.into())),
        ("stop_sequences", Refused(json!(["x"]))),
        ("inference_geo", Refused("eu".into())),
        ("container", Refused("c".into())),
        ("mcp_servers", Refused(json!([{"name": "m"}]))),
    ]
}

const IGNORED: &str = "x-onyx-ignored-fields";

fn ignored(reply: &Reply) -> &str {
    reply.headers.get(IGNORED).map_or("", |value| value.to_str().unwrap())
}

async fn server(model: &ScriptedModel) -> OnyxProcess {
    let gemini = model.base_url_of(Wire::Gemini);
    builder(model)
        .merge(json!({"providers": {"gem": {"kind": "gemini", "baseUrl": gemini, "apiKey": "k"}}}))
        .start()
        .await
}

async fn judge(path: &str, least: Value, table: Vec<(&str, Fate)>) {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    for (name, fate) in table {
        let post = async |target: &str, value: &Value| {
            let mut body = least.clone();
            body["model"] = target.into();
            body[name] = value.clone();
            onyx.post(path, &body).await
        };
        let refused = |reply: Reply| {
            assert_eq!(reply.status, 400, "{path} {name}: {}", reply.text());
            assert!(reply.json()["error"]["message"].as_str().unwrap().contains(name));
        };
        match &fate {
            Read => {}
            Idle(value) => {
                assert_eq!(ignored(&post("main", value).await.expect(200)), "", "{path} {name}");
                let _ = post("gem/m", value).await.expect(200);
            }
            Advice(value) => {
                assert_eq!(ignored(&post("main", value).await.expect(200)), name);
                refused(post("gem/m", value).await);
            }
            Refused(value) => {
                refused(post("main", value).await);
                refused(post("gem/m", value).await);
            }
        }
    }
    let unheard = "unheard_of";
    let mut body = least;
    body[unheard] = true.into();
    let reply = onyx.post(path, &body).await.expect(200);
    assert_eq!(ignored(&reply), unheard);
}

fn words() -> Value {
    json!([{"role": "user", "content": "hi"}])
}

#[tokio::test]
async fn every_field_of_chat_completions_has_its_fate() {
    judge(CHAT, json!({"messages": words()}), chat()).await;
}

#[tokio::test]
async fn every_field_of_responses_has_its_fate() {
    judge("/v1/responses", json!({"input": "hi"}), responses()).await;
}

#[tokio::test]
async fn every_field_of_messages_has_its_fate() {
    judge("/v1/messages", json!({"max_tokens": 9, "messages": words()}), messages()).await;
}

#[tokio::test]
async fn what_is_advised_within_a_field_is_told_too() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    for (path, body, inner) in [
        ("/v1/responses", json!({"input": "hi", "text": {"verbosity": "low"}}), "text.verbosity"),
        (
            "/v1/messages",
            json!({"max_tokens": 9, "messages": words(), "output_config": {"effort": "low"}}),
            "output_config.effort",
        ),
    ] {
        assert_eq!(ignored(&onyx.post(path, &body).await.expect(200)), inner);
    }
    let schema = json!({"type": "object", "additionalProperties": false});
    let format = json!({"format": {"type": "json_schema", "schema": schema}});
    let body = json!({"max_tokens": 9, "messages": words(), "output_config": format});
    let _ = onyx.post("/v1/messages", &body).await.expect(200);
    let asked = model.last_request().body;
    assert_eq!(asked["response_format"]["json_schema"]["schema"], schema);
}

/// The fields of the libraries' own types.
const FIELDS: &str = r#"
import json, typing
from openai.types.chat.completion_create_params import CompletionCreateParamsBase as chat
from openai.types.responses.response_create_params import ResponseCreateParamsBase as responses
from anthropic.types.message_create_params import MessageCreateParamsBase as messages
print(json.dumps([sorted(typing.get_type_hints(one)) for one in (chat, responses, messages)]))
"#;

#[tokio::test]
async fn no_field_of_the_makers_libraries_is_missing_from_these_tables() {
    let python = clients::libraries().await.join("python/bin/python");
    let ran = Command::new(python).args(["-c", FIELDS]).output().await.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let fields: Vec<Vec<String>> = serde_json::from_slice(&ran.stdout).unwrap();
    for (fields, table) in fields.iter().zip([chat(), responses(), messages()]) {
        assert!(fields.len() > 15, "{fields:?}");
        for field in fields {
            assert!(table.iter().any(|(name, _)| name == field), "{field} has no fate");
        }
    }
}
