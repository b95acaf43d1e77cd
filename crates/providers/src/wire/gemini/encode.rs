use std::borrow::Cow;
use std::collections::HashMap;

use onyx_types::{
    Attachment, AttachmentSource, Block, CallsAtOnce, Message, ModelFailure, ModelFailureClass,
    ModelRequest, ResponseFormat, Role, ToolChoice, ToolOffer,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{SIGNATURE, SIGNED_BY};
use crate::failure::{failure, unsupported};
use crate::wire::names::{object_arguments, portable};
use crate::wire::schema::schema_for;
use crate::wire::{CalledModel, attachments};

/// The signature that the provider documents for calls that another model made.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Models that use no signatures; all later ones refuse a call without one.
const WITHOUT_SIGNATURES: [&str; 3] = ["gemini-1", "gemini-2", "gemma"];

/// The request's body. Borrows the history, which is by far its largest part.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    data: PartData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum PartData<'a> {
    Text(&'a str),
    InlineData(InlineData<'a>),
    FunctionCall(FunctionCall<'a>),
    FunctionResponse(FunctionResponse<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: Cow<'a, str>,
    args: Cow<'a, Value>,
}

/// A result is paired with its call by name and order, because some versions of the wire have no
/// ids.
#[derive(Serialize)]
struct FunctionResponse<'a> {
    name: Cow<'a, str>,
    response: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters_json_schema: Cow<'a, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Value>,
}

pub fn encode(request: &ModelRequest, called: &CalledModel) -> Result<Vec<u8>, ModelFailure> {
    if request.tool_use.at_once == CallsAtOnce::One {
        let why = "this provider's models cannot be told to call one tool at a time";
        return Err(unsupported("parallel_tool_calls", why));
    }
    attachments::check(request, |it| matches!(it.source, AttachmentSource::Data(_)))?;
    let body = Body {
        system_instruction: system_instruction(request),
        contents: contents(&request.messages, called),
        tools: tools(&request.tools, called),
        tool_config: tool_config(&request.tool_use.choice),
        generation_config: generation_config(request, called),
    };
    serde_json::to_vec(&body)
        .map_err(|error| failure(ModelFailureClass::InvalidRequest, error.to_string()))
}

fn system_instruction(request: &ModelRequest) -> Option<Value> {
    let parts: Vec<Value> =
        request.system.iter().map(|block| json!({"text": block.text})).collect();
    (!parts.is_empty()).then(|| json!({"parts": parts}))
}

/// Neighbouring messages of one role become one content: the wire requires the results of a step
/// together.
fn contents<'a>(messages: &'a [Message], called: &CalledModel) -> Vec<Content<'a>> {
    let names = tool_names(messages);
    let mut contents: Vec<Content<'a>> = Vec::new();
    for message in messages {
        let (role, parts) = match message.role {
            Role::User => ("user", user(message, &names)),
            Role::Assistant => ("model", model(message, called)),
        };
        match contents.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == role => last.parts.extend(parts),
            Some(_) | None => contents.push(Content { role, parts }),
        }
    }
    contents
}

/// A result names its tool on this wire, not its call.
fn tool_names(messages: &[Message]) -> HashMap<&str, &str> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match block {
            Block::ToolUse { id, name, .. } => Some((id.0.as_str(), name.as_str())),
            Block::Text { .. }
            | Block::Image { .. }
            | Block::Attachment(_)
            | Block::Reasoning { .. }
            | Block::ToolResult { .. } => None,
        })
        .collect()
}

/// Tool results come first, right after the calls they answer.
fn user<'a>(message: &'a Message, names: &HashMap<&'a str, &'a str>) -> Vec<Part<'a>> {
    let (mut results, mut parts) = (Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            Block::ToolResult { id, content, is_error } => {
                let name = names.get(id.0.as_str()).copied().unwrap_or(&id.0);
                let field = if *is_error { "error" } else { "output" };
                results.push(PartData::FunctionResponse(FunctionResponse {
                    name: portable(name),
                    response: json!({field: content}),
                }));
            }
            Block::Text { text } => parts.push(PartData::Text(text)),
            Block::Image { media_type, data } => {
                parts.push(PartData::InlineData(InlineData { mime_type: media_type, data }));
            }
            Block::Attachment(Attachment {
                media_type,
                source: AttachmentSource::Data(data),
                ..
            }) => parts.push(PartData::InlineData(InlineData { mime_type: media_type, data })),
            // Attachments by address were refused before.
            Block::Attachment(_) => {}
            // A user message has no reasoning or calls; the server would refuse such a block.
            Block::Reasoning { .. } | Block::ToolUse { .. } => {}
        }
    }
    results.into_iter().chain(parts).map(unsigned).collect()
}

