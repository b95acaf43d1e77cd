//! Turns our request into the client's types.

use aws_sdk_bedrockruntime::operation::converse_stream::builders::ConverseStreamFluentBuilder;
use aws_sdk_bedrockruntime::types::{
    AnyToolChoice, CachePointBlock, CachePointType, ContentBlock, ConversationRole, ImageBlock,
    ImageFormat, ImageSource, InferenceConfiguration, Message as WireMessage,
    ReasoningContentBlock, ReasoningTextBlock, SpecificToolChoice, SystemContentBlock, Tool,
    ToolChoice as WireToolChoice, ToolConfiguration, ToolInputSchema, ToolResultBlock,
    ToolResultContentBlock, ToolResultStatus, ToolSpecification, ToolUseBlock,
};
use aws_smithy_types::error::operation::BuildError;
use aws_smithy_types::{Blob, base64};
use onyx_providers::wire::{portable, unsupported};
use onyx_types::{Block, CallsAtOnce, Message, ModelFailure, ModelRequest, Role, ToolChoice};
use serde_json::{Value, json};

use crate::document::document;

/// Checks for content that the service does not support.
pub(crate) fn check(request: &ModelRequest) -> Result<(), ModelFailure> {
    if request.tool_use.at_once == CallsAtOnce::One {
        let why = "Bedrock's models cannot be told to call one tool at a time";
        return Err(unsupported("parallel_tool_calls", why));
    }
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    if blocks.into_iter().any(|block| matches!(block, Block::Attachment(_))) {
        let why = "documents and images by address are not sent to Bedrock; send text or base64";
        return Err(unsupported("messages", why));
    }
    if request.response_format.is_some() {
        let why = "Bedrock's models cannot be held to a form of answer";
        return Err(unsupported("response_format", why));
    }
    Ok(())
}

pub(crate) fn encode(
    call: ConverseStreamFluentBuilder,
    request: &ModelRequest,
    id: &str,
    max_output_tokens: Option<u32>,
) -> Result<ConverseStreamFluentBuilder, BuildError> {
    let limit = match (request.max_output_tokens, max_output_tokens) {
        (0, most) => most,
        (wanted, most) => Some(most.map_or(wanted, |most| wanted.min(most))),
    };
    let settings = InferenceConfiguration::builder()
        .set_max_tokens(limit.and_then(|limit| i32::try_from(limit).ok()))
        .set_temperature(request.temperature)
        .build();
    Ok(call
        .set_system(Some(system(request)?).filter(|blocks| !blocks.is_empty()))
        .set_messages(Some(messages(request, id)?))
        .set_tool_config(tools(request)?)
        .inference_config(settings))
}

/// Puts a cache mark after the last block that stays equal: the cache also holds everything before
/// it.
fn system(request: &ModelRequest) -> Result<Vec<SystemContentBlock>, BuildError> {
    let last_stable = request.system.iter().rposition(|block| block.stable);
    let mut blocks = Vec::new();
    for (position, block) in request.system.iter().enumerate() {
        blocks.push(SystemContentBlock::Text(block.text.clone()));
        if Some(position) == last_stable {
            blocks.push(SystemContentBlock::CachePoint(cache_point()?));
        }
    }
    Ok(blocks)
}

fn tools(request: &ModelRequest) -> Result<Option<ToolConfiguration>, BuildError> {
    // The service has no option for tools that must not be called, so none are sent.
    if request.tools.is_empty() || request.tool_use.choice == ToolChoice::None {
        return Ok(None);
    }
    let mut tools = ToolConfiguration::builder();
    for offer in &*request.tools {
        let tool = ToolSpecification::builder()
            .name(portable(&offer.name))
            // The service refuses an empty description.
            .set_description(Some(offer.description.clone()).filter(|words| !words.is_empty()))
            .input_schema(ToolInputSchema::Json(document(&offer.input_schema)))
            .build()?;
        tools = tools.tools(Tool::ToolSpec(tool));
    }
    tools
        .set_tool_choice(tool_choice(&request.tool_use.choice)?)
        .tools(Tool::CachePoint(cache_point()?))
        .build()
        .map(Some)
}

fn tool_choice(choice: &ToolChoice) -> Result<Option<WireToolChoice>, BuildError> {
    Ok(match choice {
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required => Some(WireToolChoice::Any(AnyToolChoice::builder().build())),
        ToolChoice::Named(name) => {
            let tool = SpecificToolChoice::builder().name(portable(name)).build()?;
            Some(WireToolChoice::Tool(tool))
        }
    })
}

