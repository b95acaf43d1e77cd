//! The content of a message in Anthropic's format, block by block.

use onyx_agent::ClientTurn;
use onyx_types::{ToolCall, ToolUseId, UserPart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::content;
use super::super::media::{file, is_web, linked};
use super::{Message, Role, Text};
use crate::Problem;

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of blocks with a known `type`")]
#[schemars(rename = "MessagesContent")]
pub(super) enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessagesBlock")]
pub(super) enum Block {
    Text {
        text: String,
    },
    Image {
        source: Source,
    },
    Document {
        source: Source,
        title: Option<String>,
    },
    SearchResult {
        title: Option<String>,
        content: Vec<TextPart>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: Option<ResultContent>,
        #[serde(default)]
        is_error: bool,
    },
    /// A model's thinking is only replayed from our own log.
    Thinking {},
    RedactedThinking {},
    /// A summary that replaces what came before it.
    Compaction {
        content: Option<String>,
    },
    /// A call that ran at the maker is of no use to a model that cannot run it.
    ServerToolUse {},
    McpToolUse {},
    McpToolResult {},
    WebSearchToolResult {},
    WebFetchToolResult {},
    CodeExecutionToolResult {},
    BashCodeExecutionToolResult {},
    TextEditorCodeExecutionToolResult {},
    ToolSearchToolResult {},
    ToolReference {},
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MessagesTextPart")]
pub(super) struct TextPart {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of blocks with a known `type`")]
#[schemars(rename = "MessagesResultContent")]
pub(super) enum ResultContent {
    Text(String),
    #[schemars(with = "Vec<ResultBlock>")]
    Blocks(Vec<Block>),
}

/// The blocks of a tool's result, for the document only: client generators cannot read a choice
/// that contains itself.
#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessagesResultBlock")]
#[allow(dead_code, reason = "it stands in the schema for `Block`")]
enum ResultBlock {
    Text { text: String },
    Image { source: Source },
    Document { source: Source, title: Option<String> },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessagesSource")]
pub(super) enum Source {
    Base64 { media_type: String, data: String },
    Url { url: String },
    Text { data: String },
    Content { content: Text },
}

/// The parts of one message.
#[derive(Default)]
struct Parts {
    turns: Vec<ClientTurn>,
    /// The person's texts and images, which follow the results of tools.
    words: Vec<UserPart>,
    /// Blocks of work that was done at the maker.
    left_out: Vec<&'static str>,
}

impl Message {
    pub(super) fn turns(
        self,
        path: &str,
        left_out: &mut Vec<String>,
    ) -> Result<Vec<ClientTurn>, Problem> {
        let blocks = match self.content {
            Content::Text(text) => vec![Block::Text { text }],
            Content::Blocks(blocks) => blocks,
        };
        let mut parts = Parts::default();
        for (index, block) in blocks.into_iter().enumerate() {
            parts.add(block, self.role, &format!("{path}.content[{index}]"))?;
        }
        for kind in parts.left_out {
            let name = format!("messages[].content[].{kind}");
            if !left_out.contains(&name) {
                left_out.push(name);
            }
        }
        let Parts { mut turns, words, .. } = parts;
        if !words.is_empty() {
            turns.push(ClientTurn::User(content(words)));
        }
        Ok(turns)
    }

    /// The text of a message with instructions.
    pub(super) fn words(self) -> String {
        match self.content {
            Content::Text(text) => text,
            Content::Blocks(blocks) => {
                let texts = blocks.into_iter().filter_map(|block| match block {
                    Block::Text { text } => Some(text),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Parts {
    fn add(&mut self, block: Block, role: Role, path: &str) -> Result<(), Problem> {
        match (block, role) {
            (Block::Text { text }, Role::Assistant) => {
                self.turns.push(ClientTurn::Assistant(text));
            }
            (Block::Text { text }, Role::User | Role::System) => {
                self.words.push(UserPart::Text { text });
            }
            (Block::Image { source }, _) => self.words.push(source.image(path)?),
            (Block::Document { source, title }, _) => {
                self.words.push(source.document(title, path)?)
            }
            (Block::SearchResult { title, content }, _) => {
                self.words.push(UserPart::Text { text: search_result(title.as_deref(), content) });
            }
            (Block::Compaction { content }, _) => {
                self.turns.extend(content.map(ClientTurn::Assistant));
            }
            (Block::ToolUse { id, name, input }, _) => {
                let call = ToolCall { id: ToolUseId(id), name, input };
                self.turns.push(ClientTurn::ToolCall(call));
            }
            (Block::ToolResult { tool_use_id, content, is_error }, _) => {
                let output = self.result(content, path)?;
                let id = ToolUseId(tool_use_id);
                self.turns.push(ClientTurn::ToolResult { id, output, is_error });
            }
            // Thinking is not used, and the client is told that it was not read.
            (Block::Thinking {} | Block::RedactedThinking {}, _) => {}
            (Block::ServerToolUse {}, _) => self.left_out.push("server_tool_use"),
            (Block::McpToolUse {}, _) => self.left_out.push("mcp_tool_use"),
            (Block::McpToolResult {}, _) => self.left_out.push("mcp_tool_result"),
            (Block::WebSearchToolResult {}, _) => self.left_out.push("web_search_tool_result"),
            (Block::WebFetchToolResult {}, _) => self.left_out.push("web_fetch_tool_result"),
            (
                Block::CodeExecutionToolResult {}
                | Block::BashCodeExecutionToolResult {}
                | Block::TextEditorCodeExecutionToolResult {},
                _,
            ) => self.left_out.push("code_execution_tool_result"),
            (Block::ToolSearchToolResult {} | Block::ToolReference {}, _) => {
                self.left_out.push("tool_search_tool_result");
            }
        }
        Ok(())
    }

    /// A tool's result as text. Its images and documents are shown after the results, because most
    /// formats accept only text as a result.
    fn result(&mut self, content: Option<ResultContent>, path: &str) -> Result<String, Problem> {
        let blocks = match content {
            None => return Ok(String::new()),
            Some(ResultContent::Text(text)) => return Ok(text),
            Some(ResultContent::Blocks(blocks)) => blocks,
        };
        let mut texts = Vec::new();
        for (index, block) in blocks.into_iter().enumerate() {
            let path = format!("{path}.content[{index}]");
            let shown = match block {
                Block::Text { text } => {
                    texts.push(text);
                    continue;
                }
                Block::SearchResult { title, content } => {
                    texts.push(search_result(title.as_deref(), content));
                    continue;
                }
                Block::Image { source } => source.image(&path)?,
                Block::Document { source, title } => source.document(title, &path)?,
                Block::ToolReference {} => continue,
                _ => return Err(Problem::field(path, "a tool result cannot contain this block")),
            };
            texts.push("[shown below]".to_owned());
            self.words.push(shown);
        }
        Ok(texts.join("\n"))
    }
}

impl Source {
    fn image(self, path: &str) -> Result<UserPart, Problem> {
        match self {
            Self::Base64 { media_type, data } => Ok(UserPart::Image { media_type, data }),
            Self::Url { url } if is_web(&url) => Ok(linked("image/*", None, &url)),
            Self::Url { .. } | Self::Text { .. } | Self::Content { .. } => Err(Problem::field(
                format!("{path}.source"),
                "an image must be base64 or a web address",
            )),
        }
    }

    fn document(self, title: Option<String>, path: &str) -> Result<UserPart, Problem> {
        match self {
            Self::Base64 { media_type, data } => Ok(file(&media_type, title, data)),
            Self::Url { url } if is_web(&url) => Ok(linked("application/pdf", title, &url)),
            Self::Url { .. } => {
                Err(Problem::field(format!("{path}.source.url"), "not a web address"))
            }
            Self::Text { data } => Ok(UserPart::Text { text: titled(title.as_deref(), &data) }),
            Self::Content { content } => {
                Ok(UserPart::Text { text: titled(title.as_deref(), &content.joined()) })
            }
        }
    }
}

fn search_result(title: Option<&str>, content: Vec<TextPart>) -> String {
    let texts: Vec<String> = content.into_iter().map(|part| part.text).collect();
    titled(title, &texts.join("\n"))
}

fn titled(title: Option<&str>, text: &str) -> String {
    match title {
        Some(title) => format!("{title}\n\n{text}"),
        None => text.to_owned(),
    }
}
