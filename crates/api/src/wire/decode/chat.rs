//! `POST /v1/chat/completions`.

use onyx_agent::{ClientInput, ClientTurn};
use onyx_types::{
    ResponseFormat, SamplingSetting, ToolCall, ToolChoice, ToolOffer, ToolUseId, UserPart,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::choice::{Mode, tool_use};
use super::fields::Fields;
use super::media::{document, image};
use super::model_settings::{RequestedSettings, StopWords, effort, verbosity};
use super::{ClientRequest, arguments, content, joined, text_input_schema};
use crate::Problem;
use crate::wire::{CUSTOM_INPUT, ToolForm, ToolForms, typed};

pub(super) const FIELDS: Fields = Fields {
    known: &[
        "frequency_penalty",
        "function_call",
        "functions[].description",
        "functions[].name",
        "functions[].parameters",
        "logit_bias",
        "max_completion_tokens",
        "max_tokens",
        "messages[].content[].file.file_data",
        "messages[].content[].file.file_id",
        "messages[].content[].file.filename",
        "messages[].content[].image_url.url",
        "messages[].content[].input_audio",
        "messages[].content[].refusal",
        "messages[].content[].text",
        "messages[].content[].type",
        "messages[].function_call",
        "messages[].refusal",
        "messages[].role",
        "messages[].tool_call_id",
        "messages[].tool_calls[].custom",
        "messages[].tool_calls[].function.arguments",
        "messages[].tool_calls[].function.name",
        "messages[].tool_calls[].id",
        "messages[].tool_calls[].index",
        "messages[].tool_calls[].type",
        "min_p",
        "model",
        "parallel_tool_calls",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format.json_schema.name",
        "response_format.json_schema.schema",
        "response_format.type",
        "seed",
        "stop",
        "stream",
        "stream_options.include_usage",
        "temperature",
        "tool_choice",
        "tools[].custom.description",
        "tools[].custom.name",
        "tools[].function.description",
        "tools[].function.name",
        "tools[].function.parameters",
        "tools[].type",
        "top_k",
        "top_p",
        "verbosity",
    ],
    refused: &["audio", "logprobs", "modalities", "moderation", "n", "top_logprobs"],
    neutral: &[
        ("n", &["1"]),
        ("logprobs", &["false"]),
        ("top_logprobs", &["0"]),
        ("modalities", &["[\"text\"]"]),
        ("store", &["false"]),
        ("service_tier", &["auto", "default"]),
        ("stream_options.include_obfuscation", &["false"]),
        ("tools[].function.strict", &["false"]),
        ("response_format.json_schema.strict", &["false"]),
        ("messages[].content[].image_url.detail", &["auto"]),
        ("web_search_options", &["{}"]),
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
    top_p: Option<f32>,
    top_k: Option<u32>,
    min_p: Option<f32>,
    seed: Option<i64>,
    frequency_penalty: Option<f32>,
    presence_penalty: Option<f32>,
    logit_bias: Option<Map<String, Value>>,
    stop: Option<StopWords>,
    reasoning_effort: Option<String>,
    verbosity: Option<String>,
    prompt_cache_key: Option<String>,
    /// The form of tools before there were tools.
    functions: Option<Vec<Function>>,
    function_call: Option<FunctionChoice>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatMessage")]
struct Message {
    role: Role,
    content: Option<Content>,
    tool_calls: Option<Vec<Call>>,
    tool_call_id: Option<String>,
    function_call: Option<CalledFunction>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ChatRole")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of parts with a known `type`")]
#[schemars(rename = "ChatContent")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ChatPart")]
enum Part {
    Text { text: String },
    Refusal { refusal: String },
    ImageUrl { image_url: ImageUrl },
    File { file: FileData },
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatFileData")]
struct FileData {
    file_data: Option<String>,
    filename: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatImageUrl")]
struct ImageUrl {
    url: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatCall")]
struct Call {
    id: String,
    function: Option<CalledFunction>,
    custom: Option<CalledText>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatCalledText")]
struct CalledText {
    name: String,
    input: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatCalledFunction")]
struct CalledFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ChatTool")]
enum Tool {
    Function { function: Function },
    Custom { custom: CustomTool },
}

/// A tool that takes a text. A grammar for it is left out, because models of other formats cannot
/// be constrained by one.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatCustomTool")]
struct CustomTool {
    name: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `none`, `auto`, `required` or a function by its name")]
#[schemars(rename = "ChatChoice")]
enum Choice {
    Mode(Mode),
    One(NamedTool),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ChatNamedTool")]
enum NamedTool {
    Function { function: FunctionName },
    Custom { custom: FunctionName },
    AllowedTools { allowed_tools: Allowed },
}

/// Some of the tools only.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatAllowed")]
struct Allowed {
    mode: Mode,
    tools: Vec<AllowedTool>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatAllowedTool")]
struct AllowedTool {
    function: FunctionName,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `none`, `auto` or a function by its name")]
#[schemars(rename = "ChatFunctionChoice")]
enum FunctionChoice {
    Mode(Mode),
    One(FunctionName),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatFunctionName")]
struct FunctionName {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatFunction")]
struct Function {
    name: String,
    #[serde(default)]
    description: String,
    parameters: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ChatFormat")]
enum Format {
    Text,
    JsonObject,
    JsonSchema { json_schema: Schema },
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatSchema")]
struct Schema {
    name: String,
    #[serde(default)]
    schema: Value,
}

pub(crate) fn chat(body: Map<String, Value>) -> Result<ClientRequest, Problem> {
    let left_out = FIELDS.left_out(&body)?;
    let mut request: Request = typed(body.into())?;
    let requested = request.requested_settings()?;
    let mut system = Vec::new();
    let mut turns = Vec::new();
    for (index, message) in std::mem::take(&mut request.messages).into_iter().enumerate() {
        match message.role {
            Role::System | Role::Developer => system.extend(message.text()),
            Role::User | Role::Assistant | Role::Tool | Role::Function => {
                message.turns(index, &mut turns)?;
            }
        }
    }
    let offered = request.offered();
    let several =
        if request.functions.is_some() { Some(false) } else { request.parallel_tool_calls };
    let client = ClientInput {
        turns,
        system: joined(&system),
        tool_use: tool_use(offered.choice, several, &offered.tools, offered.path)?,
        tools: offered.tools,
        response_format: request.response_format.and_then(Format::wanted),
        temperature: request.temperature,
        sampling: requested.sampling,
        max_output_tokens: request.max_completion_tokens.or(request.max_tokens),
        ..ClientInput::default()
    };
    let cache_key = request.prompt_cache_key;
    let (forms, settings) = (offered.forms, requested.settings);
    Ok(ClientRequest { client, left_out, settings, forms, cache_key, ..ClientRequest::default() })
}

/// The tools, in either form.
struct OfferedTools {
    tools: Vec<ToolOffer>,
    choice: ToolChoice,
    forms: ToolForms,
    /// The path of the chosen tool's name.
    path: &'static str,
}

impl Request {
    fn requested_settings(&mut self) -> Result<RequestedSettings, Problem> {
        let mut requested = RequestedSettings::default();
        requested.top_p(self.top_p);
        requested.top_k(self.top_k);
        requested.stop(self.stop.take().map(StopWords::words).unwrap_or_default(), "stop");
        requested.note(SamplingSetting::MinP, "min_p", self.min_p.is_some());
        requested.note(SamplingSetting::Seed, "seed", self.seed.is_some());
        let counts = |penalty: Option<f32>| penalty.is_some_and(|penalty| penalty != 0.0);
        requested.note(
            SamplingSetting::FrequencyPenalty,
            "frequency_penalty",
            counts(self.frequency_penalty),
        );
        requested.note(
            SamplingSetting::PresencePenalty,
            "presence_penalty",
            counts(self.presence_penalty),
        );
        let bias = self.logit_bias.take().filter(|bias| !bias.is_empty());
        requested.note(SamplingSetting::LogitBias, "logit_bias", bias.is_some());
        requested.note(
            SamplingSetting::CacheKey,
            "prompt_cache_key",
            self.prompt_cache_key.is_some(),
        );
        let sampling = &mut requested.sampling;
        sampling.min_p = self.min_p;
        sampling.seed = self.seed;
        sampling.frequency_penalty = self.frequency_penalty;
        sampling.presence_penalty = self.presence_penalty;
        sampling.logit_bias = bias;
        let level = self.reasoning_effort.as_deref();
        let level = level.map(|word| effort("reasoning_effort", word)).transpose()?;
        requested.effort(level, "reasoning_effort");
        let level = self.verbosity.as_deref().map(|word| verbosity("verbosity", word));
        requested.verbosity(level.transpose()?, "verbosity");
        Ok(requested)
    }

    fn offered(&mut self) -> OfferedTools {
        let mut forms = ToolForms::default();
        if let Some(functions) = self.functions.take_if(|functions| !functions.is_empty()) {
            for function in &functions {
                forms.add(function.name.clone(), ToolForm::Legacy);
            }
            self.functions = Some(Vec::new());
            let choice = match self.function_call.take() {
                None => ToolChoice::Auto,
                Some(FunctionChoice::Mode(mode)) => mode.wanted(),
                Some(FunctionChoice::One(function)) => ToolChoice::Named(function.name),
            };
            let tools = functions.into_iter().map(Function::offer).collect();
            return OfferedTools { tools, choice, forms, path: "function_call.name" };
        }
        self.functions = None;
        let mut tools = Vec::new();
        for tool in self.tools.take().unwrap_or_default() {
            tools.push(tool.offer(&mut forms));
        }
        let choice = match self.tool_choice.take() {
            None => ToolChoice::Auto,
            Some(Choice::Mode(mode)) => mode.wanted(),
            Some(Choice::One(
                NamedTool::Function { function: named } | NamedTool::Custom { custom: named },
            )) => ToolChoice::Named(named.name),
            Some(Choice::One(NamedTool::AllowedTools { allowed_tools })) => {
                let allowed = |tool: &ToolOffer| {
                    allowed_tools.tools.iter().any(|one| one.function.name == tool.name)
                };
                tools.retain(allowed);
                allowed_tools.mode.wanted()
            }
        };
        OfferedTools { tools, choice, forms, path: "tool_choice.function.name" }
    }
}

impl Message {
    fn text(&self) -> Option<String> {
        match self.content.as_ref()? {
            Content::Text(text) => Some(text.clone()),
            Content::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| match part {
                    Part::Text { text } => Some(text.as_str()),
                    Part::Refusal { refusal } => Some(refusal.as_str()),
                    Part::ImageUrl { .. } | Part::File { .. } => None,
                });
                Some(texts.collect::<Vec<_>>().join("\n"))
            }
        }
    }

    fn turns(self, index: usize, turns: &mut Vec<ClientTurn>) -> Result<(), Problem> {
        let path = format!("messages[{index}]");
        match self.role {
            Role::User => turns.push(ClientTurn::User(self.user_content(&path)?)),
            Role::Tool => {
                let output = self.text().unwrap_or_default();
                let id = self
                    .tool_call_id
                    .ok_or_else(|| Problem::field(format!("{path}.tool_call_id"), "missing"))?;
                let id = ToolUseId(id);
                turns.push(ClientTurn::ToolResult { id, output, is_error: false });
            }
            // The result answers the call right before it, because function calls had no ids.
            Role::Function => {
                let before = turns.iter().rev().find_map(|turn| match turn {
                    ClientTurn::ToolCall(call) => Some(call.id.clone()),
                    ClientTurn::User(_)
                    | ClientTurn::Assistant(_)
                    | ClientTurn::OwnAnswer(..)
                    | ClientTurn::ToolResult { .. } => None,
                });
                let id = before
                    .ok_or_else(|| Problem::field(path, "no function call comes before it"))?;
                let output = self.text().unwrap_or_default();
                turns.push(ClientTurn::ToolResult { id, output, is_error: false });
            }
            Role::Assistant => self.assistant(&path, index, turns)?,
            Role::System | Role::Developer => {}
        }
        Ok(())
    }

    fn assistant(
        self,
        path: &str,
        index: usize,
        turns: &mut Vec<ClientTurn>,
    ) -> Result<(), Problem> {
        let text = self.text().filter(|text| !text.is_empty());
        turns.extend(text.map(ClientTurn::Assistant));
        if let Some(call) = self.function_call {
            let path = format!("{path}.function_call.arguments");
            turns.push(ClientTurn::ToolCall(ToolCall {
                input: arguments(&path, &call.arguments)?,
                id: ToolUseId(format!("call_function_{index}")),
                name: call.name,
            }));
        }
        for (index, call) in self.tool_calls.into_iter().flatten().enumerate() {
            let path = format!("{path}.tool_calls[{index}]");
            turns.push(ClientTurn::ToolCall(call.read(&path)?));
        }
        Ok(())
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
                    Part::File { file } => file.read(&format!("{path}.content[{index}].file")),
                })
                .collect::<Result<_, _>>()?,
        };
        Ok(content(parts))
    }
}

impl FileData {
    fn read(self, path: &str) -> Result<UserPart, Problem> {
        let path = format!("{path}.file_data");
        let Some(data) = self.file_data else {
            return Err(Problem::field(
                path,
                "missing; files stored at a provider are not available here",
            ));
        };
        document(&path, self.filename, &data)
    }
}

impl Call {
    fn read(self, path: &str) -> Result<ToolCall, Problem> {
        let id = ToolUseId(self.id);
        match (self.function, self.custom) {
            (Some(CalledFunction { name, arguments: text }), _) => {
                let input = arguments(&format!("{path}.function.arguments"), &text)?;
                Ok(ToolCall { id, name, input })
            }
            (None, Some(CalledText { name, input })) => {
                Ok(ToolCall { id, name, input: json!({(CUSTOM_INPUT): input}) })
            }
            (None, None) => Err(Problem::field(format!("{path}.function"), "missing")),
        }
    }
}

impl Function {
    fn offer(self) -> ToolOffer {
        ToolOffer {
            name: self.name,
            description: self.description,
            input_schema: self.parameters.unwrap_or_else(|| json!({"type": "object"})).into(),
        }
    }
}

impl Tool {
    fn offer(self, forms: &mut ToolForms) -> ToolOffer {
        match self {
            Self::Function { function } => function.offer(),
            Self::Custom { custom: CustomTool { name, description } } => {
                forms.add(name.clone(), ToolForm::Custom);
                let input_schema = text_input_schema("What the tool is given.").into();
                ToolOffer { name, description, input_schema }
            }
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
