//! The conversation of a request, item by item.

use onyx_agent::ClientTurn;
use onyx_types::{ToolCall, ToolUseId, UserPart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::media::{document, image, is_web, linked};
use super::super::{arguments, content};
use crate::Problem;
use crate::wire::{CUSTOM_INPUT, ToolForms};

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of known items")]
#[schemars(rename = "ResponsesInput")]
pub(super) enum Input {
    Text(String),
    Items(Vec<Item>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a message or an item with a known `type`")]
#[schemars(rename = "ResponsesItem")]
pub(super) enum Item {
    Typed(TypedItem),
    Message { role: Role, content: Content },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ResponsesTypedItem")]
pub(super) enum TypedItem {
    Message {
        role: Role,
        content: Content,
    },
    FunctionCall {
        call_id: String,
        name: String,
        namespace: Option<String>,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: Content,
    },
    CustomToolCall {
        call_id: String,
        name: String,
        namespace: Option<String>,
        input: String,
    },
    CustomToolCallOutput {
        call_id: String,
        output: Content,
    },
    Reasoning {},
    /// A call that ran at the maker is of no use to a model that cannot run it.
    WebSearchCall {},
    FileSearchCall {},
    CodeInterpreterCall {},
    ImageGenerationCall {},
    McpCall {},
    McpListTools {},
    Compaction {},
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ResponsesRole")]
pub(super) enum Role {
    System,
    Developer,
    User,
    Assistant,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of parts with a known `type`")]
#[schemars(rename = "ResponsesContent")]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ResponsesPart")]
pub(super) enum Part {
    InputText { text: String },
    OutputText { text: String },
    Refusal { refusal: String },
    InputImage { image_url: Option<String> },
    InputFile { filename: Option<String>, file_data: Option<String>, file_url: Option<String> },
}

/// The decoded items.
#[derive(Default)]
pub(super) struct Conversation {
    pub(super) turns: Vec<ClientTurn>,
    pub(super) system: Vec<String>,
    pub(super) left_out: Vec<&'static str>,
    /// Images in tools' results, shown after the last of the results.
    shown: Vec<UserPart>,
}

impl Conversation {
    pub(super) fn read(input: Input, system: Option<String>) -> Result<Self, Problem> {
        let mut read = Self { system: system.into_iter().collect(), ..Self::default() };
        match input {
            Input::Text(text) => read.say(vec![UserPart::Text { text }]),
            Input::Items(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    let item = match item {
                        Item::Typed(item) => item,
                        Item::Message { role, content } => TypedItem::Message { role, content },
                    };
                    read.add(item, &format!("input[{index}]"))?;
                }
            }
        }
        read.show();
        Ok(read)
    }

    fn say(&mut self, parts: Vec<UserPart>) {
        self.turns.push(ClientTurn::User(content(parts)));
    }

    fn show(&mut self) {
        if !self.shown.is_empty() {
            let shown = std::mem::take(&mut self.shown);
            self.say(shown);
        }
    }

    fn add(&mut self, item: TypedItem, path: &str) -> Result<(), Problem> {
        match item {
            TypedItem::FunctionCallOutput { call_id, output }
            | TypedItem::CustomToolCallOutput { call_id, output } => {
                let output = self.result(output, path)?;
                let id = ToolUseId(call_id);
                self.turns.push(ClientTurn::ToolResult { id, output, is_error: false });
                return Ok(());
            }
            TypedItem::Message { role, content } => {
                self.show();
                match role {
                    Role::System | Role::Developer => self.system.push(content.text()),
                    Role::Assistant => self.turns.push(ClientTurn::Assistant(content.text())),
                    Role::User => {
                        let parts = content.parts(&format!("{path}.content"))?;
                        self.say(parts);
                    }
                }
            }
            TypedItem::FunctionCall { call_id, name, namespace, arguments: text } => {
                let input = arguments(&format!("{path}.arguments"), &text)?;
                self.call(call_id, flat(namespace.as_deref(), name), input);
            }
            TypedItem::CustomToolCall { call_id, name, namespace, input } => {
                let input = json!({(CUSTOM_INPUT): input});
                self.call(call_id, flat(namespace.as_deref(), name), input);
            }
            // A model's thinking is only replayed from our own log.
            TypedItem::Reasoning {} => self.left_out.push("reasoning"),
            TypedItem::WebSearchCall {} => self.left_out.push("web_search_call"),
            TypedItem::FileSearchCall {} => self.left_out.push("file_search_call"),
            TypedItem::CodeInterpreterCall {} => self.left_out.push("code_interpreter_call"),
            TypedItem::ImageGenerationCall {} => self.left_out.push("image_generation_call"),
            TypedItem::McpCall {} => self.left_out.push("mcp_call"),
            TypedItem::McpListTools {} => self.left_out.push("mcp_list_tools"),
            TypedItem::Compaction {} => self.left_out.push("compaction"),
        }
        Ok(())
    }

    fn call(&mut self, id: String, name: String, input: serde_json::Value) {
        self.show();
        self.turns.push(ClientTurn::ToolCall(ToolCall { id: ToolUseId(id), name, input }));
    }

    fn result(&mut self, output: Content, path: &str) -> Result<String, Problem> {
        let parts = match output {
            Content::Text(text) => return Ok(text),
            Content::Parts(parts) => parts,
        };
        let mut texts = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            match part.read(&format!("{path}.output[{index}]"))? {
                UserPart::Text { text } => texts.push(text),
                shown => {
                    texts.push("[shown below]".to_owned());
                    self.shown.push(shown);
                }
            }
        }
        Ok(texts.join("\n"))
    }
}

fn flat(namespace: Option<&str>, name: String) -> String {
    match namespace {
        Some(namespace) => ToolForms::flat(namespace, &name),
        None => name,
    }
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
                    Part::InputImage { .. } | Part::InputFile { .. } => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn parts(self, path: &str) -> Result<Vec<UserPart>, Problem> {
        match self {
            Self::Text(text) => Ok(vec![UserPart::Text { text }]),
            Self::Parts(parts) => parts
                .into_iter()
                .enumerate()
                .map(|(index, part)| part.read(&format!("{path}[{index}]")))
                .collect(),
        }
    }
}

impl Part {
    fn read(self, path: &str) -> Result<UserPart, Problem> {
        const STORED: &str = "missing; files stored at a provider are not available here";
        match self {
            Self::InputText { text }
            | Self::OutputText { text }
            | Self::Refusal { refusal: text } => Ok(UserPart::Text { text }),
            Self::InputImage { image_url: Some(address) } => {
                image(&format!("{path}.image_url"), &address)
            }
            Self::InputImage { image_url: None } => {
                Err(Problem::field(format!("{path}.image_url"), STORED))
            }
            Self::InputFile { filename, file_data: Some(data), .. } => {
                document(&format!("{path}.file_data"), filename, &data)
            }
            Self::InputFile { filename, file_data: None, file_url: Some(url) } if is_web(&url) => {
                Ok(linked("application/pdf", filename, &url))
            }
            Self::InputFile { .. } => Err(Problem::field(format!("{path}.file_data"), STORED)),
        }
    }
}
