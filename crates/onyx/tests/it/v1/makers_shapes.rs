//! Requests as the makers' own agents send them: recorded ones of Claude Code and Codex.

use onyx_test_support::{Answer, OnyxProcess, ScriptedCall, ScriptedModel, Wire};
use serde_json::{Value, json};

use super::fields::ignored;
use super::{CHAT, stream};
use crate::builder;

async fn server(model: &ScriptedModel) -> OnyxProcess {
    builder(model)
        .merge(json!({"providers": {
            "claude": {"kind": "anthropic", "baseUrl": model.base_url_of(Wire::Anthropic), "apiKey": "k"},
            "resp": {"kind": "openai-responses", "baseUrl": model.base_url(), "apiKey": "k"},
            "gem": {"kind": "gemini", "baseUrl": model.base_url_of(Wire::Gemini), "apiKey": "k"},
        }}))
        .start()
        .await
}

/// A request of Claude Code 2.1, shortened.
fn claude_code(target: &str) -> Value {
    json!({
        "model": target,
        "max_tokens": 32_000,
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "say hello", "cache_control": {"type": "ephemeral"}},
            ]},
            {"role": "system", "content": "Available agent types: none."},
        ],
        "system": [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}],
        "metadata": {"user_id": "u"},
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "tools": [
            {"type": "bash_20250124", "name": "bash"},
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "stream": true,
    })
}

#[tokio::test]
async fn claude_codes_request_is_answered_by_agents_and_on_every_wire() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    for target in ["onyx:main", "mine/m", "resp/m", "gem/m"] {
        let call = json!({"command": "ls"});
        model.push(Answer::tool_calls([ScriptedCall::new("c1", "bash", &call)]));
        let reply = onyx.post("/v1/messages?beta=true", &claude_code(target)).await.expect(200);
        let told = ignored(&reply).to_owned();
        for name in ["metadata", "context_management", "tools.web_search"] {
            assert!(told.split(", ").any(|one| one == name), "{target}: {told}");
        }
        assert!(reply.text().contains("\"name\":\"bash\""), "{}", reply.text());
        let asked = model.last_request().body.to_string();
        assert!(asked.contains("Available agent types") && asked.contains("You are an agent."));
        assert!(asked.contains("insert_line"), "{asked}");
        // The agent has its own tool with this name.
        assert!(target == "onyx:main" || !asked.contains("web_search\""), "{asked}");
    }
}

#[tokio::test]
async fn betas_go_with_the_request_where_the_wire_is_the_same() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let http = crate::access::reqwest_client();
    let send = async |body: &Value| {
        http.post(onyx.url("/v1/messages?beta=true"))
            .bearer_auth(onyx_test_support::DEFAULT_TOKEN)
            .header("anthropic-beta", "effort-2025-11-24")
            .json(body)
            .send()
            .await
            .unwrap()
    };
    assert_eq!(send(&claude_code("claude/m")).await.status(), 200);
    let asked = model.last_request();
    assert_eq!(asked.header("anthropic-beta"), Some("effort-2025-11-24"));
    assert_eq!(asked.body["context_management"]["edits"][0]["keep"], "all");
    let reply = send(&claude_code("gem/m")).await;
    let told = reply.headers()["x-onyx-ignored-fields"].to_str().unwrap().to_owned();
    assert!(told.contains("anthropic-beta"), "{told}");
}

