use onyx_providers::wire::openai_chat::encode;
use onyx_providers::wire::{
    CalledModel, Compat, MaxTokensField, ModelPlace, PromptCacheKey, ReasoningReplay, StreamUsage,
    SystemRole,
};
use onyx_types::{
    Block, Message, ModelRequest, ResponseFormat, Role, SystemBlock, ToolOffer, ToolUseId,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn called_model(compat: Compat) -> CalledModel {
    CalledModel {
        reasons: false,
        id: "mine/some-model".into(),
        model: "some-model".into(),
        context_window: None,
        max_output_tokens: Some(1_000),
        compat,
    }
}

fn encoded(request: &ModelRequest, compat: Compat) -> Value {
    serde_json::from_slice(&encode(request, &called_model(compat)).unwrap()).unwrap()
}

fn text(text: &str) -> Block {
    Block::Text { text: text.into() }
}

fn reasoning(model: &str) -> Block {
    let data = json!({"reasoning_content": "hm", "reasoning_details": [{"id": 1}]});
    Block::Reasoning { model: model.into(), data }
}

fn tool_use(id: &str) -> Block {
    let input = json!({"path": "a.md", "n": 1});
    let name = "read_file".to_owned();
    Block::ToolUse { id: ToolUseId(id.into()), name, input, provider_data: None }
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

fn full_request() -> ModelRequest {
    let schema = json!({
        "type": "object",
        "properties": {"format": {"type": "string", "format": "uri", "default": {"format": 1}}},
        "additionalProperties": false,
    });
    ModelRequest {
        system: [
            SystemBlock { text: "You are".into(), stable: true },
            SystemBlock { text: "today".into(), stable: false },
        ]
        .into(),
        messages: vec![
            user(vec![text("context"), text("question")]),
            assistant(vec![
                reasoning("mine/some-model"),
                text("let me look"),
                tool_use("a"),
                tool_use("b"),
            ]),
            user(vec![result("a", "content", false), text("and"), result("b", "missing", true)]),
            assistant(vec![reasoning("other/model")]),
            user(vec![
                text("see"),
                Block::Image { media_type: "image/png".into(), data: "AAAA".into() },
            ]),
        ]
        .into(),
        tools: [ToolOffer {
            name: "read_file".into(),
            description: "Reads a file".into(),
            input_schema: schema.into(),
        }]
        .into(),
        max_output_tokens: 8_192,
        temperature: Some(0.7),
        response_format: Some(ResponseFormat::JsonSchema {
            name: "answer".into(),
            schema: json!({"type": "object"}),
        }),
        cache_key: Some("prefix".into()),
        ..ModelRequest::default()
    }
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function",
           "function": {"name": "read_file", "arguments": "{\"path\":\"a.md\",\"n\":1}"}})
}

#[test]
fn a_full_request_is_written_as_the_wire_wants_it() {
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "You are\n\ntoday"},
            {"role": "user", "content": "context\n\nquestion"},
            {"role": "assistant", "content": "let me look", "tool_calls": [call("a"), call("b")],
             "reasoning_details": [{"id": 1}]},
            {"role": "tool", "tool_call_id": "a", "content": "content"},
            {"role": "tool", "tool_call_id": "b", "content": "Error: missing"},
            {"role": "user", "content": "and"},
            {"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
        ],
        "tools": [{"type": "function", "function": {
            "name": "read_file",
            "description": "Reads a file",
            "parameters": {
                "type": "object",
                "properties": {
                    "format": {"type": "string", "format": "uri", "default": {"format": 1}},
                },
                "additionalProperties": false,
            },
        }}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 1_000,
        "temperature": 0.7,
        "response_format": {"type": "json_schema",
                            "json_schema": {"name": "answer", "schema": {"type": "object"}}},
    });
    let mut body = encoded(&full_request(), Compat::default());
    // The temperature is written as the shortest f32, which is another number when read back as
    // f64.
    body["temperature"] = json!(0.7);
    assert_eq!(body, expected);
}

#[test]
fn quirks_change_exactly_their_fields() {
    let compat = Compat {
        system_role: SystemRole::Developer,
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        stream_usage: StreamUsage::Never,
        prompt_cache_key: PromptCacheKey::Send,
        reasoning_replay: ReasoningReplay::Text,
        model_place: ModelPlace::Body,
        extra_sampling: onyx_providers::wire::ExtraSampling::Omit,
        dropped_schema_keywords: vec!["format".into(), "additionalProperties".into()],
        thinking_budget: None,
        request_headers: onyx_providers::wire::RequestHeaders::Plain,
        api_version: None,
    };
    let mut expected = encoded(&full_request(), Compat::default());
    expected["messages"][0]["role"] = json!("developer");
    expected["messages"][2]["reasoning_content"] = json!("hm");
    expected["tools"][0]["function"]["parameters"] = json!({
        "type": "object",
        "properties": {"format": {"type": "string", "default": {"format": 1}}},
    });
    let fields = expected.as_object_mut().unwrap();
    fields.remove("stream_options");
    fields.remove("max_tokens");
    fields.insert("max_completion_tokens".into(), json!(1_000));
    fields.insert("prompt_cache_key".into(), json!("prefix"));
    assert_eq!(encoded(&full_request(), compat), expected);
}

#[test]
fn a_bare_request_holds_nothing_that_was_not_asked_for() {
    let request = ModelRequest {
        messages: vec![Message::user("hello"), assistant(vec![tool_use("a")])].into(),
        response_format: Some(ResponseFormat::JsonObject),
        ..ModelRequest::default()
    };
    let no_limit = CalledModel { max_output_tokens: None, ..called_model(Compat::default()) };
    let body: Value = serde_json::from_slice(&encode(&request, &no_limit).unwrap()).unwrap();
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": null, "tool_calls": [call("a")]},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "response_format": {"type": "json_object"},
    });
    assert_eq!(body, expected);
}

proptest! {
    #[test]
    fn every_text_arrives_as_it_was_written(
        texts in proptest::collection::vec("(\\PC|[\\x00-\\x1f\"\\\\]){0,80}", 1..4),
        said in "(?s).{0,200}",
    ) {
        let block = |text: &String| SystemBlock { text: text.clone(), stable: true };
        let request = ModelRequest {
            system: texts.iter().map(block).collect(),
            messages: vec![user(vec![text(&said)])].into(),
            ..ModelRequest::default()
        };
        let messages = encoded(&request, Compat::default())["messages"].take();
        prop_assert_eq!(messages, json!([
            {"role": "system", "content": texts.join("\n\n")},
            {"role": "user", "content": said},
        ]));
    }
}
