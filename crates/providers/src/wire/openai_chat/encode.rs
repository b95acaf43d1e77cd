use std::borrow::Cow;

use onyx_types::{
    Attachment, AttachmentSource, Block, CallsAtOnce, Message, ModelFailure, ModelFailureClass,
    ModelRequest, ResponseFormat, Role, ToolChoice,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::failure;
use crate::wire::attachments;
use crate::wire::names::portable;
use crate::wire::schema::schema_for;
use crate::wire::{
    CalledModel, Compat, ExtraSampling, MaxTokensField, PromptCacheKey, ReasoningReplay,
    StreamUsage, SystemRole,
};

/// The fields of the request's body beside model, messages and tools.
#[derive(Serialize)]
struct BodyFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(flatten)]
    sampling: WireSampling<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Default, Serialize)]
struct WireSampling<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logit_bias: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a Value>,
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
    File { file: WireFile<'a> },
}

#[derive(Serialize)]
struct WireFile<'a> {
    filename: &'a str,
    file_data: String,
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

pub fn encode(request: &ModelRequest, called: &CalledModel) -> Result<Vec<u8>, ModelFailure> {
    let carries = |it: &Attachment| it.is_image() || matches!(it.source, AttachmentSource::Data(_));
    attachments::check(request, carries)?;
    written(request, called).map_err(|error| {
        failure(
            ModelFailureClass::InvalidRequest,
            format!("the request cannot be written: {error}"),
        )
    })
}

/// Writes the request piece by piece. Nearly all of it was sent before and most pieces are short,
/// so making a JSON value of each piece would cost more than the writing.
fn written(request: &ModelRequest, called: &CalledModel) -> serde_json::Result<Vec<u8>> {
    let compat = &called.compat;
    let (max_tokens, max_completion_tokens) = max_tokens(request, called);
    let rest = BodyFields {
        tool_choice: tool_choice(&request.tool_use.choice),
        parallel_tool_calls: (request.tool_use.at_once == CallsAtOnce::One).then_some(false),
        stream: true,
        stream_options: match compat.stream_usage {
            StreamUsage::Ask => Some(StreamOptions { include_usage: true }),
            StreamUsage::Never => None,
        },
        max_tokens,
        max_completion_tokens,
        temperature: request.temperature,
        sampling: sampling(request, called),
        response_format: request.response_format.as_ref().map(response_format),
        prompt_cache_key: match compat.prompt_cache_key {
            PromptCacheKey::Send => request.cache_key.as_deref(),
            PromptCacheKey::Omit => None,
        },
    };
    let mut body = Vec::with_capacity(length_about(request));
    body.extend_from_slice(b"{\"model\":");
    text(&mut body, &called.model)?;
    body.extend_from_slice(b",\"messages\":[");
    messages(&mut body, request, called)?;
    body.push(b']');
    tools(&mut body, request, compat)?;
    // `rest` is not empty, because `stream` is always in it.
    let rest = serde_json::to_vec(&rest)?;
    body.push(b',');
    body.extend_from_slice(&rest[1..]);
    Ok(body)
}

fn length_about(request: &ModelRequest) -> usize {
    let system: usize = request.system.iter().map(|block| block.text.len()).sum();
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    let content: usize = blocks
        .map(|block| match block {
            Block::Text { text } => text.len(),
            Block::Image { data, .. } => data.len(),
            Block::Attachment(attachment) => attachment.byte_len(),
            Block::ToolResult { content, .. } => content.len(),
            Block::ToolUse { .. } | Block::Reasoning { .. } => 256,
        })
        .sum();
    let tools: usize = request.tools.iter().map(|tool| 512 + tool.description.len()).sum();
    system + content + request.messages.len() * 48 + tools + 1024
}

/// Writes a string directly if no character in it needs escaping.
fn text(body: &mut Vec<u8>, text: &str) -> serde_json::Result<()> {
    let special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    if text.bytes().fold(false, |any, byte| any | special(byte)) {
        return serde_json::to_writer(body, text);
    }
    body.push(b'"');
    body.extend_from_slice(text.as_bytes());
    body.push(b'"');
    Ok(())
}

/// Writes a comma if the list already has an item.
fn comma(body: &mut Vec<u8>) {
    if body.last() != Some(&b'[') {
        body.push(b',');
    }
}

fn tools(body: &mut Vec<u8>, request: &ModelRequest, compat: &Compat) -> serde_json::Result<()> {
    if request.tools.is_empty() {
        return Ok(());
    }
    body.extend_from_slice(b",\"tools\":[");
    for offer in &*request.tools {
        comma(body);
        body.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
        text(body, &portable(&offer.name))?;
        body.extend_from_slice(b",\"description\":");
        text(body, &offer.description)?;
        body.extend_from_slice(b",\"parameters\":");
        match schema_for(&offer.input_schema, compat) {
            Cow::Borrowed(_) => body.extend_from_slice(offer.input_schema.text().as_bytes()),
            Cow::Owned(schema) => serde_json::to_writer(&mut *body, &schema)?,
        }
        body.extend_from_slice(b"}}");
    }
    body.push(b']');
    Ok(())
}