#[tokio::test]
async fn documents_and_pictures_reach_the_wires_that_carry_them() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let result = json!([{"type": "text", "text": "a screen"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "UElD"}}]);
    let body = |target: &str, source: Value| {
        json!({"model": target, "max_tokens": 99, "messages": [
            {"role": "user", "content": [
                {"type": "document", "title": "t.pdf",
                 "source": {"type": "base64", "media_type": "application/pdf", "data": "UERG"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain words"}},
                {"type": "image", "source": source},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": result}]},
        ]})
    };
    let url = || json!({"type": "url", "url": "https://example.org/a.png"});
    for target in ["onyx:main", "mine/m", "resp/m"] {
        let _ = onyx.post("/v1/messages", &body(target, url())).await.expect(200);
        let asked = model.last_request().body.to_string();
        for mark in ["UERG", "plain words", "https://example.org/a.png", "a screen", "UElD"] {
            assert!(asked.contains(mark), "{mark} to {target}: {asked}");
        }
    }
    let refused = onyx.post("/v1/messages", &body("gem/m", url())).await.expect(400).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("base64"), "{refused}");
    let data = json!({"type": "base64", "media_type": "image/png", "data": "UElY"});
    let _ = onyx.post("/v1/messages", &body("gem/m", data)).await.expect(200);
    let asked = model.last_request().body.to_string();
    assert!(asked.contains("UERG") && asked.contains("UElY") && asked.contains("UElD"), "{asked}");
}

#[tokio::test]
async fn tools_of_a_namespace_and_tools_that_take_text_come_back_as_they_were_given() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let tools = json!([
        {"type": "namespace", "name": "crew", "description": "d", "tools": [
            {"type": "function", "name": "spawn", "parameters": {"type": "object"}},
        ]},
        {"type": "custom", "name": "apply_patch", "description": "d", "format": {"type": "text"}},
        {"type": "web_search", "external_web_access": false},
    ]);
    for target in ["onyx:main", "mine/m", "claude/m"] {
        model.push(Answer::tool_calls([
            ScriptedCall::new("c1", "crew__spawn", &json!({"n": 1})),
            ScriptedCall::new("c2", "apply_patch", &json!({"input": "*** Begin"})),
        ]));
        let body = json!({"model": target, "stream": true, "store": false, "input": "go", "tools": tools,
            "reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]});
        let events = stream(&onyx, "/v1/responses", &body).await;
        let last = &events.last().unwrap()["response"];
        let [spawn, patch] = last["output"].as_array().unwrap().as_slice() else {
            panic!("{target}: {last}")
        };
        assert_eq!((&spawn["name"], &spawn["namespace"]), (&json!("spawn"), &json!("crew")));
        assert_eq!(
            (&patch["type"], &patch["input"]),
            (&json!("custom_tool_call"), &json!("*** Begin"))
        );

        let body = json!({"model": target, "store": false, "tools": tools, "input": [
            {"role": "user", "content": "go"}, spawn, patch,
            {"type": "function_call_output", "call_id": "c1", "output": "spawned"},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "patched"},
        ]});
        let reply = onyx.post("/v1/responses", &body).await.expect(200).json();
        assert_eq!(reply["output"][0]["content"][0]["text"], "ok");
        let asked = model.last_request().body.to_string();
        assert!(asked.contains("crew__spawn") && asked.contains("patched"), "{asked}");
    }
}

#[tokio::test]
async fn functions_of_before_there_were_tools_still_work() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let functions = json!([{"name": "weather", "parameters": {"type": "object"}}]);
    for target in ["onyx:main", "claude/m"] {
        let call = json!({"town": "Rome"});
        model.push(Answer::tool_calls([ScriptedCall::new("c1", "weather", &call)]));
        let body = json!({"model": target, "functions": functions,
            "messages": [{"role": "user", "content": "weather?"}]});
        let reply = onyx.post(CHAT, &body).await.expect(200).json();
        let choice = &reply["choices"][0];
        assert_eq!(choice["finish_reason"], "function_call", "{target}: {reply}");
        assert_eq!(choice["message"]["function_call"]["arguments"], "{\"town\":\"Rome\"}");
        let body = json!({"model": target, "functions": functions, "messages": [
            {"role": "user", "content": "weather?"}, choice["message"],
            {"role": "function", "name": "weather", "content": "25"},
        ]});
        let reply = onyx.post(CHAT, &body).await.expect(200).json();
        assert_eq!(reply["choices"][0]["message"]["content"], "ok");
    }
}

#[tokio::test]
async fn a_prompt_is_counted_before_it_is_sent() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let body = json!({"model": "claude/m", "messages": [{"role": "user", "content": "one two three four"}]});
    let short = onyx.post("/v1/messages/count_tokens", &body).await.expect(200).json();
    let mut long = body.clone();
    long["messages"][0]["content"] = "word ".repeat(500).into();
    let long = onyx.post("/v1/messages/count_tokens", &long).await.expect(200).json();
    let count = |reply: &Value| reply["input_tokens"].as_u64().unwrap();
    assert!(count(&short) >= 3 && count(&long) > 300, "{short} {long}");
    let body = json!({"model": "resp/m", "input": "one two three four"});
    let reply = onyx.post("/v1/responses/input_tokens", &body).await.expect(200).json();
    assert_eq!(reply["object"], "response.input_tokens");
    assert!(count(&reply) >= 3);
    assert_eq!(model.request_count(), 0);
    let unknown = json!({"model": "nobody/m", "messages": []});
    let _ = onyx.post("/v1/messages/count_tokens", &unknown).await.expect(404);
}
