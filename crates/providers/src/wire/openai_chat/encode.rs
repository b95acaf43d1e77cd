use std::borrow::Cow;

use onyx_types::{
    Block, CallsAtOnce, Message, ModelFailure, ModelFailureClass, ModelRequest, ResponseFormat,
    Role, ToolChoice, ToolOffer,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::failure;
use crate::wire::names::portable;
use crate::wire::schema::schema_for;
use crate::wire::{
    Compat, MaxTokensField, PromptCacheKey, ReasoningReplay, StreamUsage, SystemRole, Target,
};

/// The request's body. Borrows the history, which is by far its largest part.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: String,
    },
    Developer {
        content: String,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
        /// Reasoning in the provider's own fields.
        #[serde(flatten)]
        reasoning: Map<String, Value>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    arguments: String,
}

#[derive(Serialize)]
struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireToolFunction<'a>,
}

#[derive(Serialize)]
struct WireToolFunction<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: Cow<'a, Value>,
}

pub fn encode(request: &ModelRequest, target: &Target) -> Result<Vec<u8>, ModelFailure> {
    let compat = &target.compat;
    let (max_tokens, max_completion_tokens) = max_tokens(request, target);
    let body = Body {
        model: &target.model,
        messages: messages(request, target),
        tools: request.tools.iter().map(|offer| tool(offer, compat)).collect(),
        tool_choice: tool_choice(&request.tool_use.choice),
        parallel_tool_calls: (request.tool_use.at_once == CallsAtOnce::One).then_some(false),
        stream: true,
        stream_options: match compat.stream_usage {
            StreamUsage::Ask => Some(json!({"include_usage": true})),
            StreamUsage::Never => None,
        },
        max_tokens,
        max_completion_tokens,
        temperature: request.temperature,
        response_format: request.response_format.as_ref().map(response_format),
        prompt_cache_key: match compat.prompt_cache_key {
            PromptCacheKey::Send => request.cache_key.as_deref(),
            PromptCacheKey::Omit => None,
        },
    };
    serde_json::to_vec(&body).map_err(|error| {
        failure(
            ModelFailureClass::InvalidRequest,
            format!("the request cannot be written: {error}"),
        )
    })
}

fn messages<'a>(request: &'a ModelRequest, target: &Target) -> Vec<WireMessage<'a>> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    messages.extend(system(request, target.compat.system_role));
    for message in request.messages.iter() {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.extend(assistant(message, target)),
        }
    }
    messages
}

fn system(request: &ModelRequest, role: SystemRole) -> Option<WireMessage<'_>> {
    if request.system.is_empty() {
        return None;
    }
    let texts: Vec<&str> = request.system.iter().map(|block| block.text.as_str()).collect();
    let content = texts.join("\n\n");
    Some(match role {
        SystemRole::System => WireMessage::System { content },
        SystemRole::Developer => WireMessage::Developer { content },
    })
}

/// Tool results become messages of their own and come first: the wire wants them right after the
/// calls they answer.
fn user<'a>(message: &'a Message, messages: &mut Vec<WireMessage<'a>>) {
    let mut parts = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolResult { id, content, is_error } => messages.push(WireMessage::Tool {
                tool_call_id: &id.0,
                // The wire has no flag for a failed call.
                content: if *is_error {
                    Cow::Owned(format!("Error: {content}"))
                } else {
                    Cow::Borrowed(content)
                },
            }),
            Block::Text { text } => parts.push(Part::Text { text }),
            Block::Image { media_type, data } => parts.push(Part::ImageUrl {
                image_url: ImageUrl { url: format!("data:{media_type};base64,{data}") },
            }),
            // A user says neither; such a block would be refused by the server.
            Block::Reasoning { .. } | Block::ToolUse { .. } => {}
        }
    }
    if !parts.is_empty() {
        messages.push(WireMessage::User { content: user_content(parts) });
    }
}

/// Text alone goes as a string: not every compatible server takes a list of parts.
fn user_content(parts: Vec<Part<'_>>) -> UserContent<'_> {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => Some(*text),
            Part::ImageUrl { .. } => None,
        })
        .collect();
    match texts.as_deref() {
        Some([text]) => UserContent::Text(Cow::Borrowed(text)),
        Some(texts) => UserContent::Text(Cow::Owned(texts.join("\n\n"))),
        None => UserContent::Parts(parts),
    }
}

/// `None` when nothing is left to say, as when only another model's reasoning was in it.
fn assistant<'a>(message: &'a Message, target: &Target) -> Option<WireMessage<'a>> {
    let (mut texts, mut tool_calls, mut reasoning) = (Vec::new(), Vec::new(), Map::new());
    for block in &message.content {
        match block {
            Block::Text { text } => texts.push(text.as_str()),
            Block::ToolUse { id, name, input, .. } => tool_calls.push(WireCall {
                id: &id.0,
                kind: "function",
                function: WireFunction { name: portable(name), arguments: input.to_string() },
            }),
            Block::Reasoning { model, data } if *model == target.id => {
                replay_reasoning(data, target.compat.reasoning_replay, &mut reasoning);
            }
            // Reasoning of another model, and what an assistant cannot say.
            Block::Reasoning { .. } | Block::Image { .. } | Block::ToolResult { .. } => {}
        }
    }
    let content = match texts.as_slice() {
        [] => None,
        [text] => Some(Cow::Borrowed(*text)),
        texts => Some(Cow::Owned(texts.join("\n\n"))),
    };
    let silent = content.is_none() && tool_calls.is_empty();
    (!silent).then_some(WireMessage::Assistant { content, tool_calls, reasoning })
}

fn replay_reasoning(data: &Value, replay: ReasoningReplay, fields: &mut Map<String, Value>) {
    let text = match replay {
        ReasoningReplay::Text => Some("reasoning_content"),
        ReasoningReplay::Omit => None,
    };
    for field in text.into_iter().chain(["reasoning_details"]) {
        if let Some(value) = data.get(field) {
            fields.insert(field.to_owned(), value.clone());
        }
    }
}

fn tool<'a>(offer: &'a ToolOffer, compat: &Compat) -> WireTool<'a> {
    WireTool {
        kind: "function",
        function: WireToolFunction {
            name: portable(&offer.name),
            description: &offer.description,
            parameters: schema_for(&offer.input_schema, compat),
        },
    }
}

fn max_tokens(request: &ModelRequest, target: &Target) -> (Option<u32>, Option<u32>) {
    let limit = target.output_limit(request);
    match target.compat.max_tokens_field {
        MaxTokensField::MaxTokens => (limit, None),
        MaxTokensField::MaxCompletionTokens => (None, limit),
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => {
            Some(json!({"type": "function", "function": {"name": portable(name)}}))
        }
    }
}

fn response_format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({"type": "json_object"}),
        ResponseFormat::JsonSchema { name, schema } => {
            json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}})
        }
    }
}
