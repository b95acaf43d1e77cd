use std::borrow::Cow;
use std::collections::HashMap;

use onyx_types::{
    Attachment, AttachmentSource, Block, CallsAtOnce, Effort, Message, ModelFailure,
    ModelFailureClass, ModelRequest, ResponseFormat, Role, ToolChoice, ToolOffer,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::THINKING;
use crate::failure::{failure, unsupported};
use crate::wire::names::{object_arguments, portable};
use crate::wire::schema::schema_for;
use crate::wire::{CalledModel, attachments};

/// The request's body. Borrows the history, which is by far its largest part.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<bool>,
    options: Options,
}

#[derive(Serialize)]
struct Options {
    /// The context window. Without it the server uses a small one and silently drops the beginning
    /// of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop: Vec<String>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, Value>,
}

pub fn encode(request: &ModelRequest, called: &CalledModel) -> Result<Vec<u8>, ModelFailure> {
    let offers: &[ToolOffer] = match &request.tool_use.choice {
        ToolChoice::Auto => &request.tools,
        ToolChoice::None => &[],
        ToolChoice::Required | ToolChoice::Named(_) => {
            return Err(unsupported(
                "tool_choice",
                "Ollama's models cannot be made to call a tool",
            ));
        }
    };
    if request.tool_use.at_once == CallsAtOnce::One {
        let why = "Ollama's models cannot be told to call one tool at a time";
        return Err(unsupported("parallel_tool_calls", why));
    }
    let is_image_here =
        |it: &Attachment| it.is_image() && matches!(it.source, AttachmentSource::Data(_));
    attachments::check(request, is_image_here)?;
    let body = Body {
        model: &called.model,
        messages: messages(request, called),
        tools: offers.iter().map(|offer| tool(offer, called)).collect(),
        stream: true,
        format: request.response_format.as_ref().map(format),
        think: match called.effort(request) {
            Some(effort) => Some(effort != Effort::None),
            None => called.compat.thinking_budget.map(|budget| budget > 0),
        },
        options: options(request, called),
    };
    serde_json::to_vec(&body)
        .map_err(|error| failure(ModelFailureClass::InvalidRequest, error.to_string()))
}

fn options(request: &ModelRequest, called: &CalledModel) -> Options {
    let sampling = &request.sampling;
    Options {
        num_ctx: called.context_window,
        num_predict: called.output_limit(request),
        temperature: request.temperature,
        top_p: sampling.top_p,
        top_k: sampling.top_k,
        min_p: sampling.min_p,
        seed: sampling.seed,
        frequency_penalty: sampling.frequency_penalty,
        presence_penalty: sampling.presence_penalty,
        stop: sampling.stop.clone(),
    }
}

fn messages<'a>(request: &'a ModelRequest, called: &CalledModel) -> Vec<WireMessage<'a>> {
    let texts: Vec<&str> = request.system.iter().map(|block| block.text.as_str()).collect();
    let system = joined(&texts).map(|content| plain("system", content));
    let mut messages: Vec<WireMessage<'a>> = system.into_iter().collect();
    let mut names = HashMap::new();
    for message in request.messages.iter() {
        match message.role {
            Role::User => user(message, &names, &mut messages),
            Role::Assistant => messages.extend(assistant(message, called, &mut names)),
        }
    }
    messages
}

/// Tool results become messages of their own and come first, right after the calls they answer.
fn user<'a>(
    message: &'a Message,
    names: &HashMap<&'a str, &'a str>,
    messages: &mut Vec<WireMessage<'a>>,
) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            Block::ToolResult { id, content, is_error } => messages.push(WireMessage {
                // The wire names the tool, not the call.
                tool_name: names.get(id.0.as_str()).map(|name| portable(name)),
                // The wire has no flag for a failed call either.
                ..plain(
                    "tool",
                    if *is_error {
                        Cow::Owned(format!("Error: {content}"))
                    } else {
                        Cow::Borrowed(content)
                    },
                )
            }),
            Block::Text { text } => texts.push(text.as_str()),
            Block::Image { media_type: _, data } => images.push(data.as_str()),
            Block::Attachment(Attachment { source: AttachmentSource::Data(data), .. }) => {
                images.push(data.as_str());
            }
            // Attachments by address were refused before.
            Block::Attachment(_) => {}
            // A user message has no reasoning or calls.
            Block::Reasoning { .. } | Block::ToolUse { .. } => {}
        }
    }
    if !texts.is_empty() || !images.is_empty() {
        let content = joined(&texts).unwrap_or_default();
        messages.push(WireMessage { images, ..plain("user", content) });
    }
}

/// `None` if nothing is left to send, for example because the message held only another model's
/// reasoning.
fn assistant<'a>(
    message: &'a Message,
    called: &CalledModel,
    names: &mut HashMap<&'a str, &'a str>,
) -> Option<WireMessage<'a>> {
    let (mut texts, mut tool_calls, mut thinking) = (Vec::new(), Vec::new(), None);
    for block in &message.content {
        match block {
            Block::Text { text } => texts.push(text.as_str()),
            Block::ToolUse { id, name, input, provider_data: _ } => {
                names.insert(&id.0, name);
                let arguments = object_arguments(input);
                let function = WireFunction { name: portable(name), arguments };
                tool_calls.push(WireCall { function });
            }
            Block::Reasoning { model, data } if *model == called.id => {
                thinking = data.get(THINKING).and_then(Value::as_str);
            }
            // Reasoning of another model and content that an assistant cannot send are left out.
            Block::Reasoning { .. }
            | Block::Image { .. }
            | Block::Attachment(_)
            | Block::ToolResult { .. } => {}
        }
    }
    if texts.is_empty() && tool_calls.is_empty() {
        return None;
    }
    let content = joined(&texts).unwrap_or_default();
    Some(WireMessage { thinking, tool_calls, ..plain("assistant", content) })
}

fn plain<'a>(role: &'static str, content: Cow<'a, str>) -> WireMessage<'a> {
    WireMessage {
        role,
        content,
        thinking: None,
        images: Vec::new(),
        tool_calls: Vec::new(),
        tool_name: None,
    }
}

fn joined<'a>(texts: &[&'a str]) -> Option<Cow<'a, str>> {
    match texts {
        [] => None,
        [text] => Some(Cow::Borrowed(*text)),
        texts => Some(Cow::Owned(texts.join("\n\n"))),
    }
}

fn tool(offer: &ToolOffer, called: &CalledModel) -> Value {
    json!({"type": "function", "function": {
        "name": portable(&offer.name),
        "description": offer.description,
        "parameters": schema_for(&offer.input_schema, &called.compat),
    }})
}

fn format(format: &ResponseFormat) -> Cow<'_, Value> {
    match format {
        ResponseFormat::JsonObject => Cow::Owned(json!("json")),
        ResponseFormat::JsonSchema { name: _, schema } => Cow::Borrowed(schema),
    }
}
