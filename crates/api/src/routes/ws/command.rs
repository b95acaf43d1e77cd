//! The commands of a client. Field names are camelCase as documented; snake_case is accepted too.

use onyx_storage::{Delivery, ObjectKey, SessionStatus};
use onyx_types::{
    AgentId, DraftId, ErrorCode, ModelId, RunId, SessionId, TurnId, UserContent, UserPart,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Problem;
use crate::logs::LogLevel;
use crate::routes::logs::LogsQuery;
use crate::routes::memory::MemoryQuery;
use crate::routes::pending_changes::{DraftDecision, PendingChangesQuery};

/// A client's frame as it was received.
#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Option<RequestId>,
    #[serde(default)]
    data: Value,
}

/// Echoed in the answer.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
#[serde(untagged, expecting = "expected a string or a number")]
pub(super) enum RequestId {
    Text(String),
    Number(serde_json::Number),
}

#[derive(Debug)]
pub(super) enum Command {
    Auth(Auth),
    Send(Box<Send>),
    Steer(Steer),
    Abort(Abort),
    Resume(Resume),
    SessionsList(SessionsList),
    SessionsGet(SessionsGet),
    DraftsList(PendingChangesQuery),
    DraftsDecide(DraftsDecide),
    MemorySearch(MemorySearch),
    LogsTail(LogsTail),
    Status,
    Ping,
}

