//! `POST /v1/messages`.

mod blocks;

use onyx_agent::ClientInput;
use onyx_types::{Effort, ResponseFormat, SamplingSetting, ToolChoice, ToolOffer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::choice::tool_use;
use super::fields::Fields;
use super::makers_tools::{MakersTool, makers_tool};
use super::model_settings::{RequestedSettings, effort};
use super::{ClientRequest, joined};
use crate::Problem;
use crate::wire::typed;
use blocks::Content;

pub(super) const FIELDS: Fields = Fields {
    known: &[
        // Onyx marks itself what a provider may cache, so the client's marks are not needed.
        "cache_control",
        "max_tokens",
        "messages[].content[].cache_control",
        "messages[].content[].content[].cache_control",
        "messages[].content[].content[].content",
        "messages[].content[].content[].source",
        "messages[].content[].content[].text",
        "messages[].content[].content[].title",
        "messages[].content[].content[].type",
        "messages[].content[].id",
        "messages[].content[].input",
        "messages[].content[].is_error",
        "messages[].content[].name",
        "messages[].content[].source",
        "messages[].content[].text",
        "messages[].content[].title",
        "messages[].content[].tool_use_id",
        "messages[].content[].type",
        "messages[].role",
        "model",
        "output_config.effort",
        "output_config.format.schema",
        "output_config.format.type",
        "output_format.schema",
        "output_format.type",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools[].cache_control",
        "tools[].description",
        "tools[].input_schema",
        "tools[].name",
        "tools[].type",
        "top_k",
        "top_p",
    ],
    refused: &["inference_geo"],
    neutral: &[
        ("context_management", &["{}"]),
        ("mcp_servers", &["[]"]),
        ("service_tier", &["auto", "standard_only"]),
        ("speed", &["standard"]),
        ("tools[].strict", &["false"]),
        ("tools[].eager_input_streaming", &["true", "false"]),
        ("tools[].defer_loading", &["false"]),
        ("betas", &["[]"]),
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
    top_p: Option<f32>,
    top_k: Option<u32>,
    stop_sequences: Option<Vec<String>>,
    thinking: Option<Thinking>,
    output_config: Option<OutputConfig>,
    /// The older name of `output_config`.
    output_format: Option<Format>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessagesThinking")]
enum Thinking {
    Enabled {
        budget_tokens: u32,
    },
    /// The model decides how much to think.
    Adaptive {},
    Disabled {},
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MessagesMessage")]
struct Message {
    role: Role,
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MessagesRole")]
enum Role {
    User,
    Assistant,
    /// An instruction that was added during the conversation.
    System,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of text blocks")]
#[schemars(rename = "MessagesText")]
pub(super) enum Text {
    Whole(String),
    Blocks(Vec<TextBlock>),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MessagesTextBlock")]
pub(super) struct TextBlock {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessagesChoice")]
enum Choice {
    Auto { disable_parallel_tool_use: Option<bool> },
    Any { disable_parallel_tool_use: Option<bool> },
    Tool { name: String, disable_parallel_tool_use: Option<bool> },
    None {},
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MessagesOutputConfig")]
struct OutputConfig {
    format: Option<Format>,
    effort: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessagesFormat")]
enum Format {
    JsonSchema { schema: Value },
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MessagesTool")]
struct Tool {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Option<Value>,
}

pub(crate) fn messages(body: Map<String, Value>) -> Result<ClientRequest, Problem> {
    let mut left_out = FIELDS.left_out(&body)?;
    let mut request: Request = typed(body.into())?;
    let requested = request.requested_settings()?;
    let mut system: Vec<String> = request.system.take().map(Text::joined).into_iter().collect();
    let mut turns = Vec::new();
    for (index, message) in request.messages.into_iter().enumerate() {
        match message.role {
            Role::System => system.push(message.words()),
            Role::User | Role::Assistant => {
                turns.extend(message.turns(&format!("messages[{index}]"), &mut left_out)?);
            }
        }
    }
    let (choice, several) = request.tool_choice.map(Choice::wanted).unwrap_or_default();
    let tools = offers(request.tools.unwrap_or_default(), &choice, &mut left_out)?;
    let format = request.output_config.and_then(|config| config.format);
    let client = ClientInput {
        turns,
        system: joined(&system),
        tool_use: tool_use(choice, several, &tools, "tool_choice.name")?,
        tools,
        response_format: format.or(request.output_format).map(Format::wanted),
        temperature: request.temperature,
        sampling: requested.sampling,
        max_output_tokens: Some(request.max_tokens),
        ..ClientInput::default()
    };
    Ok(ClientRequest { client, left_out, settings: requested.settings, ..ClientRequest::default() })
}

impl Request {
    fn requested_settings(&mut self) -> Result<RequestedSettings, Problem> {
        let mut requested = RequestedSettings::default();
        requested.top_p(self.top_p);
        requested.top_k(self.top_k);
        requested.stop(self.stop_sequences.take().unwrap_or_default(), "stop_sequences");
        let thinking = self.thinking.as_ref().map(|thinking| match thinking {
            Thinking::Enabled { budget_tokens } => Effort::of_budget(*budget_tokens),
            Thinking::Adaptive {} => Effort::Medium,
            Thinking::Disabled {} => Effort::None,
        });
        let level = self.output_config.as_ref().and_then(|config| config.effort.as_deref());
        let level = level.map(|word| effort("output_config.effort", word)).transpose()?;
        // Turning thinking off is always possible, also for a model that cannot think.
        let thinks = thinking.is_some_and(|thinking| thinking != Effort::None);
        requested.note(SamplingSetting::Effort, "thinking", thinks);
        requested.note(SamplingSetting::Effort, "output_config.effort", level.is_some());
        let wanted = if thinks || thinking.is_none() { level.or(thinking) } else { thinking };
        requested.sampling.effort = wanted;
        Ok(requested)
    }
}

/// The tools that a client runs. Tools that run at the maker are left out and reported, unless the
/// answer must be a call of one.
fn offers(
    tools: Vec<Tool>,
    choice: &ToolChoice,
    left_out: &mut Vec<String>,
) -> Result<Vec<ToolOffer>, Problem> {
    let mut offers = Vec::new();
    for (index, tool) in tools.into_iter().enumerate() {
        let path = format!("tools[{index}]");
        let Some(kind) = tool.kind.as_deref().filter(|kind| *kind != "custom") else {
            offers.push(tool.offer(&path)?);
            continue;
        };
        let name = tool.name.clone();
        match makers_tool(kind, tool.name) {
            MakersTool::Offered(offer) => offers.push(offer),
            MakersTool::LeftOut if *choice == ToolChoice::Named(name.clone()) => {
                let why = format!(
                    "tools of the type `{kind}` run at their provider and are not available here"
                );
                return Err(Problem::field(format!("{path}.type"), why));
            }
            MakersTool::LeftOut => left_out.push(format!("tools.{name}")),
        }
    }
    Ok(offers)
}

impl Choice {
    /// The choice, and whether several calls may come at once.
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

impl Tool {
    fn offer(self, path: &str) -> Result<ToolOffer, Problem> {
        let Some(input_schema) = self.input_schema else {
            return Err(Problem::field(format!("{path}.input_schema"), "missing"));
        };
        Ok(ToolOffer {
            name: self.name,
            description: self.description,
            input_schema: input_schema.into(),
        })
    }
}
