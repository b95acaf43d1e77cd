//! One history with content from every wire, as each wire encodes it.

use super::own;
use onyx_providers::wire::{CalledModel, Compat, PromptCacheKey, portable};
use onyx_test_support::Wire;
use onyx_types::{
    Block, CallsAtOnce, Message, ModelFailureClass, ModelRequest, ResponseFormat, Role,
    SystemBlock, ToolChoice, ToolOffer, ToolUse, ToolUseId,
};
use serde_json::{Value, json};

const TOOL: &str = "mcp:files/read";

fn text(text: &str) -> Block {
    Block::Text { text: text.into() }
}

fn reasoning(model: &str, data: Value) -> Block {
    Block::Reasoning { model: model.into(), data }
}

fn tool_use(id: &str, name: &str, provider_data: Option<Value>) -> Block {
    let input = json!({"path": "a.md"});
    Block::ToolUse { id: ToolUseId(id.into()), name: name.into(), input, provider_data }
}

fn result(id: &str, content: &str, is_error: bool) -> Block {
    Block::ToolResult { id: ToolUseId(id.into()), content: content.into(), is_error }
}

fn user(content: Vec<Block>) -> Message {
    Message { role: Role::User, content }
}

fn assistant(content: Vec<Block>) -> Message {
    Message { role: Role::Assistant, content }
}

fn thinking() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})
}

fn encrypted() -> Value {
    json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "b3BhcXVl"})
}

/// A history with answers of models on all wires, one after the other.
fn history() -> Vec<Message> {
    let signed = json!({"model": "gemini/g", "thoughtSignature": "Z2Vt"});
    vec![
        user(vec![
            text("look"),
            Block::Image { media_type: "image/png".into(), data: "AAAA".into() },
        ]),
        assistant(vec![
            reasoning("anthropic/a", thinking()),
            reasoning("anthropic/a", json!({"type": "redacted_thinking", "data": "cmVk"})),
            text("let me"),
            tool_use("toolu_1", TOOL, None),
            tool_use("toolu_2", "now", None),
        ]),
        user(vec![text("and"), result("toolu_1", "content", false), result("toolu_2", "no", true)]),
        assistant(vec![
            reasoning("gemini/g", json!({"thoughtSignature": "dGV4dA=="})),
            tool_use("call:2", "now", Some(signed)),
        ]),
        user(vec![result("call:2", "noon", false)]),
        assistant(vec![reasoning("responses/r", encrypted()), text("first")]),
        assistant(vec![reasoning("ollama/o", json!({"thinking": "hm"})), text("second")]),
        assistant(vec![
            reasoning("chat/c", json!({"reasoning_details": [{"id": 1}]})),
            text("third"),
        ]),
        assistant(vec![reasoning("gone/x", json!({"x": 1}))]),
        user(vec![text("go on")]),
    ]
}

fn request() -> ModelRequest {
    ModelRequest {
        system: [
            SystemBlock { text: "You are".into(), stable: true },
            SystemBlock { text: "a helper".into(), stable: true },
            SystemBlock { text: "today".into(), stable: false },
        ]
        .into(),
        messages: history().into(),
        tools: [ToolOffer {
            name: TOOL.into(),
            description: "Reads".into(),
            input_schema: json!({"type": "object"}).into(),
        }]
        .into(),
        max_output_tokens: 2_048,
        temperature: Some(0.5),
        response_format: Some(ResponseFormat::JsonSchema {
            name: "answer".into(),
            schema: json!({"type": "object"}),
        }),
        cache_key: Some("prefix".into()),
        ..ModelRequest::default()
    }
}

fn encoded(wire: Wire, id: &str, request: &ModelRequest, compat: Compat) -> Value {
    let called = CalledModel { context_window: Some(32_000), compat, ..super::called_model(id) };
    serde_json::from_slice(&own(wire).encode(request, &called).unwrap()).unwrap()
}