#[derive(Debug, Deserialize)]
pub(super) struct Auth {
    pub(super) token: Option<onyx_identity::Token>,
    /// Sent in addition to the cookie of the upgrade.
    #[serde(rename = "pageKey", alias = "page_key")]
    pub(super) page_key: Option<onyx_identity::Token>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Send {
    message: Option<MessageContent>,
    pub(super) agent: Option<AgentId>,
    #[serde(alias = "session_id")]
    pub(super) session_id: Option<SessionId>,
    pub(super) model: Option<ModelId>,
    /// Replaces that turn with this message, in a fork of the session.
    pub(super) edit: Option<TurnId>,
    /// Another answer to the message of that turn, in a fork of the session.
    pub(super) regenerate: Option<TurnId>,
    /// Answer a stored message again after its run failed.
    pub(super) retry: Option<TurnId>,
    /// Answers a message that waits because no run has read it.
    pub(super) queued: Option<TurnId>,
    /// Without a session: begins a chat that is not listed, indexed or remembered, and that is
    /// deleted a day after its last use.
    #[serde(default)]
    pub(super) temporary: bool,
    /// What to do while the session is busy.
    #[serde(default)]
    pub(super) delivery: WireDelivery,
    /// Messages with the same key are the same message: it is sent once.
    pub(super) key: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireDelivery {
    #[default]
    Steer,
    FollowUp,
}

impl From<WireDelivery> for Delivery {
    fn from(delivery: WireDelivery) -> Self {
        match delivery {
            WireDelivery::Steer => Self::Steer,
            WireDelivery::FollowUp => Self::FollowUp,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected text or a list of parts")]
enum MessageContent {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text {
        text: String,
    },
    Image {
        #[serde(rename = "mediaType", alias = "media_type")]
        media_type: String,
        data: String,
    },
    File {
        name: String,
        #[serde(rename = "mediaType", alias = "media_type")]
        media_type: String,
        key: VaultFile,
    },
}

/// The path of a file of the vault, from the person's folder.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct VaultFile(String);

impl TryFrom<String> for VaultFile {
    type Error = &'static str;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        let key: Option<ObjectKey> = path.parse().ok();
        let in_vault = key.is_some_and(|key| !key.is_hidden()) && path.starts_with("vault/");
        in_vault.then_some(Self(path)).ok_or("expected the path of a file in vault/")
    }
}

impl MessageContent {
    fn content(self) -> UserContent {
        match self {
            Self::Text(text) => UserContent::Text(text),
            Self::Parts(parts) => UserContent::Parts(
                parts
                    .into_iter()
                    .map(|part| match part {
                        Part::Text { text } => UserPart::Text { text },
                        Part::Image { media_type, data } => UserPart::Image { media_type, data },
                        Part::File { name, media_type, key: VaultFile(key) } => {
                            UserPart::File { name, media_type, key }
                        }
                    })
                    .collect(),
            ),
        }
    }
}

impl Send {
    pub(super) fn take_message(&mut self) -> Result<UserContent, Problem> {
        self.message
            .take()
            .map(MessageContent::content)
            .ok_or_else(|| Problem::field("data.message", "missing"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Steer {
    #[serde(alias = "session_id")]
    pub(super) session_id: SessionId,
    message: MessageContent,
}

impl Steer {
    pub(super) fn content(self) -> UserContent {
        self.message.content()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Abort {
    #[serde(alias = "session_id")]
    pub(super) session_id: Option<SessionId>,
    #[serde(alias = "run_id")]
    pub(super) run_id: Option<RunId>,
    /// Stops only this one of several agents of the run.
    pub(super) agent: Option<AgentId>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resume {
    #[serde(alias = "run_id")]
    pub(super) run_id: RunId,
    #[serde(default)]
    pub(super) after: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionsList {
    pub(super) agent: Option<AgentId>,
    pub(super) status: Option<SessionStatus>,
    pub(super) q: Option<String>,
    pub(super) before: Option<SessionId>,
    pub(super) limit: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionsGet {
    #[serde(alias = "session_id")]
    pub(super) session_id: SessionId,
    pub(super) before: Option<u64>,
    pub(super) limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DraftsDecide {
    #[serde(rename = "draftId", alias = "draft_id")]
    pub(super) draft_id: DraftId,
    pub(super) decision: Decision,
    #[serde(flatten)]
    pub(super) details: DraftDecision,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    #[serde(alias = "approved")]
    Approve,
    #[serde(alias = "rejected")]
    Reject,
}

#[derive(Debug, Deserialize)]
pub(super) struct MemorySearch {
    #[serde(alias = "q")]
    pub(super) query: String,
    pub(super) agent: Option<AgentId>,
    pub(super) scope: Option<String>,
    pub(super) limit: Option<u32>,
}

impl From<MemorySearch> for MemoryQuery {
    fn from(MemorySearch { query, agent, scope, limit }: MemorySearch) -> Self {
        Self { q: query, agent, scope, limit }
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct LogsTail {
    level: Option<LogLevel>,
    q: Option<String>,
    after: Option<u64>,
    limit: Option<usize>,
    /// `false`: only existing lines. Ends a current following.
    pub(super) follow: Option<bool>,
}

impl From<LogsTail> for LogsQuery {
    fn from(LogsTail { level, q, after, limit, follow: _ }: LogsTail) -> Self {
        Self { level, q, after, limit }
    }
}

impl Frame {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let mut reader = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            match path.as_str() {
                "." => Problem::new(
                    ErrorCode::InvalidRequest,
                    format!("the frame: {}", error.into_inner()),
                ),
                _ => Problem::field(path, error.into_inner()),
            }
        })
    }

    pub(super) fn command(self) -> Result<Command, Problem> {
        Ok(match self.kind.as_str() {
            "auth" => Command::Auth(fields(self.data)?),
            "chat.send" => Command::Send(Box::new(fields(self.data)?)),
            "chat.steer" => Command::Steer(fields(self.data)?),
            "chat.abort" => Command::Abort(fields(self.data)?),
            "chat.resume" => Command::Resume(fields(self.data)?),
            "sessions.list" => Command::SessionsList(fields_or_default(self.data)?),
            "sessions.get" => Command::SessionsGet(fields(self.data)?),
            "drafts.list" => Command::DraftsList(fields_or_default(self.data)?),
            "drafts.decide" => Command::DraftsDecide(fields(self.data)?),
            "memory.search" => Command::MemorySearch(fields(self.data)?),
            "logs.tail" => Command::LogsTail(fields_or_default(self.data)?),
            "status.get" => Command::Status,
            "ping" => Command::Ping,
            other => {
                return Err(Problem::field("type", format!("there is no frame type {other:?}")));
            }
        })
    }
}

fn fields_or_default<T: DeserializeOwned + Default>(data: Value) -> Result<T, Problem> {
    if data.is_null() { Ok(T::default()) } else { fields(data) }
}

fn fields<T: DeserializeOwned>(data: Value) -> Result<T, Problem> {
    if !data.is_object() {
        return Err(Problem::field("data", "expected an object"));
    }
    serde_path_to_error::deserialize(data).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "data".to_owned() } else { format!("data.{path}") };
        Problem::field(place, error.into_inner())
    })
}
