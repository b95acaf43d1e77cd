//! `POST /v1/responses`.

mod items;

use onyx_agent::ClientInput;
use onyx_types::{ResponseFormat, SamplingSetting, ToolChoice, ToolOffer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::choice::{Mode, tool_use};
use super::fields::Fields;
use super::model_settings::{RequestedSettings, effort, verbosity};
use super::{ClientRequest, joined, text_input_schema};
use crate::Problem;
use crate::wire::{ToolForm, ToolForms, typed};
use items::{Conversation, Input};

pub(super) const FIELDS: Fields = Fields {
    known: &[
        "conversation",
        "input[].arguments",
        "input[].call_id",
        "input[].content[].file_data",
        "input[].content[].file_id",
        "input[].content[].file_url",
        "input[].content[].filename",
        "input[].content[].image_url",
        "input[].content[].refusal",
        "input[].content[].text",
        "input[].content[].type",
        "input[].id",
        "input[].input",
        "input[].name",
        "input[].namespace",
        "input[].output",
        "input[].role",
        "input[].status",
        "input[].type",
        "instructions",
        "max_output_tokens",
        "metadata",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt_cache_key",
        "reasoning.effort",
        "store",
        "stream",
        "temperature",
        "text.format.name",
        "text.format.schema",
        "text.format.type",
        "text.verbosity",
        "tool_choice",
        "tools[].description",
        "tools[].name",
        "tools[].parameters",
        "tools[].tools[].description",
        "tools[].tools[].name",
        "tools[].tools[].parameters",
        "tools[].tools[].type",
        "tools[].type",
        "top_p",
    ],
    refused: &["background", "image", "moderation", "prompt", "top_logprobs"],
    neutral: &[
        ("background", &["false"]),
        ("top_logprobs", &["0"]),
        ("truncation", &["disabled"]),
        ("include", &["[]"]),
        ("context_management", &["[]"]),
        ("service_tier", &["auto", "default"]),
        ("stream_options", &["{\"include_obfuscation\":false}"]),
        ("tools[].strict", &["false"]),
        ("tools[].tools[].strict", &["false"]),
        ("text.format.strict", &["false"]),
        ("input[].content[].annotations", &["[]"]),
        ("input[].content[].logprobs", &["[]"]),
        ("input[].content[].detail", &["auto"]),
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
    reasoning: Option<Reasoning>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    max_output_tokens: Option<u32>,
    previous_response_id: Option<String>,
    prompt_cache_key: Option<String>,
    /// A conversation of `/v1/conversations`, by its id or as an object with the id.
    #[allow(dead_code, reason = "its items are in `input` by now")]
    conversation: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ResponsesReasoning")]
struct Reasoning {
    effort: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ResponsesTool")]
struct Tool {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Value>,
    /// The tools of a namespace.
    tools: Option<Vec<Tool>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `none`, `auto`, `required` or a function by its name")]
#[schemars(rename = "ResponsesChoice")]
enum Choice {
    Mode(Mode),
    One(NamedTool),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ResponsesNamedTool")]
enum NamedTool {
    Function { name: String },
    Custom { name: String },
    AllowedTools { mode: Mode, tools: Vec<AllowedTool> },
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ResponsesAllowedTool")]
struct AllowedTool {
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ResponsesTextSettings")]
struct TextSettings {
    format: Option<Format>,
    verbosity: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ResponsesFormat")]
enum Format {
    Text,
    JsonObject,
    JsonSchema { name: String, schema: Value },
}

pub(crate) fn responses(body: Map<String, Value>) -> Result<ClientRequest, Problem> {
    let mut left_out = FIELDS.left_out(&body)?;
    let request: Request = typed(body.into())?;
    let requested = request.requested_settings()?;
    let conversation = Conversation::read(request.input, request.instructions)?;
    for kind in &conversation.left_out {
        note(&mut left_out, format!("input[].{kind}"));
    }
    let mut offered = OfferedTools::default();
    for (index, tool) in request.tools.into_iter().flatten().enumerate() {
        offered.add(tool, &format!("tools[{index}]"), &mut left_out)?;
    }
    let choice = request.tool_choice.map(|choice| choice.wanted(&mut offered.tools));
    let format = request.text.and_then(|text| text.format);
    let client = ClientInput {
        turns: conversation.turns,
        system: joined(&conversation.system),
        tool_use: tool_use(
            choice.unwrap_or_default(),
            request.parallel_tool_calls,
            &offered.tools,
            "tool_choice.name",
        )?,
        tools: offered.tools,
        response_format: format.and_then(Format::wanted),
        temperature: request.temperature,
        sampling: requested.sampling,
        max_output_tokens: request.max_output_tokens,
        ..ClientInput::default()
    };
    Ok(ClientRequest {
        client,
        previous: request.previous_response_id,
        left_out,
        settings: requested.settings,
        forms: offered.forms,
        cache_key: request.prompt_cache_key,
    })
}

fn note(left_out: &mut Vec<String>, name: String) {
    if !left_out.contains(&name) {
        left_out.push(name);
    }
}

impl Request {
    fn requested_settings(&self) -> Result<RequestedSettings, Problem> {
        let mut requested = RequestedSettings::default();
        requested.top_p(self.top_p);
        requested.note(
            SamplingSetting::CacheKey,
            "prompt_cache_key",
            self.prompt_cache_key.is_some(),
        );
        let level = self.reasoning.as_ref().and_then(|reasoning| reasoning.effort.as_deref());
        let level = level.map(|word| effort("reasoning.effort", word)).transpose()?;
        requested.effort(level, "reasoning.effort");
        let level = self.text.as_ref().and_then(|text| text.verbosity.as_deref());
        let level = level.map(|word| verbosity("text.verbosity", word)).transpose()?;
        requested.verbosity(level, "text.verbosity");
        Ok(requested)
    }
}

/// The client's tools as they are offered to the model.
#[derive(Default)]
struct OfferedTools {
    tools: Vec<ToolOffer>,
    forms: ToolForms,
}

impl OfferedTools {
    /// Tools that run at the maker are left out and reported.
    fn add(&mut self, tool: Tool, path: &str, left_out: &mut Vec<String>) -> Result<(), Problem> {
        match tool.kind.as_str() {
            "function" | "custom" => {
                let offer = tool.offer(path)?;
                if tool.kind == "custom" {
                    self.forms.add(offer.name.clone(), ToolForm::Custom);
                }
                self.tools.push(offer);
            }
            "namespace" => {
                let namespace = tool.named(path)?;
                for (index, inner) in tool.tools.into_iter().flatten().enumerate() {
                    let path = format!("{path}.tools[{index}]");
                    if inner.kind != "function" {
                        note(left_out, format!("tools.{namespace}.{}", inner.kind));
                        continue;
                    }
                    let mut offer = inner.offer(&path)?;
                    let name = std::mem::take(&mut offer.name);
                    offer.name = ToolForms::flat(&namespace, &name);
                    let form = ToolForm::Namespaced { namespace: namespace.clone(), name };
                    self.forms.add(offer.name.clone(), form);
                    self.tools.push(offer);
                }
            }
            hosted => note(left_out, format!("tools.{hosted}")),
        }
        Ok(())
    }
}

impl Tool {
    fn named(&self, path: &str) -> Result<String, Problem> {
        self.name.clone().ok_or_else(|| Problem::field(format!("{path}.name"), "missing"))
    }

    fn offer(&self, path: &str) -> Result<ToolOffer, Problem> {
        let name = self.named(path)?;
        let description = self.description.clone().unwrap_or_default();
        let input_schema = if self.kind == "custom" {
            text_input_schema("What the tool is given.")
        } else {
            self.parameters.clone().unwrap_or_else(|| json!({"type": "object"}))
        };
        Ok(ToolOffer { name, description, input_schema: input_schema.into() })
    }
}

impl Choice {
    /// The choice may allow only some of the tools.
    fn wanted(self, tools: &mut Vec<ToolOffer>) -> ToolChoice {
        match self {
            Self::Mode(mode) => mode.wanted(),
            Self::One(NamedTool::Function { name } | NamedTool::Custom { name }) => {
                ToolChoice::Named(name)
            }
            Self::One(NamedTool::AllowedTools { mode, tools: allowed }) => {
                tools.retain(|tool| {
                    allowed.iter().any(|one| one.name.as_deref() == Some(tool.name.as_str()))
                });
                mode.wanted()
            }
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