/// Neighbouring messages of one role become one message: the service requires roles to alternate.
fn messages(request: &ModelRequest, id: &str) -> Result<Vec<WireMessage>, BuildError> {
    let mut turns: Vec<(Role, Vec<ContentBlock>)> = Vec::new();
    for message in request.messages.iter() {
        let content = match message.role {
            Role::User => user(message)?,
            Role::Assistant => assistant(message, id)?,
        };
        match turns.last_mut() {
            _ if content.is_empty() => {}
            Some((role, before)) if *role == message.role => before.extend(content),
            Some(_) | None => turns.push((message.role, content)),
        }
    }
    let wire = |(role, content): (Role, Vec<ContentBlock>)| {
        let role = match role {
            Role::User => ConversationRole::User,
            Role::Assistant => ConversationRole::Assistant,
        };
        WireMessage::builder().role(role).set_content(Some(content)).build()
    };
    turns.into_iter().map(wire).collect()
}

/// Tool results come first, right after the calls they answer.
fn user(message: &Message) -> Result<Vec<ContentBlock>, BuildError> {
    let (mut results, mut parts) = (Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            Block::ToolResult { id, content, is_error } => {
                let status =
                    if *is_error { ToolResultStatus::Error } else { ToolResultStatus::Success };
                let result = ToolResultBlock::builder()
                    .tool_use_id(portable(&id.0))
                    .content(ToolResultContentBlock::Text(content.clone()))
                    .status(status)
                    .build()?;
                results.push(ContentBlock::ToolResult(result));
            }
            Block::Text { text } if !text.trim().is_empty() => {
                parts.push(ContentBlock::Text(text.clone()));
            }
            Block::Image { media_type, data } => {
                parts.extend(image(media_type, data)?.map(ContentBlock::Image));
            }
            // Attachments were refused before, the service would refuse an empty text, and a user
            // message has no reasoning or calls.
            Block::Attachment(_)
            | Block::Text { .. }
            | Block::Reasoning { .. }
            | Block::ToolUse { .. } => {}
        }
    }
    results.append(&mut parts);
    Ok(results)
}

fn assistant(message: &Message, own: &str) -> Result<Vec<ContentBlock>, BuildError> {
    let mut blocks = Vec::new();
    for block in &message.content {
        match block {
            Block::Text { text } if !text.trim().is_empty() => {
                blocks.push(ContentBlock::Text(text.clone()));
            }
            Block::ToolUse { id, name, input, provider_data: _ } => {
                // The service accepts only objects, but a model may have written any JSON.
                let input = match input {
                    Value::Object(_) => document(input),
                    Value::Null => document(&json!({})),
                    other => document(&json!({"value": other})),
                };
                let call = ToolUseBlock::builder()
                    .tool_use_id(portable(&id.0))
                    .name(portable(name))
                    .input(input)
                    .build()?;
                blocks.push(ContentBlock::ToolUse(call));
            }
            Block::Reasoning { model, data } if model == own => {
                blocks.extend(reasoning(data)?.map(ContentBlock::ReasoningContent));
            }
            // Empty text, reasoning of another model, and content that an assistant cannot send are
            // left out.
            Block::Text { .. }
            | Block::Reasoning { .. }
            | Block::Image { .. }
            | Block::Attachment(_)
            | Block::ToolResult { .. } => {}
        }
    }
    // A message with only reasoning is left out: the text or call that it led to was left out of
    // the history.
    let spoken = blocks.iter().any(|block| !block.is_reasoning_content());
    Ok(if spoken { blocks } else { Vec::new() })
}

/// Reads reasoning in either of the two forms that `answer` stores.
fn reasoning(data: &Value) -> Result<Option<ReasoningContentBlock>, BuildError> {
    let field = |name: &str| data.get(name).and_then(Value::as_str);
    if let Some(bytes) = field("redactedContent").and_then(|text| base64::decode(text).ok()) {
        return Ok(Some(ReasoningContentBlock::RedactedContent(Blob::new(bytes))));
    }
    let (Some(text), Some(signature)) = (field("text"), field("signature")) else {
        return Ok(None);
    };
    let block = ReasoningTextBlock::builder().text(text).signature(signature).build()?;
    Ok(Some(ReasoningContentBlock::ReasoningText(block)))
}

/// The image; `None` for a format that the service does not accept.
fn image(media_type: &str, data: &str) -> Result<Option<ImageBlock>, BuildError> {
    let format = match media_type {
        "image/png" => ImageFormat::Png,
        "image/jpeg" => ImageFormat::Jpeg,
        "image/gif" => ImageFormat::Gif,
        "image/webp" => ImageFormat::Webp,
        _ => return Ok(None),
    };
    let Ok(bytes) = base64::decode(data) else { return Ok(None) };
    let source = ImageSource::Bytes(Blob::new(bytes));
    ImageBlock::builder().format(format).source(source).build().map(Some)
}

fn cache_point() -> Result<CachePointBlock, BuildError> {
    CachePointBlock::builder().r#type(CachePointType::Default).build()
}
