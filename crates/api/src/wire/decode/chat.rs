//! `POST /v1/chat/completions`.

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
        "messages",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "temperature",
        "max_tokens",
        "max_completion_tokens",
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
        "prediction",
    ],
    advice: &[
        Field { name: "reasoning_effort", harmless: &[] },
        Field { name: "verbosity", harmless: &[] },
        Field { name: "seed", harmless: &[] },
    ],
    refused: &[
        Field { name: "n", harmless: &["1"] },
        Field { name: "stop", harmless: &["[]"] },
        Field { name: "logprobs", harmless: &["false"] },
        Field { name: "top_logprobs", harmless: &["0"] },
        Field { name: "audio", harmless: &[] },
        Field { name: "modalities", harmless: &["[\"text\"]"] },
        Field { name: "functions", harmless: &[] },
        Field { name: "function_call", harmless: &["auto", "none"] },
        Field { name: "moderation", harmless: &[] },
        Field { name: "top_p", harmless: &["1", "1.0"] },
        Field { name: "frequency_penalty", harmless: &["0", "0.0"] },
        Field { name: "presence_penalty", harmless: &["0", "0.0"] },
        Field { name: "logit_bias", harmless: &["{}"] },
        Field { name: "web_search_options", harmless: &[] },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatRequest")]
pub(crate) struct Request {
    messages: Vec<Message>,
    tools: Option<Vec<Tool>>,
    tool_choice: Option<Choice>,
    parallel_tool_calls: Option<bool>,
    response_format: Option<Format>,
    temperature: Option<f32>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    role: Role,
    content: Option<Content>,
    tool_calls: Option<Vec<Call>>,
    tool_call_id: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
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
    Text { text: String },
    Refusal { refusal: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Deserialize, JsonSchema)]
struct ImageUrl {
    url: String,
}

#[derive(Deserialize, JsonSchema)]
struct Call {
    id: String,
    function: CalledFunction,
}

#[derive(Deserialize, JsonSchema)]
struct CalledFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool {
    Function { function: Function },
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
    Function { function: FunctionName },
}

#[derive(Deserialize, JsonSchema)]
struct FunctionName {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Function {
    name: String,
    #[serde(default)]
    description: String,
    parameters: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format {
    Text,
    JsonObject,
    JsonSchema { json_schema: Schema },
}

#[derive(Deserialize, JsonSchema)]
struct Schema {
    name: String,
    #[serde(default)]
    schema: Value,
}

pub(crate) fn chat(body: Map<String, Value>, reader: Reader) -> Result<ClientRequest, Problem> {
    let passed_over = FIELDS.check(&body, reader)?;
    let request: Request = typed(body.into())?;
    let mut system = Vec::new();
    let mut turns = Vec::new();
    for (index, message) in request.messages.into_iter().enumerate() {
        match message.role {
            Role::System | Role::Developer => system.extend(message.text()),
            Role::User | Role::Assistant | Role::Tool => {
                turns.extend(message.turns(&format!("messages[{index}]"))?);
            }
        }
    }
    let tools: Vec<ToolOffer> =
        request.tools.unwrap_or_default().into_iter().map(Tool::offer).collect();
    let choice = request.tool_choice.map(Choice::wanted).unwrap_or_default();
    let several = request.parallel_tool_calls;
    let client = ClientInput {
        turns,
        system: joined(&system),
        tool_use: tool_use(choice, several, &tools, "tool_choice.function.name")?,
        tools,
        response_format: request.response_format.and_then(Format::wanted),
        temperature: request.temperature,
        max_output_tokens: request.max_completion_tokens.or(request.max_tokens),
        ..ClientInput::default()
    };
    Ok(ClientRequest { client, previous: None, passed_over })
}

impl Message {
    fn text(&self) -> Option<String> {
        match self.content.as_ref()? {
            Content::Text(text) => Some(text.clone()),
            Content::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| match part {
                    Part::Text { text } => Some(text.as_str()),
                    Part::Refusal { refusal } => Some(refusal.as_str()),
                    Part::ImageUrl { .. } => None,
                });
                Some(texts.collect::<Vec<_>>().join("\n"))
            }
        }
    }

    fn turns(self, path: &str) -> Result<Vec<ClientTurn>, Problem> {
        match self.role {
            Role::User => Ok(vec![ClientTurn::User(self.user_content(path)?)]),
            Role::Tool => {
                let output = self.text().unwrap_or_default();
                let id = self
                    .tool_call_id
                    .ok_or_else(|| Problem::field(format!("{path}.tool_call_id"), "missing"))?;
                let id = ToolUseId(id);
                Ok(vec![ClientTurn::ToolResult { id, output, is_error: false }])
            }
            Role::Assistant => {
                let said = self.text().filter(|text| !text.is_empty());
                let mut turns: Vec<_> = said.map(ClientTurn::Assistant).into_iter().collect();
                for (index, call) in self.tool_calls.into_iter().flatten().enumerate() {
                    let path = format!("{path}.tool_calls[{index}].function.arguments");
                    turns.push(ClientTurn::ToolCall(ToolCall {
                        input: arguments(&path, &call.function.arguments)?,
                        id: ToolUseId(call.id),
                        name: call.function.name,
                    }));
                }
                Ok(turns)
            }
            Role::System | Role::Developer => Ok(Vec::new()),
        }
    }

    fn user_content(self, path: &str) -> Result<onyx_types::UserContent, Problem> {
        let parts = match self.content {
            None => return Err(Problem::field(format!("{path}.content"), "missing")),
            Some(Content::Text(text)) => vec![UserPart::Text { text }],
            Some(Content::Parts(parts)) => parts
                .into_iter()
                .enumerate()
                .map(|(index, part)| match part {
                    Part::Text { text } | Part::Refusal { refusal: text } => {
                        Ok(UserPart::Text { text })
                    }
                    Part::ImageUrl { image_url } => {
                        image(&format!("{path}.content[{index}].image_url.url"), &image_url.url)
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
            Self::One(NamedTool::Function { function }) => ToolChoice::Named(function.name),
        }
    }
}

impl Tool {
    fn offer(self) -> ToolOffer {
        let Self::Function { function } = self;
        ToolOffer {
            name: function.name,
            description: function.description,
            input_schema: function.parameters.unwrap_or_else(|| json!({"type": "object"})).into(),
        }
    }
}

impl Format {
    fn wanted(self) -> Option<ResponseFormat> {
        match self {
            Self::Text => None,
            Self::JsonObject => Some(ResponseFormat::JsonObject),
            Self::JsonSchema { json_schema: Schema { name, schema } } => {
                Some(ResponseFormat::JsonSchema { name, schema })
            }
        }
    }
}