fn messages(
    body: &mut Vec<u8>,
    request: &ModelRequest,
    called: &CalledModel,
) -> serde_json::Result<()> {
    if let Some(system) = system(request, called.compat.system_role) {
        message(body, &system)?;
    }
    for turn in request.messages.iter() {
        match (turn.role, turn.content.as_slice()) {
            (Role::User, [Block::Text { text }]) => plain(body, "user", text)?,
            (Role::Assistant, [Block::Text { text }]) => plain(body, "assistant", text)?,
            (Role::User, _) => {
                for part in user(turn) {
                    message(body, &part)?;
                }
            }
            (Role::Assistant, _) => {
                if let Some(turn) = assistant(turn, called) {
                    message(body, &turn)?;
                }
            }
        }
    }
    Ok(())
}

fn message(body: &mut Vec<u8>, message: &WireMessage<'_>) -> serde_json::Result<()> {
    comma(body);
    serde_json::to_writer(body, message)
}

/// Writes a message with a single text, as nearly all messages are.
fn plain(body: &mut Vec<u8>, role: &str, words: &str) -> serde_json::Result<()> {
    comma(body);
    for piece in ["{\"role\":\"", role, "\",\"content\":"] {
        body.extend_from_slice(piece.as_bytes());
    }
    text(body, words)?;
    body.push(b'}');
    Ok(())
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

/// Tool results become messages of their own and come first: the wire requires them right after the
/// calls they answer.
fn user(message: &Message) -> Vec<WireMessage<'_>> {
    let (mut messages, mut parts) = (Vec::new(), Vec::new());
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
            Block::Attachment(attachment) => parts.push(attached(attachment)),
            // A user message has no reasoning or calls; the server would refuse such a block.
            Block::Reasoning { .. } | Block::ToolUse { .. } => {}
        }
    }
    if !parts.is_empty() {
        messages.push(WireMessage::User { content: user_content(parts) });
    }
    messages
}

fn attached(attachment: &Attachment) -> Part<'_> {
    let media_type = &attachment.media_type;
    let address = match &attachment.source {
        AttachmentSource::Url(url) => url.clone(),
        AttachmentSource::Data(data) => format!("data:{media_type};base64,{data}"),
    };
    if attachment.is_image() {
        return Part::ImageUrl { image_url: ImageUrl { url: address } };
    }
    Part::File { file: WireFile { filename: attachment.file_name(), file_data: address } }
}

/// A message with only text is sent as a string: not every compatible server accepts a list of
/// parts.
fn user_content(parts: Vec<Part<'_>>) -> UserContent<'_> {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => Some(*text),
            Part::ImageUrl { .. } | Part::File { .. } => None,
        })
        .collect();
    match texts.as_deref() {
        Some([text]) => UserContent::Text(Cow::Borrowed(text)),
        Some(texts) => UserContent::Text(Cow::Owned(texts.join("\n\n"))),
        None => UserContent::Parts(parts),
    }
}

/// `None` if nothing is left to send, for example because the message held only another model's
/// reasoning.
fn assistant<'a>(message: &'a Message, called: &CalledModel) -> Option<WireMessage<'a>> {
    let (mut texts, mut tool_calls) = (Vec::new(), Vec::new());
    let (mut reasoning_content, mut reasoning_details) = (None, None);
    for block in &message.content {
        match block {
            Block::Text { text } => texts.push(text.as_str()),
            Block::ToolUse { id, name, input, .. } => tool_calls.push(WireCall {
                id: &id.0,
                kind: "function",
                function: WireFunction { name: portable(name), arguments: input.to_string() },
            }),
            Block::Reasoning { model, data } if *model == called.id => {
                if called.compat.reasoning_replay == ReasoningReplay::Text {
                    reasoning_content = data.get("reasoning_content").or(reasoning_content);
                }
                reasoning_details = data.get("reasoning_details").or(reasoning_details);
            }
            // Reasoning of another model and content that an assistant cannot send are left out.
            Block::Reasoning { .. }
            | Block::Image { .. }
            | Block::Attachment(_)
            | Block::ToolResult { .. } => {}
        }
    }
    let content = match texts.as_slice() {
        [] => None,
        [text] => Some(Cow::Borrowed(*text)),
        texts => Some(Cow::Owned(texts.join("\n\n"))),
    };
    let silent = content.is_none() && tool_calls.is_empty();
    (!silent).then_some(WireMessage::Assistant {
        content,
        tool_calls,
        reasoning_content,
        reasoning_details,
    })
}

fn max_tokens(request: &ModelRequest, called: &CalledModel) -> (Option<u32>, Option<u32>) {
    let limit = called.output_limit(request);
    match called.compat.max_tokens_field {
        MaxTokensField::MaxTokens => (limit, None),
        MaxTokensField::MaxCompletionTokens => (None, limit),
        MaxTokensField::Omit => (None, None),
    }
}

fn sampling<'a>(request: &'a ModelRequest, called: &CalledModel) -> WireSampling<'a> {
    let sampling = &request.sampling;
    let extra = called.compat.extra_sampling == ExtraSampling::Send;
    WireSampling {
        top_p: sampling.top_p,
        top_k: sampling.top_k.filter(|_| extra),
        min_p: sampling.min_p.filter(|_| extra),
        seed: sampling.seed,
        frequency_penalty: sampling.frequency_penalty,
        presence_penalty: sampling.presence_penalty,
        logit_bias: sampling.logit_bias.as_ref(),
        stop: &sampling.stop,
        reasoning_effort: called.effort_word(request),
        verbosity: called.verbosity(sampling),
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
