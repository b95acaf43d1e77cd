//! Every field that the makers' own libraries can send, and what is done with it: no field is
//! ignored silently. The lists come from the libraries' types, so a new field fails this test until
//! somebody decides about it.

use onyx_test_support::{OnyxProcess, Reply, ScriptedModel, Wire};
use serde_json::{Value, json};
use tokio::process::Command;

use super::CHAT;
use crate::{builder, clients};

/// What is done with a field that has the given value.
enum Fate {
    /// The field is read; other tests show its effect.
    Read,
    /// With this value the field asks for what Onyx does anyway.
    Holds(Value),
    /// The field is left out, and the client is told its name.
    Named(Value),
    /// A setting of the model: `knobs` shows that it is passed on or named as left out.
    Knob,
    Refused(Value),
}

use Fate::{Holds, Knob, Named, Read, Refused};

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
        ("functions", Read),
        ("function_call", Read),
        ("user", Named("u".into())),
        ("metadata", Named(json!({"a": "b"}))),
        ("store", Named(true.into())),
        ("service_tier", Named("priority".into())),
        ("safety_identifier", Named("s".into())),
        ("prompt_cache_key", Knob),
        ("prompt_cache_options", Named(json!({}))),
        ("prompt_cache_retention", Named("24h".into())),
        ("prediction", Named(json!({"type": "content", "content": "x"}))),
        ("web_search_options", Named(json!({"search_context_size": "low"}))),
        ("reasoning_effort", Knob),
        ("verbosity", Knob),
        ("seed", Knob),
        ("top_p", Knob),
        ("frequency_penalty", Knob),
        ("presence_penalty", Knob),
        ("logit_bias", Knob),
        ("stop", Knob),
        ("n", Refused(2.into())),
        ("logprobs", Refused(true.into())),
        ("top_logprobs", Refused(2.into())),
        ("audio", Refused(json!({}))),
        ("modalities", Refused(json!(["audio"]))),
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
        ("conversation", Read),
        ("reasoning", Read),
        ("metadata", Holds(json!({"a": "b"}))),
        ("store", Holds(false.into())),
        ("stream_options", Holds(json!({"include_obfuscation": false}))),
        ("user", Named("u".into())),
        ("service_tier", Named("flex".into())),
        ("safety_identifier", Named("s".into())),
        ("prompt_cache_key", Knob),
        ("prompt_cache_options", Named(json!({}))),
        ("prompt_cache_retention", Named("24h".into())),
        ("access_programs", Named(json!([]))),
        ("include", Named(json!(["reasoning.encrypted_content"]))),
        ("truncation", Named("auto".into())),
        ("context_management", Named(json!([{"type": "compaction"}]))),
        ("max_tool_calls", Named(2.into())),
        ("top_p", Knob),
        ("background", Refused(true.into())),
        ("prompt", Refused(json!({"id": "p"}))),
        ("top_logprobs", Refused(2.into())),
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
        ("cache_control", Holds(json!({"type": "ephemeral"}))),
        ("metadata", Named(json!({"user_id": "u"}))),
        ("service_tier", Holds("auto".into())),
        ("diagnostics", Named(json!({}))),
        ("user_profile_id", Named("u".into())),
        ("workspace_id", Named("w".into())),
        ("thinking", Knob),
        ("speed", Named("fast".into())),
        ("context_management", Named(json!({"edits": []}))),
        ("container", Named("c".into())),
        ("mcp_servers", Named(json!([{"name": "m"}]))),
        ("top_p", Knob),
        ("top_k", Knob),
        ("stop_sequences", Knob),
        ("inference_geo", Refused("eu".into())),
    ]
}

const IGNORED: &str = "x-onyx-ignored-fields";

pub(super) fn ignored(reply: &Reply) -> &str {
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
        for target in ["main", "gem/m"] {
            let post = async |value: &Value| {
                let mut body = least.clone();
                body["model"] = target.into();
                body[name] = value.clone();
                onyx.post(path, &body).await
            };
            match &fate {
                Read | Knob => {}
                Holds(value) => {
                    assert_eq!(ignored(&post(value).await.expect(200)), "", "{path} {name}");
                }
                Named(value) => assert_eq!(ignored(&post(value).await.expect(200)), name),
                Refused(value) => {
                    let reply = post(value).await;
                    assert_eq!(reply.status, 400, "{path} {name}: {}", reply.text());
                    let message = reply.json()["error"]["message"].clone();
                    assert!(message.as_str().unwrap().contains(name), "{message}");
                }
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
async fn what_is_left_out_deep_within_a_field_is_named_by_its_path() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let cases = [
        (
            CHAT,
            json!({"messages": [{"role": "user", "name": "ann", "content": "hi"}], "tools": [
                {"type": "function", "function": {"name": "f", "strict": true}},
            ]}),
            "messages[].name, tools[].function.strict",
        ),
        (
            "/v1/responses",
            json!({"input": "hi", "reasoning": {"summary": "auto"}, "tools": [
                {"type": "web_search"}, {"type": "file_search", "vector_store_ids": ["v"]},
            ]}),
            "reasoning.summary, tools[].vector_store_ids, tools.web_search, tools.file_search",
        ),
        (
            "/v1/messages",
            json!({"max_tokens": 9, "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "server_tool_use", "id": "x", "name": "web_search", "input": {}},
                    {"type": "text", "text": "yes"},
                ]},
                {"role": "user", "content": "and?"},
            ], "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]}),
            "messages[].content[].thinking, messages[].content[].signature, tools[].max_uses, \
             messages[].content[].server_tool_use, tools.web_search",
        ),
    ];
    for (path, body, expected) in cases {
        for target in ["main", "gem/m"] {
            let mut body = body.clone();
            body["model"] = target.into();
            let mut told: Vec<String> = ignored(&onyx.post(path, &body).await.expect(200))
                .split(", ")
                .map(str::to_owned)
                .collect();
            let mut expected: Vec<&str> = expected.split(", ").collect();
            told.sort();
            expected.sort_unstable();
            assert_eq!(told, expected, "{path} {target}");
        }
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
