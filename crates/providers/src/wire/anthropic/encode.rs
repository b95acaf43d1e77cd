use std::borrow::Cow;

use onyx_types::{
    Attachment, AttachmentSource, Block, CallsAtOnce, Message, ModelFailure, ModelFailureClass,
    ModelRequest, ResponseFormat, Role, SystemBlock, ToolChoice, ToolOffer, ToolUse,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::{failure, unsupported};
use crate::wire::names::{object_arguments, portable, portable_id};
use crate::wire::schema::schema_for;
use crate::wire::{CalledModel, ModelPlace};

/// The wire requires a limit in every request.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// The smallest thinking budget that the wire accepts.
const MIN_THINKING_TOKENS: u32 = 1_024;

/// The request's body. Borrows the history, which is by far its largest part.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// Vertex AI expects the version in this field; elsewhere it is a header.
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<CacheMarked<WireBlock<'a>>>,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<CacheMarked<WireTool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Vec<CacheMarked<WireBlock<'a>>>,
}

/// A part of the prompt, and whether the prefix that ends with it is cached.
#[derive(Serialize)]
struct CacheMarked<T> {
    #[serde(flatten)]
    part: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireBlock<'a> {
    Known(KnownBlock<'a>),
    /// Unchanged thinking, signature included; the server would refuse a changed byte.
    Thinking(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum KnownBlock<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Value,
    },
    Document {
        source: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: &'a str,
        is_error: bool,
    },
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: Cow<'a, Value>,
}

pub fn encode(request: &ModelRequest, called: &CalledModel) -> Result<Vec<u8>, ModelFailure> {
    let in_body = called.compat.model_place == ModelPlace::Body;
    let max_tokens = called.output_limit(request).unwrap_or(DEFAULT_MAX_TOKENS);
    // A model that must call a tool is not allowed to think first.
    let forced = request.tool_use.choice.is_forced();
    let thinking = thinking(request, called, max_tokens).filter(|_| !forced);
    let output_config = request.response_format.as_ref().map(output_config).transpose()?;
    let body = Body {
        model: in_body.then_some(called.model.as_str()),
        anthropic_version: (!in_body).then_some(VERTEX_VERSION),
        max_tokens,
        system: system(&request.system),
        messages: messages(request, called),
        tools: tools(&request.tools, called),
        tool_choice: tool_choice(&request.tool_use),
        stream: true,
        // The wire's range ends at one, and a thinking model accepts no temperature.
        temperature: request.temperature.filter(|_| thinking.is_none()).map(|heat| heat.min(1.0)),
        // A thinking model accepts no other sampling settings either.
        top_p: request.sampling.top_p.filter(|_| thinking.is_none()),
        top_k: request.sampling.top_k.filter(|_| thinking.is_none()),
        stop_sequences: &request.sampling.stop,
        thinking,
        output_config,
    };
    serde_json::to_vec(&body)
        .map_err(|error| failure(ModelFailureClass::InvalidRequest, error.to_string()))
}

/// Sets one cache mark, on the last block that stays equal: the cache also holds everything before
/// it.
fn system(blocks: &[SystemBlock]) -> Vec<CacheMarked<WireBlock<'_>>> {
    let last_stable = blocks.iter().rposition(|block| block.stable && has_words(&block.text));
    let spoken = blocks.iter().enumerate().filter(|(_, block)| has_words(&block.text));
    spoken
        .map(|(position, block)| CacheMarked {
            part: WireBlock::Known(KnownBlock::Text { text: &block.text }),
            cache_control: (Some(position) == last_stable).then(mark),
        })
        .collect()
}

/// Tools come first in the prefix and rarely change, so they get a cache mark of their own.
fn tools<'a>(offers: &'a [ToolOffer], called: &CalledModel) -> Vec<CacheMarked<WireTool<'a>>> {
    let mut tools: Vec<_> = offers
        .iter()
        .map(|offer| {
            unmarked(WireTool {
                name: portable(&offer.name),
                description: &offer.description,
                input_schema: schema_for(&offer.input_schema, &called.compat),
            })
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(mark());
    }
    tools
}

/// Neighbouring messages of one role become one message, as the server would merge them. The last
/// block gets a cache mark, so that the next step of a run finds this one cached.
fn messages<'a>(request: &'a ModelRequest, called: &CalledModel) -> Vec<WireMessage<'a>> {
    let mut messages: Vec<WireMessage<'a>> = Vec::new();
    for message in request.messages.iter() {
        let content = match message.role {
            Role::User => user(message),
            Role::Assistant => assistant(message, called),
        };
        match messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == message.role => last.content.extend(content),
            Some(_) | None => messages.push(WireMessage { role: message.role, content }),
        }
    }
    if let Some(last) = messages.last_mut().and_then(|message| message.content.last_mut())
        && let WireBlock::Known(_) = last.part
    {
        last.cache_control = Some(mark());
    }
    messages
}