fn model<'a>(message: &'a Message, called: &CalledModel) -> Vec<Part<'a>> {
    let (mut texts, mut signatures, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            Block::Text { text } => texts.push(unsigned(PartData::Text(text))),
            Block::ToolUse { id: _, name, input, provider_data } => calls.push(Part {
                data: PartData::FunctionCall(FunctionCall {
                    name: portable(name),
                    args: object_arguments(input),
                }),
                thought_signature: own_signature(provider_data.as_ref(), called),
            }),
            Block::Reasoning { model, data } if *model == called.id => {
                let thought_signature = data.get(SIGNATURE).and_then(Value::as_str);
                signatures.extend(thought_signature);
            }
            // Reasoning of another model and content that an assistant cannot send are left out.
            Block::Reasoning { .. }
            | Block::Image { .. }
            | Block::Attachment(_)
            | Block::ToolResult { .. } => {}
        }
    }
    // Only the first call of an answer is signed.
    if let Some(first) = calls.first_mut() {
        let knows_signatures =
            !WITHOUT_SIGNATURES.iter().any(|name| called.model.starts_with(name));
        let foreign = knows_signatures.then_some(FOREIGN_SIGNATURE);
        first.thought_signature = first.thought_signature.or(foreign);
    }
    // The server sends a text's signature in an empty part at its end, so it is sent back in the
    // same way.
    let closing = signatures
        .into_iter()
        .map(|signature| Part { data: PartData::Text(""), thought_signature: Some(signature) });
    let spoken = !texts.is_empty() || !calls.is_empty();
    texts.into_iter().chain(closing.filter(|_| spoken)).chain(calls).collect()
}

fn own_signature<'a>(data: Option<&'a Value>, called: &CalledModel) -> Option<&'a str> {
    let data = data?;
    let is_own = data.get(SIGNED_BY).and_then(Value::as_str) == Some(&called.id);
    data.get(SIGNATURE).and_then(Value::as_str).filter(|_| is_own)
}

fn unsigned(data: PartData<'_>) -> Part<'_> {
    Part { data, thought_signature: None }
}

fn tools<'a>(offers: &'a [ToolOffer], called: &CalledModel) -> Vec<Tools<'a>> {
    if offers.is_empty() {
        return Vec::new();
    }
    let declaration = |offer: &'a ToolOffer| Declaration {
        name: portable(&offer.name),
        description: &offer.description,
        parameters_json_schema: schema_for(&offer.input_schema, &called.compat),
    };
    vec![Tools { function_declarations: offers.iter().map(declaration).collect() }]
}

fn tool_config(choice: &ToolChoice) -> Option<Value> {
    let config = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => {
            json!({"mode": "ANY", "allowedFunctionNames": [portable(name)]})
        }
    };
    Some(json!({"functionCallingConfig": config}))
}

fn generation_config<'a>(request: &'a ModelRequest, called: &CalledModel) -> GenerationConfig<'a> {
    let (response_mime_type, response_json_schema) = match &request.response_format {
        Some(ResponseFormat::JsonObject) => (Some("application/json"), None),
        Some(ResponseFormat::JsonSchema { name: _, schema }) => {
            (Some("application/json"), Some(schema))
        }
        None => (None, None),
    };
    let sampling = &request.sampling;
    // A budget of zero switches thinking off.
    let budget = match called.effort(request) {
        Some(effort) => Some(effort.budget().unwrap_or(0)),
        None => called.compat.thinking_budget,
    };
    GenerationConfig {
        max_output_tokens: called.output_limit(request),
        temperature: request.temperature,
        top_p: sampling.top_p,
        top_k: sampling.top_k,
        seed: sampling.seed,
        frequency_penalty: sampling.frequency_penalty,
        presence_penalty: sampling.presence_penalty,
        stop_sequences: &sampling.stop,
        response_mime_type,
        response_json_schema,
        thinking_config: budget
            .map(|budget| json!({"includeThoughts": true, "thinkingBudget": budget})),
    }
}