fn caching() -> Compat {
    Compat { prompt_cache_key: PromptCacheKey::Send, ..Compat::default() }
}

#[test]
fn chat_completions_write_it() {
    let call = |id: &str, name: &str| {
        json!({"id": id, "type": "function",
               "function": {"name": portable(name), "arguments": "{\"path\":\"a.md\"}"}})
    };
    let expected = json!({
        "model": "c",
        "messages": [
            {"role": "system", "content": "You are\n\na helper\n\ntoday"},
            {"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
            {"role": "assistant", "content": "let me",
             "tool_calls": [call("toolu_1", TOOL), call("toolu_2", "now")]},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "content"},
            {"role": "tool", "tool_call_id": "toolu_2", "content": "Error: no"},
            {"role": "user", "content": "and"},
            {"role": "assistant", "content": null, "tool_calls": [call("call:2", "now")]},
            {"role": "tool", "tool_call_id": "call:2", "content": "noon"},
            {"role": "assistant", "content": "first"},
            {"role": "assistant", "content": "second"},
            {"role": "assistant", "content": "third", "reasoning_details": [{"id": 1}]},
            {"role": "user", "content": "go on"},
        ],
        "tools": [{"type": "function", "function": {
            "name": portable(TOOL), "description": "Reads", "parameters": {"type": "object"},
        }}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 2_048,
        "temperature": 0.5,
        "response_format": {"type": "json_schema",
                            "json_schema": {"name": "answer", "schema": {"type": "object"}}},
        "prompt_cache_key": "prefix",
    });
    assert_eq!(encoded(Wire::OpenAiChat, "chat/c", &request(), caching()), expected);
}

#[test]
fn responses_write_it() {
    let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let call = |id: &str, name: &str| {
        json!({"type": "function_call", "call_id": portable(id), "name": portable(name),
               "arguments": "{\"path\":\"a.md\"}"})
    };
    let output = |id: &str, output: &str| json!({"type": "function_call_output", "call_id": portable(id), "output": output});
    let expected = json!({
        "model": "r",
        "instructions": "You are\n\na helper\n\ntoday",
        "input": [
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ]},
            said("assistant", "output_text", "let me"),
            call("toolu_1", TOOL),
            call("toolu_2", "now"),
            output("toolu_1", "content"),
            output("toolu_2", "Error: no"),
            said("user", "input_text", "and"),
            call("call:2", "now"),
            output("call:2", "noon"),
            encrypted(),
            said("assistant", "output_text", "first"),
            said("assistant", "output_text", "second"),
            said("assistant", "output_text", "third"),
            said("user", "input_text", "go on"),
        ],
        "tools": [{"type": "function", "name": portable(TOOL), "description": "Reads",
                   "parameters": {"type": "object"}, "strict": false}],
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 2_048,
        "temperature": 0.5,
        "text": {"format": {"type": "json_schema", "name": "answer",
                            "schema": {"type": "object"}}},
        "prompt_cache_key": "prefix",
    });
    assert_eq!(encoded(Wire::OpenAiResponses, "responses/r", &request(), caching()), expected);
}

