//! The body of `/api/v1/chat`: a plain list of messages, or `useChat`'s messages of parts.

use onyx_agent::prompt::UntrustedPiece;
use onyx_types::{Block, CitedSource, DraftId, Message, Role, SessionId, UserContent, UserPart};
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
    /// Retrieved material for the answer; never part of the instructions.
    #[serde(default)]
    rag_context: Vec<RagPiece>,
    /// `<provider>/<model>`, or an agent whose model is used. Absent: the default agent's model.
    pub(crate) model: Option<String>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) temperature: Option<f32>,
    /// `useChat`'s name for the chat. With an agent, the id of a session continues that session.
    pub(crate) id: Option<String>,
    /// The agent that answers, with its own instructions, tools and memory. The conversation is
    /// then kept in a session, and only the new part of `messages` is read.
    pub(crate) agent: Option<String>,
    /// The session to continue; its agent answers.
    pub(crate) session_id: Option<SessionId>,
    #[serde(default)]
    trigger: UiTrigger,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum UiTrigger {
    #[default]
    SubmitMessage,
    RegenerateMessage,
}

#[derive(Deserialize, JsonSchema)]
struct UiMessage {
    role: UiRole,
    /// The text; alternatively `parts`.
    content: Option<String>,
    parts: Option<Vec<Value>>,
    /// In an agent's answer, `sessionId` names its session.
    metadata: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
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

/// A conversation as a model sees it.
pub(crate) struct UiConversation {
    pub(crate) system: Vec<String>,
    pub(crate) messages: Vec<Message>,
    pub(crate) evidence: Vec<UntrustedPiece>,
}

/// What a request asks of an agent.
pub(crate) enum UiTurn {
    Said(UserContent),
    /// Another answer to the last message.
    Again,
    /// A person's answers to approval requests.
    Decided(Vec<UiDecision>),
}

pub(crate) struct UiDecision {
    pub(crate) draft: DraftId,
    pub(crate) approved: bool,
    pub(crate) reason: Option<String>,
}

impl UiChatRequest {
    /// Whether an agent is asked, and not only its model.
    pub(crate) fn is_for_an_agent(&self) -> bool {
        self.agent.is_some() || self.session_id.is_some()
    }

    /// The new input for an agent. The session is its history, so earlier messages are not read.
    pub(crate) fn turn(&self) -> Result<UiTurn, Problem> {
        self.check_agent_fields()?;
        if self.trigger == UiTrigger::RegenerateMessage {
            return Ok(UiTurn::Again);
        }
        let answered = self.messages.iter().rposition(|one| one.role == UiRole::Assistant);
        let after = answered.map_or(0, |index| index + 1);
        let mut parts = Vec::new();
        for (index, message) in self.messages.iter().enumerate().skip(after) {
            if message.role == UiRole::System {
                return Err(no_instructions(format!("messages[{index}]")));
            }
            parts.extend(message.user_parts(&format!("messages[{index}]"))?);
        }
        if !parts.is_empty() {
            return Ok(UiTurn::Said(content_of(parts)));
        }
        match self.messages.last() {
            Some(last) if last.role == UiRole::Assistant => last.decisions().map(UiTurn::Decided),
            Some(_) | None => Err(Problem::field("messages", "there is nothing to answer")),
        }
    }

    /// The session of the conversation, as far as the request names it: by its field, or by the
    /// metadata of the last answer.
    pub(crate) fn named_session(&self) -> Option<SessionId> {
        let session_in = |message: &UiMessage| {
            message.metadata.as_ref()?.get("sessionId")?.as_str()?.parse().ok()
        };
        self.session_id.or_else(|| self.messages.iter().rev().find_map(session_in))
    }

    fn check_agent_fields(&self) -> Result<(), Problem> {
        if self.messages.is_empty() || self.messages.len() > MOST_MESSAGES {
            return Err(Problem::field("messages", format!("give 1 to {MOST_MESSAGES} messages")));
        }
        if self.system_prompt.is_some() {
            return Err(no_instructions("systemPrompt".to_owned()));
        }
        if !self.rag_context.is_empty() {
            let why = "an agent retrieves its own context; leave out this field or `agent`";
            return Err(Problem::field("ragContext", why));
        }
        Ok(())
    }

