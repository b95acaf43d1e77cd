//! `POST /v1/messages`.

use onyx_agent::{ClientInput, ClientTurn};
use onyx_types::{ResponseFormat, ToolCall, ToolChoice, ToolOffer, ToolUseId, UserPart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::choice::tool_use;
use super::fields::{Field, Fields, Reader};
use super::{ClientRequest, content};
use crate::Problem;
use crate::wire::typed;

const FIELDS: Fields = Fields {
    known: &[
        "model",
        "messages",
        "max_tokens",
        "stream",
        "system",
        "tools",
        "tool_choice",
        "temperature",
        "output_config",
    ],
    idle: &[
        "metadata",
        "service_tier",
        "cache_control",
        "diagnostics",
        "user_profile_id",
        "workspace_id",
    ],
    advice: &[
        Field { name: "thinking", harmless: &["{\"type\":\"disabled\"}"] },
        Field { name: "speed", harmless: &["standard"] },
        Field { name: "context_management", harmless: &["{}"] },
    ],
    refused: &[
        Field { name: "stop_sequences", harmless: &["[]"] },
        Field { name: "top_p", harmless: &["1", "1.0"] },
        Field { name: "top_k", harmless: &[] },
        Field { name: "inference_geo", harmless: &[] },
        Field { name: "mcp_servers", harmless: &["[]"] },
        Field { name: "container", harmless: &[] },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MessagesRequest")]
pub(crate) struct Request {
    messages: Vec<Message>,
    max_tokens: u32,
    system: Option<Text>,
    tools: Option<Vec<Tool>>,
    tool_choice: Option<Choice>,
    temperature: Option<f32>,
    output_config: Option<OutputConfig>,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    role: Role,
    content: Content,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of text blocks")]
enum Text {
    Whole(String),
    Blocks(Vec<TextBlock>),
}

#[derive(Deserialize, JsonSchema)]
struct TextBlock {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of blocks with a known `type`")]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    Image {
        source: Source,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: Option<Text>,
        #[serde(default)]
        is_error: bool,
    },
    /// What a model thought is its own; we replay it from the log.
    Thinking {},
    RedactedThinking {},
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source {
    Base64 { media_type: String, data: String },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    Auto { disable_parallel_tool_use: Option<bool> },
    Any { disable_parallel_tool_use: Option<bool> },
    Tool { name: String, disable_parallel_tool_use: Option<bool> },
    None {},
}

#[derive(Deserialize, JsonSchema)]
struct OutputConfig {
    format: Option<Format>,
    effort: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format {
    JsonSchema { schema: Value },
}

#[derive(Deserialize, JsonSchema)]
struct Tool {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Option<Value>,
}

pub(crate) fn messages(body: Map<String, Value>, reader: Reader) -> Result<ClientRequest, Problem> {
    let mut passed_over = FIELDS.check(&body, reader)?;
    let request: Request = typed(body.into())?;
    let mut turns = Vec::new();
    for message in request.messages {
        turns.extend(message.turns());
    }
    let tools = request.tools.unwrap_or_default().into_iter().enumerate();
    let tools: Vec<ToolOffer> =
        tools.map(|(index, tool)| tool.offer(index)).collect::<Result<_, _>>()?;
    let (choice, several) = request.tool_choice.map(Choice::wanted).unwrap_or_default();
    if request.output_config.as_ref().is_some_and(|config| config.effort.is_some()) {
        reader.advised("output_config.effort", &mut passed_over)?;
    }
    let format = request.output_config.and_then(|config| config.format);
    let client = ClientInput {
        turns,
        system: request.system.map(Text::joined).filter(|text| !text.trim().is_empty()),
        tool_use: tool_use(choice, several, &tools, "tool_choice.name")?,
        tools,
        response_format: format.map(Format::wanted),
        temperature: request.temperature,
        max_output_tokens: Some(request.max_tokens),
        ..ClientInput::default()
    };
    Ok(ClientRequest { client, previous: None, passed_over })
}

impl Choice {
    /// And whether several calls may come at once.
    fn wanted(self) -> (ToolChoice, Option<bool>) {
        let (choice, single) = match self {
            Self::Auto { disable_parallel_tool_use: single } => (ToolChoice::Auto, single),
            Self::Any { disable_parallel_tool_use: single } => (ToolChoice::Required, single),
            Self::Tool { name, disable_parallel_tool_use: single } => {
                (ToolChoice::Named(name), single)
            }
            Self::None {} => (ToolChoice::None, None),
        };
        (choice, single.map(|single| !single))
    }
}

impl Format {
    fn wanted(self) -> ResponseFormat {
        let Self::JsonSchema { schema } = self;
        ResponseFormat::JsonSchema { name: "answer".to_owned(), schema }
    }
}

impl Text {
    fn joined(self) -> String {
        match self {
            Self::Whole(text) => text,
            Self::Blocks(blocks) => {
                blocks.into_iter().map(|block| block.text).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Message {
    fn turns(self) -> Vec<ClientTurn> {
        let blocks = match self.content {
            Content::Text(text) => vec![Block::Text { text }],
            Content::Blocks(blocks) => blocks,
        };
        let mut turns = Vec::new();
        let mut words = Vec::new();
        for block in blocks {
            match (block, self.role) {
                (Block::Text { text }, Role::Assistant) => turns.push(ClientTurn::Assistant(text)),
                (Block::Text { text }, Role::User) => words.push(UserPart::Text { text }),
                (Block::Image { source: Source::Base64 { media_type, data } }, _) => {
                    words.push(UserPart::Image { media_type, data });
                }
                (Block::ToolUse { id, name, input }, _) => {
                    turns.push(ClientTurn::ToolCall(ToolCall { id: ToolUseId(id), name, input }));
                }
                (Block::ToolResult { tool_use_id, content, is_error }, _) => {
                    let output = content.map(Text::joined).unwrap_or_default();
                    let id = ToolUseId(tool_use_id);
                    turns.push(ClientTurn::ToolResult { id, output, is_error });
                }
                (Block::Thinking {} | Block::RedactedThinking {}, _) => {}
            }
        }
        if !words.is_empty() {
            turns.push(ClientTurn::User(content(words)));
        }
        turns
    }
}

impl Tool {
    fn offer(self, index: usize) -> Result<ToolOffer, Problem> {
        if let Some(kind) = self.kind.filter(|kind| kind != "custom") {
            let why = format!("tools of the type `{kind}` run at their maker's; give custom ones");
            return Err(Problem::field(format!("tools[{index}].type"), why));
        }
        let Some(input_schema) = self.input_schema else {
            return Err(Problem::field(format!("tools[{index}].input_schema"), "missing"));
        };
        Ok(ToolOffer {
            name: self.name,
            description: self.description,
            input_schema: input_schema.into(),
        })
    }
}