#[test]
fn messages_write_it_with_marks_on_the_stable_prefix() {
    let mark = json!({"type": "ephemeral"});
    let said = |text: &str| json!({"type": "text", "text": text});
    let call = |id: &str, name: &str| {
        json!({"type": "tool_use", "id": portable(id), "name": portable(name),
               "input": {"path": "a.md"}})
    };
    let result = |id: &str, content: &str, is_error: bool| {
        json!({"type": "tool_result", "tool_use_id": portable(id), "content": content,
               "is_error": is_error})
    };
    let expected = json!({
        "model": "a",
        "max_tokens": 2_048,
        "system": [
            {"type": "text", "text": "You are"},
            {"type": "text", "text": "a helper", "cache_control": mark},
            {"type": "text", "text": "today"},
        ],
        "messages": [
            {"role": "user", "content": [
                said("look"),
                {"type": "image",
                 "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ]},
            {"role": "assistant", "content": [
                thinking(),
                {"type": "redacted_thinking", "data": "cmVk"},
                said("let me"),
                call("toolu_1", TOOL),
                call("toolu_2", "now"),
            ]},
            {"role": "user", "content": [
                result("toolu_1", "content", false),
                result("toolu_2", "no", true),
                said("and"),
            ]},
            {"role": "assistant", "content": [call("call:2", "now")]},
            {"role": "user", "content": [result("call:2", "noon", false)]},
            {"role": "assistant", "content": [said("first"), said("second"), said("third")]},
            {"role": "user", "content": [
                {"type": "text", "text": "go on", "cache_control": mark},
            ]},
        ],
        "tools": [{"name": portable(TOOL), "description": "Reads",
                   "input_schema": {"type": "object"}, "cache_control": mark}],
        "stream": true,
        "temperature": 0.5,
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    });
    assert_eq!(encoded(Wire::Anthropic, "anthropic/a", &request(), caching()), expected);
}

/// The contents with the signatures that this model gets to see on its calls.
fn gemini_body(signatures: [Option<&str>; 2], text_signature: Option<&str>) -> Value {
    let call = |name: &str, signature: Option<&str>| {
        let mut part = json!({"functionCall": {"name": portable(name), "args": {"path": "a.md"}}});
        if let Some(signature) = signature {
            part["thoughtSignature"] = json!(signature);
        }
        part
    };
    let result = |name: &str, response: Value| json!({"functionResponse": {"name": portable(name), "response": response}});
    let mut second = Vec::new();
    second.extend(text_signature.map(|mark| json!({"text": "", "thoughtSignature": mark})));
    second.push(call("now", signatures[1]));
    json!({
        "systemInstruction": {"parts": [{"text": "You are"}, {"text": "a helper"}, {"text": "today"}]},
        "contents": [
            {"role": "user", "parts": [
                {"text": "look"},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            ]},
            {"role": "model",
             "parts": [{"text": "let me"}, call(TOOL, signatures[0]), call("now", None)]},
            {"role": "user", "parts": [
                result(TOOL, json!({"output": "content"})),
                result("now", json!({"error": "no"})),
                {"text": "and"},
            ]},
            {"role": "model", "parts": second},
            {"role": "user", "parts": [result("now", json!({"output": "noon"}))]},
            {"role": "model", "parts": [{"text": "first"}, {"text": "second"}, {"text": "third"}]},
            {"role": "user", "parts": [{"text": "go on"}]},
        ],
        "tools": [{"functionDeclarations": [{
            "name": portable(TOOL), "description": "Reads",
            "parametersJsonSchema": {"type": "object"},
        }]}],
        "generationConfig": {
            "maxOutputTokens": 2_048,
            "temperature": 0.5,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
    })
}

#[test]
fn gemini_writes_it_with_its_own_signatures_and_a_stand_in_for_others() {
    let foreign = Some("skip_thought_signature_validator");
    assert_eq!(
        encoded(Wire::Gemini, "gemini/g", &request(), caching()),
        gemini_body([foreign, Some("Z2Vt")], Some("dGV4dA=="))
    );
    assert_eq!(
        encoded(Wire::Gemini, "other/gemini-3-pro", &request(), caching()),
        gemini_body([foreign, foreign], None)
    );
    assert_eq!(
        encoded(Wire::Gemini, "other/gemini-2.5-pro", &request(), caching()),
        gemini_body([None, None], None)
    );
}

#[test]
fn ollama_writes_it() {
    let call =
        |name: &str| json!({"function": {"name": portable(name), "arguments": {"path": "a.md"}}});
    let expected = json!({
        "model": "o",
        "messages": [
            {"role": "system", "content": "You are\n\na helper\n\ntoday"},
            {"role": "user", "content": "look", "images": ["AAAA"]},
            {"role": "assistant", "content": "let me", "tool_calls": [call(TOOL), call("now")]},
            {"role": "tool", "content": "content", "tool_name": portable(TOOL)},
            {"role": "tool", "content": "Error: no", "tool_name": "now"},
            {"role": "user", "content": "and"},
            {"role": "assistant", "content": "", "tool_calls": [call("now")]},
            {"role": "tool", "content": "noon", "tool_name": "now"},
            {"role": "assistant", "content": "first"},
            {"role": "assistant", "content": "second", "thinking": "hm"},
            {"role": "assistant", "content": "third"},
            {"role": "user", "content": "go on"},
        ],
        "tools": [{"type": "function", "function": {
            "name": portable(TOOL), "description": "Reads", "parameters": {"type": "object"},
        }}],
        "stream": true,
        "format": {"type": "object"},
        "options": {"num_ctx": 32_000, "num_predict": 2_048, "temperature": 0.5},
    });
    assert_eq!(encoded(Wire::Ollama, "ollama/o", &request(), caching()), expected);
}

#[test]
fn thinking_is_asked_for_in_the_words_of_each_wire() {
    let compat = || Compat { thinking_budget: Some(1_500), ..Compat::default() };
    let body = |wire| encoded(wire, "mine/x", &request(), compat());
    let anthropic = body(Wire::Anthropic);
    assert_eq!(anthropic["thinking"], json!({"type": "enabled", "budget_tokens": 1_500}));
    assert_eq!(anthropic.get("temperature"), None);
    assert_eq!(
        body(Wire::Gemini)["generationConfig"]["thinkingConfig"],
        json!({"includeThoughts": true, "thinkingBudget": 1_500})
    );
    assert_eq!(body(Wire::Ollama)["think"], json!(true));
    let small = ModelRequest { max_output_tokens: 1_200, ..request() };
    let body = encoded(Wire::Anthropic, "mine/x", &small, compat());
    assert_eq!(body.get("thinking"), None, "no room for an answer");
}

#[test]
fn a_model_that_does_not_reason_is_not_asked_for_reasoning() {
    let body = encoded(Wire::OpenAiResponses, "openai/gpt-4o", &request(), Compat::default());
    assert_eq!(body.get("include"), None);
    assert_eq!(body.get("prompt_cache_key"), None);
}

#[test]
fn arguments_that_are_no_object_become_one_where_the_wire_wants_one() {
    let call = |input: Value| Block::ToolUse {
        id: ToolUseId("a".into()),
        name: "f".into(),
        input,
        provider_data: None,
    };
    let request = ModelRequest {
        messages: vec![assistant(vec![call(json!([1])), call(Value::Null)])].into(),
        ..ModelRequest::default()
    };
    let body = |wire| encoded(wire, "mine/x", &request, Compat::default());
    let (anthropic, gemini, ollama) =
        (body(Wire::Anthropic), body(Wire::Gemini), body(Wire::Ollama));
    let sent = [
        &anthropic["messages"][0]["content"][0]["input"],
        &anthropic["messages"][0]["content"][1]["input"],
        &gemini["contents"][0]["parts"][0]["functionCall"]["args"],
        &gemini["contents"][0]["parts"][1]["functionCall"]["args"],
        &ollama["messages"][0]["tool_calls"][0]["function"]["arguments"],
        &ollama["messages"][0]["tool_calls"][1]["function"]["arguments"],
    ];
    let (wrapped, empty) = (json!({"value": [1]}), json!({}));
    assert_eq!(sent, [&wrapped, &empty, &wrapped, &empty, &wrapped, &empty]);
}

/// `Err` names the field that the wire does not support.
fn chosen(wire: Wire, choice: ToolChoice, at_once: CallsAtOnce) -> Result<Value, &'static str> {
    let request = ModelRequest { tool_use: ToolUse { choice, at_once }, ..request() };
    let body = own(wire).encode(&request, &super::called_model("mine/x"));
    let body = body.map_err(|failure| match failure.class {
        ModelFailureClass::Unsupported { field } => field,
        other => panic!("{other:?}"),
    })?;
    let body: Value = serde_json::from_slice(&body).unwrap();
    Ok(json!([body["tool_choice"], body["toolConfig"], body["parallel_tool_calls"]]))
}

#[test]
fn a_choice_of_tools_is_said_in_the_words_of_each_wire_or_refused() {
    use CallsAtOnce::{One, Several};
    use ToolChoice::{Auto, Named, None, Required};
    use Wire::{Anthropic, Gemini, Ollama, OpenAiChat, OpenAiResponses};
    let tool = || Named(TOOL.into());
    let name = portable(TOOL);
    let gemini = |config: Value| json!([null, {"functionCallingConfig": config}, null]);
    let single = |kind: &str| json!({"type": kind, "disable_parallel_tool_use": true});
    let table = [
        (OpenAiChat, Auto, Several, Ok(json!([null, null, null]))),
        (OpenAiChat, None, Several, Ok(json!(["none", null, null]))),
        (OpenAiChat, Required, One, Ok(json!(["required", null, false]))),
        (
            OpenAiChat,
            tool(),
            Several,
            Ok(json!([{"type": "function", "function": {"name": name}}, null, null])),
        ),
        (OpenAiResponses, None, Several, Ok(json!(["none", null, null]))),
        (OpenAiResponses, Required, One, Ok(json!(["required", null, false]))),
        (
            OpenAiResponses,
            tool(),
            Several,
            Ok(json!([{"type": "function", "name": name}, null, null])),
        ),
        (Anthropic, Auto, Several, Ok(json!([null, null, null]))),
        (Anthropic, Auto, One, Ok(json!([single("auto"), null, null]))),
        (Anthropic, None, One, Ok(json!([{"type": "none"}, null, null]))),
        (Anthropic, Required, Several, Ok(json!([{"type": "any"}, null, null]))),
        (Anthropic, tool(), Several, Ok(json!([{"type": "tool", "name": name}, null, null]))),
        (Gemini, Auto, Several, Ok(json!([null, null, null]))),
        (Gemini, None, Several, Ok(gemini(json!({"mode": "NONE"})))),
        (Gemini, Required, Several, Ok(gemini(json!({"mode": "ANY"})))),
        (
            Gemini,
            tool(),
            Several,
            Ok(gemini(json!({"mode": "ANY", "allowedFunctionNames": [name]}))),
        ),
        (Gemini, Auto, One, Err("parallel_tool_calls")),
        (Ollama, Auto, Several, Ok(json!([null, null, null]))),
        (Ollama, Required, Several, Err("tool_choice")),
        (Ollama, tool(), Several, Err("tool_choice")),
        (Ollama, Auto, One, Err("parallel_tool_calls")),
    ];
    for (wire, choice, at_once, expected) in table {
        let said = chosen(wire, choice.clone(), at_once);
        assert_eq!(said, expected, "{wire:?} {choice:?} {at_once:?}");
    }
    let quiet = ToolUse { choice: None, at_once: Several };
    let quiet = ModelRequest { tool_use: quiet, ..request() };
    let body = encoded(Ollama, "mine/x", &quiet, Compat::default());
    assert_eq!(body.get("tools"), Option::None, "the wire has no other word for it");
    let forced = ToolUse { choice: Required, at_once: Several };
    let forced = ModelRequest { tool_use: forced, ..request() };
    let thinking = Compat { thinking_budget: Some(1_500), ..Compat::default() };
    let body = encoded(Anthropic, "mine/x", &forced, thinking);
    assert_eq!(body.get("thinking"), Option::None, "the server refuses both together");
    let any_json = ModelRequest { response_format: Some(ResponseFormat::JsonObject), ..request() };
    let refused = own(Anthropic).encode(&any_json, &super::called_model("mine/x")).unwrap_err();
    assert_eq!(refused.class, ModelFailureClass::Unsupported { field: "response_format" });
}
