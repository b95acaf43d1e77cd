use std::borrow::Cow;

use onyx_types::{
    Attachment, AttachmentSource, Block, CallsAtOnce, Message, ModelFailure, ModelFailureClass,
    ModelRequest, ResponseFormat, Role, ToolChoice, ToolOffer,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::failure;
use crate::wire::names::{portable, portable_id};
use crate::wire::schema::schema_for;
use crate::wire::{CalledModel, MaxTokensField, PromptCacheKey};

/// Models that do not reason refuse requests for encrypted reasoning. They are known by the
/// beginnings of their names; all later ones reason.
const WITHOUT_REASONING: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt-4"];

/// The request's body. Borrows the history, which is by far its largest part.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    stream: bool,
    /// Onyx keeps the conversation; the server stores none of it.
    store: bool,
    /// Because the server stores nothing, reasoning can be replayed only if it is encrypted.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Known(KnownItem<'a>),
    /// Unchanged reasoning.
    Reasoning(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum KnownItem<'a> {
    Message { role: Role, content: Vec<Part<'a>> },
    FunctionCall { call_id: Cow<'a, str>, name: Cow<'a, str>, arguments: String },
    FunctionCallOutput { call_id: Cow<'a, str>, output: Cow<'a, str> },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    InputImage { image_url: String },
    InputFile(WireFile<'a>),
}

#[derive(Serialize)]
struct WireFile<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_url: Option<&'a str>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: Cow<'a, Value>,
    /// A missing field would mean `true`, and the server would refuse most schemas.
    strict: bool,
}

pub fn encode(request: &ModelRequest, called: &CalledModel) -> Result<Vec<u8>, ModelFailure> {
    let reasons = !WITHOUT_REASONING.iter().any(|name| called.model.starts_with(name));
    let body = Body {
        model: &called.model,
        instructions: instructions(request),
        input: input(&request.messages, called),
        tools: request.tools.iter().map(|offer| tool(offer, called)).collect(),
        tool_choice: tool_choice(&request.tool_use.choice),
        parallel_tool_calls: (request.tool_use.at_once == CallsAtOnce::One).then_some(false),
        stream: true,
        store: false,
        include: if reasons { &["reasoning.encrypted_content"] } else { &[] },
        max_output_tokens: match called.compat.max_tokens_field {
            MaxTokensField::Omit => None,
            MaxTokensField::MaxTokens | MaxTokensField::MaxCompletionTokens => {
                called.output_limit(request)
            }
        },
        temperature: request.temperature,
        top_p: request.sampling.top_p,
        reasoning: called.effort_word(request).map(|effort| json!({"effort": effort})),
        text: text_settings(request, called),
        prompt_cache_key: match called.compat.prompt_cache_key {
            PromptCacheKey::Send => request.cache_key.as_deref(),
            PromptCacheKey::Omit => None,
        },
    };
    serde_json::to_vec(&body)
        .map_err(|error| failure(ModelFailureClass::InvalidRequest, error.to_string()))
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({"type": "function", "name": portable(name)})),
    }
}

fn instructions(request: &ModelRequest) -> Option<String> {
    let texts: Vec<&str> = request.system.iter().map(|block| block.text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn input<'a>(messages: &'a [Message], called: &CalledModel) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for message in messages {
        match message.role {
            Role::User => user(message, &mut items),
            Role::Assistant => assistant(message, called, &mut items),
        }
    }
    items
}

/// Tool results become items of their own and come first, right after the calls they answer.
fn user<'a>(message: &'a Message, items: &mut Vec<Item<'a>>) {
    let mut content = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolResult { id, content, is_error } => {
                items.push(Item::Known(KnownItem::FunctionCallOutput {
                    call_id: portable_id(&id.0),
                    // The wire has no flag for a failed call.
                    output: if *is_error {
                        Cow::Owned(format!("Error: {content}"))
                    } else {
                        Cow::Borrowed(content)
                    },
                }));
            }
            Block::Text { text } => content.push(Part::InputText { text }),
            Block::Image { media_type, data } => content
                .push(Part::InputImage { image_url: format!("data:{media_type};base64,{data}") }),
            Block::Attachment(attachment) => content.push(attached(attachment)),
            // A user message has no reasoning or calls; the server would refuse such a block.
            Block::Reasoning { .. } | Block::ToolUse { .. } => {}
        }
    }
    if !content.is_empty() {
        items.push(Item::Known(KnownItem::Message { role: Role::User, content }));
    }
}

fn attached(attachment: &Attachment) -> Part<'_> {
    let media_type = &attachment.media_type;
    let encoded = |data: &str| format!("data:{media_type};base64,{data}");
    match (&attachment.source, attachment.is_image()) {
        (AttachmentSource::Url(url), true) => Part::InputImage { image_url: url.clone() },
        (AttachmentSource::Data(data), true) => Part::InputImage { image_url: encoded(data) },
        (AttachmentSource::Url(url), false) => {
            Part::InputFile(WireFile { filename: None, file_data: None, file_url: Some(url) })
        }
        (AttachmentSource::Data(data), false) => Part::InputFile(WireFile {
            filename: Some(attachment.file_name()),
            file_data: Some(encoded(data)),
            file_url: None,
        }),
    }
}

/// The server refuses reasoning without the item that it led to, so reasoning is only sent before
/// one.
fn assistant<'a>(message: &'a Message, called: &CalledModel, items: &mut Vec<Item<'a>>) {
    let mut reasoning = Vec::new();
    for block in &message.content {
        let item = match block {
            Block::Text { text } => KnownItem::Message {
                role: Role::Assistant,
                content: vec![Part::OutputText { text }],
            },
            Block::ToolUse { id, name, input, provider_data: _ } => KnownItem::FunctionCall {
                call_id: portable_id(&id.0),
                name: portable(name),
                arguments: input.to_string(),
            },
            Block::Reasoning { model, data } if *model == called.id && is_encrypted(data) => {
                reasoning.push(Item::Reasoning(data));
                continue;
            }
            // Reasoning of another model and content that an assistant cannot send are left out.
            Block::Reasoning { .. }
            | Block::Image { .. }
            | Block::Attachment(_)
            | Block::ToolResult { .. } => continue,
        };
        items.append(&mut reasoning);
        items.push(Item::Known(item));
    }
}

/// Whether the item holds its encrypted reasoning. The server stores nothing, so it would not find
/// an item that only names its reasoning.
fn is_encrypted(data: &Value) -> bool {
    data["type"] == "reasoning" && data["encrypted_content"].is_string()
}

fn tool<'a>(offer: &'a ToolOffer, called: &CalledModel) -> WireTool<'a> {
    WireTool {
        kind: "function",
        name: portable(&offer.name),
        description: &offer.description,
        parameters: schema_for(&offer.input_schema, &called.compat),
        strict: false,
    }
}

fn text_settings(request: &ModelRequest, called: &CalledModel) -> Option<Value> {
    let format = request.response_format.as_ref().map(text_format);
    let Some(verbosity) = called.verbosity(&request.sampling) else { return format };
    let mut settings = format.unwrap_or_else(|| json!({}));
    settings["verbosity"] = verbosity.into();
    Some(settings)
}

fn text_format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({"format": {"type": "json_object"}}),
        ResponseFormat::JsonSchema { name, schema } => {
            json!({"format": {"type": "json_schema", "name": name, "schema": schema}})
        }
    }
}