    /// Fields that an agent decides itself.
    pub(crate) fn left_out_for_an_agent(&self) -> Vec<&'static str> {
        let fields = [
            ("model", self.model.is_some()),
            ("maxTokens", self.max_tokens.is_some()),
            ("temperature", self.temperature.is_some()),
        ];
        fields.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    pub(crate) fn conversation(&mut self) -> Result<UiConversation, Problem> {
        if self.messages.is_empty() || self.messages.len() > MOST_MESSAGES {
            return Err(Problem::field("messages", format!("give 1 to {MOST_MESSAGES} messages")));
        }
        if self.rag_context.len() > MOST_PIECES {
            return Err(Problem::field("ragContext", format!("give at most {MOST_PIECES} pieces")));
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
            return Err(Problem::field(
                "messages",
                "the last message with text must be the user's",
            ));
        }
        let evidence = self.rag_context.drain(..).map(|piece| UntrustedPiece {
            scope: piece.scope_type.as_str().to_owned(),
            cited: Some(CitedSource {
                source_id: piece.source_id,
                chunk_id: piece.chunk_id,
                title: piece.source_name.clone(),
                session_id: None,
                turn: None,
            }),
            source: piece.source_name,
            lines: None,
            text: piece.text,
        });
        Ok(UiConversation { system, messages, evidence: evidence.collect() })
    }
}

fn no_instructions(field: String) -> Problem {
    let why = "an agent has its own instructions; leave out this field or `agent`";
    Problem::field(field, why)
}

fn content_of(parts: Vec<UserPart>) -> UserContent {
    match <[UserPart; 1]>::try_from(parts) {
        Ok([UserPart::Text { text }]) => UserContent::Text(text),
        Ok([part]) => UserContent::Parts(vec![part]),
        Err(parts) => UserContent::Parts(parts),
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

    fn user_parts(&self, path: &str) -> Result<Vec<UserPart>, Problem> {
        let mut parts: Vec<UserPart> = match (&self.content, &self.parts) {
            (Some(text), None) => vec![UserPart::Text { text: text.clone() }],
            (_, Some(_)) | (None, None) => Vec::new(),
        };
        for (index, part) in self.parts.iter().flatten().enumerate() {
            parts.extend(user_part(&format!("{path}.parts[{index}]"), part)?);
        }
        parts.retain(|part| !matches!(part, UserPart::Text { text } if text.trim().is_empty()));
        Ok(parts)
    }

    /// The approvals that a person has answered in this message.
    fn decisions(&self) -> Result<Vec<UiDecision>, Problem> {
        let answered = |part: &&Value| part["state"] == "approval-responded";
        let decisions: Option<Vec<UiDecision>> =
            self.parts.iter().flatten().filter(answered).map(decision).collect();
        match decisions {
            Some(decisions) if !decisions.is_empty() => Ok(decisions),
            Some(_) => {
                let why = "the last message must be the user's, or answer an approval request";
                Err(Problem::field("messages", why))
            }
            None => Err(Problem::field("messages", "an `approval` does not come from this server")),
        }
    }
}

fn decision(part: &Value) -> Option<UiDecision> {
    let approval = &part["approval"];
    Some(UiDecision {
        draft: approval["id"].as_str()?.parse().ok()?,
        approved: approval["approved"].as_bool()?,
        reason: approval["reason"].as_str().map(str::to_owned),
    })
}

fn text_block(text: &str) -> Option<Block> {
    (!text.is_empty()).then(|| Block::Text { text: text.to_owned() })
}

fn block(path: &str, part: &Value) -> Result<Option<Block>, Problem> {
    Ok(match user_part(path, part)? {
        Some(UserPart::Text { text }) => text_block(&text),
        Some(UserPart::Image { media_type, data }) => Some(Block::Image { media_type, data }),
        Some(UserPart::Attachment(attachment)) => Some(Block::Attachment(attachment)),
        Some(UserPart::File { .. }) | None => None,
    })
}

/// Text and images. Parts for the client's own display mean nothing to a model.
fn user_part(path: &str, part: &Value) -> Result<Option<UserPart>, Problem> {
    let field = |name: &str| {
        part[name]
            .as_str()
            .ok_or_else(|| Problem::field(format!("{path}.{name}"), "it must be a text"))
    };
    match field("type")? {
        "text" => Ok(Some(UserPart::Text { text: field("text")?.to_owned() })),
        "file" => image(&format!("{path}.url"), field("url")?).map(Some),
        _ => Ok(None),
    }
}
