//! What is sent to `/api/v1/chat`: a plain list of messages, or `useChat`'s messages of parts.

use onyx_agent::prompt::UntrustedPiece;
use onyx_types::{Block, CitedSource, Message, Role, UserPart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::media::image;
use crate::Problem;

const MOST_MESSAGES: usize = 2_000;
const MOST_PIECES: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UiChatRequest {
    messages: Vec<UiMessage>,
    system_prompt: Option<String>,
    /// Evidence for the answer; never a part of the instructions.
    #[serde(default)]
    rag_context: Vec<RagPiece>,
    /// `<provider>/<model>`, or an agent whose model is taken. Absent: the default agent's.
    pub(crate) model: Option<String>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) temperature: Option<f32>,
}

#[derive(Deserialize, JsonSchema)]
struct UiMessage {
    role: UiRole,
    /// The words, or `parts`.
    content: Option<String>,
    parts: Option<Vec<Value>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UiRole {
    User,
    Assistant,
    System,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "checked, and for people who read the request")]
struct RagPiece {
    source_id: String,
    chunk_id: String,
    text: String,
    score: f32,
    source_name: String,
    match_type: RagMatch,
    scope_type: RagScope,
    scope_id: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RagMatch {
    Fts,
    Vec,
    Hybrid,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RagScope {
    Workspace,
    Channel,
    Thread,
    Coworker,
}

impl RagScope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Channel => "channel",
            Self::Thread => "thread",
            Self::Coworker => "coworker",
        }
    }
}

/// A conversation as a model is to see it.
pub(crate) struct UiConversation {
    pub(crate) system: Vec<String>,
    pub(crate) messages: Vec<Message>,
    pub(crate) evidence: Vec<UntrustedPiece>,
}

impl UiChatRequest {
    pub(crate) fn conversation(&mut self) -> Result<UiConversation, Problem> {
        if self.messages.is_empty() || self.messages.len() > MOST_MESSAGES {
            return Err(Problem::field("messages", format!("give 1 to {MOST_MESSAGES}")));
        }
        if self.rag_context.len() > MOST_PIECES {
            return Err(Problem::field("ragContext", format!("give at most {MOST_PIECES}")));
        }
        let mut system: Vec<String> = self.system_prompt.take().into_iter().collect();
        let mut messages = Vec::new();
        for (index, message) in std::mem::take(&mut self.messages).into_iter().enumerate() {
            let path = format!("messages[{index}]");
            let content = message.blocks(&path)?;
            let role = match message.role {
                UiRole::User => Role::User,
                UiRole::Assistant => Role::Assistant,
                UiRole::System => {
                    system.extend(content.into_iter().filter_map(words));
                    continue;
                }
            };
            if !content.is_empty() {
                messages.push(Message { role, content });
            }
        }
        if !matches!(messages.last(), Some(Message { role: Role::User, .. })) {
            return Err(Problem::field("messages", "the last with words must be the user's"));
        }
        let evidence = self.rag_context.drain(..).map(|piece| UntrustedPiece {
            scope: piece.scope_type.as_str().to_owned(),
            cited: Some(CitedSource {
                source_id: piece.source_id,
                chunk_id: piece.chunk_id,
                title: piece.source_name.clone(),
            }),
            source: piece.source_name,
            lines: None,
            text: piece.text,
        });
        Ok(UiConversation { system, messages, evidence: evidence.collect() })
    }
}

fn words(block: Block) -> Option<String> {
    match block {
        Block::Text { text } => Some(text),
        Block::Image { .. }
        | Block::Attachment(_)
        | Block::Reasoning { .. }
        | Block::ToolUse { .. }
        | Block::ToolResult { .. } => None,
    }
}

impl UiMessage {
    fn blocks(&self, path: &str) -> Result<Vec<Block>, Problem> {
        match (&self.content, &self.parts) {
            (Some(text), None) => Ok(text_block(text).into_iter().collect()),
            (_, Some(parts)) => {
                let mut blocks = Vec::new();
                for (index, part) in parts.iter().enumerate() {
                    blocks.extend(block(&format!("{path}.parts[{index}]"), part)?);
                }
                Ok(blocks)
            }
            (None, None) => Err(Problem::field(path, "it has neither `content` nor `parts`")),
        }
    }
}

fn text_block(text: &str) -> Option<Block> {
    (!text.is_empty()).then(|| Block::Text { text: text.to_owned() })
}

/// Words and images. What only the client's own display is made of says nothing to a model.
fn block(path: &str, part: &Value) -> Result<Option<Block>, Problem> {
    let field = |name: &str| {
        part[name]
            .as_str()
            .ok_or_else(|| Problem::field(format!("{path}.{name}"), "it must be a text"))
    };
    match field("type")? {
        "text" => Ok(text_block(field("text")?)),
        "file" => match image(&format!("{path}.url"), field("url")?)? {
            UserPart::Image { media_type, data } => Ok(Some(Block::Image { media_type, data })),
            UserPart::Attachment(attachment) => Ok(Some(Block::Attachment(attachment))),
            UserPart::Text { .. } | UserPart::File { .. } => Ok(None),
        },
        _ => Ok(None),
    }
}
