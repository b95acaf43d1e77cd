//! Decodes requests of other makers' clients into one form.

mod chat;
mod choice;
mod fields;
mod makers_tools;
mod media;
mod messages;
mod model_settings;
mod responses;
mod ui_chat;

use onyx_agent::{ClientInput, ClientTurn};
use onyx_types::{
    AgentId, Block, Message, ModelRequest, Role, SamplingSetting, SessionId, SystemBlock,
    UserContent, UserPart,
};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::Problem;
use crate::wire::{CUSTOM_INPUT, ToolForms};

pub(crate) use chat::chat;
pub(crate) use messages::messages;
pub(crate) use responses::responses;
pub(crate) use ui_chat::{UiChatRequest, UiDecision, UiTurn};

/// A request's body: the part that is read first to find the agent or model, and the rest.
#[derive(JsonSchema)]
#[schemars(rename = "{R}Body")]
#[allow(dead_code, reason = "a description; the fields are read one by one")]
pub(crate) struct Body<R> {
    /// `onyx:<agent>`, an agent's id or `<provider>/<model>`; the default agent without it.
    #[schemars(default)]
    model: Option<String>,
    #[schemars(default)]
    stream: Option<bool>,
    #[schemars(default)]
    stream_options: Option<StreamOptions>,
    /// Continues this conversation.
    #[serde(rename = "x-onyx-session-id")]
    #[schemars(default)]
    session: Option<SessionId>,
    #[serde(rename = "x-onyx-agent-id")]
    #[schemars(default)]
    agent: Option<AgentId>,
    #[serde(rename = "x-onyx-include-memory")]
    #[schemars(default)]
    memory: Option<bool>,
    #[serde(flatten)]
    rest: R,
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "a description; the fields are read one by one")]
pub(crate) struct StreamOptions {
    #[schemars(default)]
    include_usage: Option<bool>,
}

pub(crate) type ChatBody = Body<chat::Request>;
pub(crate) type MessagesBody = Body<messages::Request>;
pub(crate) type ResponsesBody = Body<responses::Request>;

/// A client's request, independent of its format.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientRequest {
    pub(crate) client: ClientInput,
    /// The answer that the request continues, in formats that name it.
    pub(crate) previous: Option<String>,
    /// Fields that are left out; the client is told of each.
    pub(crate) left_out: Vec<String>,
    /// Settings for the model, with the client's name for each.
    pub(crate) settings: Vec<(SamplingSetting, &'static str)>,
    /// Tools that are not written as functions.
    pub(crate) forms: ToolForms,
    /// Identifies the beginning of the prompt for providers that route by it.
    pub(crate) cache_key: Option<String>,
}

impl ClientRequest {
    /// The fields to report to the client: those that are not read, and those that the model's
    /// format lacks.
    pub(crate) fn left_out(&self, taken: &[SamplingSetting]) -> Vec<String> {
        let lacking = self.settings.iter().filter(|(setting, _)| !taken.contains(setting));
        let lacking = lacking.map(|(_, field)| (*field).to_owned());
        self.left_out.iter().cloned().chain(lacking).collect()
    }
}

/// The request for a model of another format.
pub(crate) fn model_request(request: ClientRequest) -> ModelRequest {
    let client = request.client;
    let mut messages: Vec<Message> = Vec::new();
    for turn in client.turns {
        let (role, blocks) = blocks(turn);
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => messages.push(Message { role, content: blocks }),
        }
    }
    let system = client.system.map(|text| SystemBlock { text, stable: true });
    ModelRequest {
        system: system.into_iter().collect(),
        messages: messages.into(),
        tools: client.tools.into(),
        tool_use: client.tool_use,
        max_output_tokens: client.max_output_tokens.unwrap_or(0),
        temperature: client.temperature,
        sampling: client.sampling,
        response_format: client.response_format,
        cache_key: request.cache_key,
    }
}

fn blocks(turn: ClientTurn) -> (Role, Vec<Block>) {
    match turn {
        ClientTurn::User(UserContent::Text(text)) => (Role::User, vec![Block::Text { text }]),
        ClientTurn::User(UserContent::Parts(parts)) => {
            (Role::User, parts.into_iter().filter_map(part).collect())
        }
        ClientTurn::Assistant(text) | ClientTurn::OwnAnswer(text, _) => {
            (Role::Assistant, vec![Block::Text { text }])
        }
        ClientTurn::ToolCall(call) => {
            let (id, name, input) = (call.id, call.name, call.input);
            (Role::Assistant, vec![Block::ToolUse { id, name, input, provider_data: None }])
        }
        ClientTurn::ToolResult { id, output, is_error } => {
            (Role::User, vec![Block::ToolResult { id, content: output, is_error }])
        }
    }
}

/// The block for a part. The decoders make no file parts, so those have none.
fn part(part: UserPart) -> Option<Block> {
    match part {
        UserPart::Text { text } => Some(Block::Text { text }),
        UserPart::Image { media_type, data } => Some(Block::Image { media_type, data }),
        UserPart::Attachment(attachment) => Some(Block::Attachment(attachment)),
        UserPart::File { .. } => None,
    }
}

/// Most providers refuse a tool's result without its call, with an error that is hard to
/// understand.
pub(crate) fn check_results(turns: &[ClientTurn], field: &str) -> Result<(), Problem> {
    let mut called = Vec::new();
    for turn in turns {
        match turn {
            ClientTurn::ToolCall(call) => called.push(&call.id),
            ClientTurn::ToolResult { id, .. } if !called.contains(&id) => {
                let why = format!("the result of `{}` has no matching call", id.0);
                return Err(Problem::field(field, why));
            }
            ClientTurn::ToolResult { .. }
            | ClientTurn::User(_)
            | ClientTurn::Assistant(_)
            | ClientTurn::OwnAnswer(..) => {}
        }
    }
    Ok(())
}

/// The messages after the last answer. The session holds the earlier ones.
pub(crate) fn newest(turns: Vec<ClientTurn>) -> Vec<ClientTurn> {
    let after = turns
        .iter()
        .rposition(|turn| matches!(turn, ClientTurn::Assistant(_) | ClientTurn::ToolCall(_)));
    turns.into_iter().skip(after.map_or(0, |index| index + 1)).collect()
}

/// The content of a message. A single text is kept as plain text.
fn content(mut parts: Vec<UserPart>) -> UserContent {
    match (parts.pop(), parts.is_empty()) {
        (Some(UserPart::Text { text }), true) => UserContent::Text(text),
        (Some(last), _) => {
            parts.push(last);
            UserContent::Parts(parts)
        }
        (None, _) => UserContent::Text(String::new()),
    }
}

/// A schema for a tool that takes a text instead of JSON.
fn text_input_schema(description: &str) -> Value {
    json!({
        "type": "object",
        "properties": {(CUSTOM_INPUT): {"type": "string", "description": description}},
        "required": [CUSTOM_INPUT],
        "additionalProperties": false,
    })
}

/// A tool's arguments, which these formats write as a string of JSON.
fn arguments(path: &str, text: &str) -> Result<Value, Problem> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text).map_err(|error| Problem::field(path, format!("not JSON: {error}")))
}

/// Several pieces of system text, in their order.
fn joined(texts: &[String]) -> Option<String> {
    let text = texts.join("\n\n");
    (!text.trim().is_empty()).then_some(text)
}
