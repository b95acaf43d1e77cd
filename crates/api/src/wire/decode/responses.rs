//! `POST /v1/responses`.

use onyx_agent::{ClientInput, ClientTurn};
use onyx_types::{ResponseFormat, ToolCall, ToolChoice, ToolOffer, ToolUseId, UserPart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::choice::{Mode, tool_use};
use super::fields::{Field, Fields, Reader};
use super::media::image;
use super::{ClientRequest, arguments, content, joined};
use crate::Problem;
use crate::wire::typed;

const FIELDS: Fields = Fields {
    known: &[
        "model",
        "input",
        "instructions",
        "stream",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "text",
        "temperature",
        "max_output_tokens",
        "previous_response_id",
    ],
    idle: &[
        "user",
        "metadata",
        "store",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "stream_options",
        "access_programs",
        "client_metadata",
    ],
    advice: &[
        Field { name: "reasoning", harmless: &["{}"] },
        Field { name: "include", harmless: &["[]"] },
        Field { name: "truncation", harmless: &["disabled"] },
        Field { name: "context_management", harmless: &["[]"] },
    ],
    refused: &[
        Field { name: "background", harmless: &["false"] },
        Field { name: "conversation", harmless: &[] },
        Field { name: "prompt", harmless: &[] },
        Field { name: "image", harmless: &[] },
        Field { name: "max_tool_calls", harmless: &[] },
        Field { name: "moderation", harmless: &[] },
        Field { name: "top_p", harmless: &["1", "1.0"] },
        Field { name: "top_logprobs", harmless: &["0"] },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ResponsesRequest")]
pub(crate) struct Request {
    input: Input,
    instructions: Option<String>,
    tools: Option<Vec<Tool>>,
    tool_choice: Option<Choice>,
    parallel_tool_calls: Option<bool>,
    text: Option<TextSettings>,
    temperature: Option<f32>,
    max_output_tokens: Option<u32>,
    previous_response_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of known items")]
enum Input {
    Text(String),
    Items(Vec<Item>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a message or an item with a known `type`")]
enum Item {
    Typed(TypedItem),
    Message { role: Role, content: Content },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TypedItem {
    Message { role: Role, content: Content },
    FunctionCall { call_id: String, name: String, arguments: String },
    FunctionCallOutput { call_id: String, output: Content },
    Reasoning {},
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of parts with a known `type`")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    InputText { text: String },
    OutputText { text: String },
    Refusal { refusal: String },
    InputImage { image_url: String },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool {
    Function { name: String, description: Option<String>, parameters: Option<Value> },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `none`, `auto`, `required` or a function by its name")]
enum Choice {
    Mode(Mode),
    One(NamedTool),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum NamedTool {
    Function { name: String },
}

#[derive(Deserialize, JsonSchema)]
struct TextSettings {
    format: Option<Format>,
    verbosity: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format {
    Text,
    JsonObject,
    JsonSchema { name: String, schema: Value },
}

pub(crate) fn responses(
    body: Map<String, Value>,
    reader: Reader,
) -> Result<ClientRequest, Problem> {
    let mut passed_over = FIELDS.check(&body, reader)?;
    let request: Request = typed(body.into())?;
    let mut system: Vec<String> = request.instructions.into_iter().collect();
    let mut turns = Vec::new();
    match request.input {
        Input::Text(text) => turns.push(ClientTurn::User(content(vec![UserPart::Text { text }]))),
        Input::Items(items) => {
            for (index, item) in items.into_iter().enumerate() {
                take(item, &format!("input[{index}]"), &mut turns, &mut system)?;
            }
        }
    }
    let tools: Vec<ToolOffer> =
        request.tools.unwrap_or_default().into_iter().map(Tool::offer).collect();
    let choice = request.tool_choice.map(Choice::wanted).unwrap_or_default();
    let several = request.parallel_tool_calls;
    if request.text.as_ref().is_some_and(|text| text.verbosity.is_some()) {
        reader.advised("text.verbosity", &mut passed_over)?;
    }
    let format = request.text.and_then(|text| text.format);
    let client = ClientInput {
        turns,
        system: joined(&system),
        tool_use: tool_use(choice, several, &tools, "tool_choice.name")?,
        tools,
        response_format: format.and_then(Format::wanted),
        temperature: request.temperature,
        max_output_tokens: request.max_output_tokens,
        ..ClientInput::default()
    };
    Ok(ClientRequest { client, previous: request.previous_response_id, passed_over })
}

fn take(
    item: Item,
    path: &str,
    turns: &mut Vec<ClientTurn>,
    system: &mut Vec<String>,
) -> Result<(), Problem> {
    match item {
        Item::Message { role, content } | Item::Typed(TypedItem::Message { role, content }) => {
            match role {
                Role::System | Role::Developer => system.push(content.text()),
                Role::Assistant => turns.push(ClientTurn::Assistant(content.text())),
                Role::User => turns.push(ClientTurn::User(content.of_user(path)?)),
            }
        }
        Item::Typed(TypedItem::FunctionCall { call_id, name, arguments: text }) => {
            let input = arguments(&format!("{path}.arguments"), &text)?;
            turns.push(ClientTurn::ToolCall(ToolCall { id: ToolUseId(call_id), name, input }));
        }
        Item::Typed(TypedItem::FunctionCallOutput { call_id, output }) => {
            let (id, output) = (ToolUseId(call_id), output.text());
            turns.push(ClientTurn::ToolResult { id, output, is_error: false });
        }
        // What a model thought is its own; we replay it from the log.
        Item::Typed(TypedItem::Reasoning {}) => {}
    }
    Ok(())
}

impl Content {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts.into_iter().filter_map(|part| match part {
                    Part::InputText { text }
                    | Part::OutputText { text }
                    | Part::Refusal { refusal: text } => Some(text),
                    Part::InputImage { .. } => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn of_user(self, path: &str) -> Result<onyx_types::UserContent, Problem> {
        let parts = match self {
            Self::Text(text) => vec![UserPart::Text { text }],
            Self::Parts(parts) => parts
                .into_iter()
                .enumerate()
                .map(|(index, part)| match part {
                    Part::InputText { text }
                    | Part::OutputText { text }
                    | Part::Refusal { refusal: text } => Ok(UserPart::Text { text }),
                    Part::InputImage { image_url } => {
                        image(&format!("{path}.content[{index}].image_url"), &image_url)
                    }
                })
                .collect::<Result<_, _>>()?,
        };
        Ok(content(parts))
    }
}

impl Choice {
    fn wanted(self) -> ToolChoice {
        match self {
            Self::Mode(mode) => mode.wanted(),
            Self::One(NamedTool::Function { name }) => ToolChoice::Named(name),
        }
    }
}

impl Tool {
    fn offer(self) -> ToolOffer {
        let Self::Function { name, description, parameters } = self;
        ToolOffer {
            name,
            description: description.unwrap_or_default(),
            input_schema: parameters.unwrap_or_else(|| json!({"type": "object"})).into(),
        }
    }
}

impl Format {
    fn wanted(self) -> Option<ResponseFormat> {
        match self {
            Self::Text => None,
            Self::JsonObject => Some(ResponseFormat::JsonObject),
            Self::JsonSchema { name, schema } => Some(ResponseFormat::JsonSchema { name, schema }),
        }
    }
}