/// Tool results come first: the wire requires them right after the calls they answer.
fn user(message: &Message) -> Vec<CacheMarked<WireBlock<'_>>> {
    let (mut results, mut parts) = (Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            Block::ToolResult { id, content, is_error } => results.push(KnownBlock::ToolResult {
                tool_use_id: portable_id(&id.0),
                content,
                is_error: *is_error,
            }),
            Block::Text { text } if has_words(text) => parts.push(KnownBlock::Text { text }),
            Block::Image { media_type, data } => parts.push(KnownBlock::Image {
                source: json!({"type": "base64", "media_type": media_type, "data": data}),
            }),
            Block::Attachment(attachment) => parts.push(attached(attachment)),
            // The server refuses an empty text, and a user message has no reasoning or calls.
            Block::Text { .. } | Block::Reasoning { .. } | Block::ToolUse { .. } => {}
        }
    }
    results.into_iter().chain(parts).map(|block| unmarked(WireBlock::Known(block))).collect()
}

fn attached(attachment: &Attachment) -> KnownBlock<'_> {
    let source = match &attachment.source {
        AttachmentSource::Url(url) => json!({"type": "url", "url": url}),
        AttachmentSource::Data(data) => {
            json!({"type": "base64", "media_type": attachment.media_type, "data": data})
        }
    };
    if attachment.is_image() {
        return KnownBlock::Image { source };
    }
    KnownBlock::Document { source, title: attachment.name.as_deref() }
}

fn assistant<'a>(message: &'a Message, called: &CalledModel) -> Vec<CacheMarked<WireBlock<'a>>> {
    let block = |block: &'a Block| match block {
        Block::Text { text } if has_words(text) => {
            Some(WireBlock::Known(KnownBlock::Text { text }))
        }
        Block::ToolUse { id, name, input, provider_data: _ } => {
            Some(WireBlock::Known(KnownBlock::ToolUse {
                id: portable_id(&id.0),
                name: portable(name),
                input: object_arguments(input),
            }))
        }
        Block::Reasoning { model, data } if *model == called.id && is_thinking(data) => {
            Some(WireBlock::Thinking(data))
        }
        // Empty text, reasoning of another model, and content that an assistant cannot send are
        // left out.
        Block::Text { .. }
        | Block::Reasoning { .. }
        | Block::Image { .. }
        | Block::Attachment(_)
        | Block::ToolResult { .. } => None,
    };
    let blocks: Vec<_> = message.content.iter().filter_map(block).collect();
    // A message with only thinking is left out: the text or call that it led to was left out of the
    // history.
    if blocks.iter().all(|block| matches!(block, WireBlock::Thinking(_))) {
        return Vec::new();
    }
    blocks.into_iter().map(unmarked).collect()
}

/// The data may come from another wire, if the provider's settings have changed since.
fn is_thinking(data: &Value) -> bool {
    matches!(data["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

fn thinking(request: &ModelRequest, called: &CalledModel, max_tokens: u32) -> Option<Value> {
    let wanted = match called.effort(request) {
        Some(effort) => effort.budget(),
        None => called.compat.thinking_budget,
    };
    let budget = wanted?.max(MIN_THINKING_TOKENS);
    // Thinking counts against the limit; if none would be left for the answer, it is not requested.
    (budget < max_tokens).then(|| json!({"type": "enabled", "budget_tokens": budget}))
}

fn output_config(format: &ResponseFormat) -> Result<Value, ModelFailure> {
    match format {
        ResponseFormat::JsonObject => Err(unsupported(
            "response_format",
            "this provider writes JSON by a schema only; give one",
        )),
        ResponseFormat::JsonSchema { name: _, schema } => {
            Ok(json!({"format": {"type": "json_schema", "schema": schema}}))
        }
    }
}

fn tool_choice(tool_use: &ToolUse) -> Option<Value> {
    let mut choice = match (&tool_use.choice, tool_use.at_once) {
        (ToolChoice::Auto, CallsAtOnce::Several) => return None,
        (ToolChoice::None, _) => return Some(json!({"type": "none"})),
        (ToolChoice::Auto, CallsAtOnce::One) => json!({"type": "auto"}),
        (ToolChoice::Required, _) => json!({"type": "any"}),
        (ToolChoice::Named(name), _) => json!({"type": "tool", "name": portable(name)}),
    };
    if tool_use.at_once == CallsAtOnce::One {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

fn unmarked<T>(part: T) -> CacheMarked<T> {
    CacheMarked { part, cache_control: None }
}

fn mark() -> Value {
    json!({"type": "ephemeral"})
}

fn has_words(text: &str) -> bool {
    !text.trim().is_empty()
}
