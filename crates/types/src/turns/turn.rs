use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ActionRun, AgentId, Attachment, Author, CallReport, ContextMark, DraftId, Fault, LaneId,
    Origin, RunId, Timestamp, ToolUseId, TurnId, Usage,
};

/// One record of a session's log. Data that a newer Onyx added survives being read and written by
/// an older one: unknown fields in `extra`, unknown types in `TurnBody::Unknown`.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub id: TurnId,
    pub ts: Timestamp,
    pub run: Option<RunId>,
    pub lane: LaneId,
    pub author: Author,
    pub origin: Origin,
    pub body: TurnBody,
    pub extra: Map<String, Value>,
}

impl Turn {
    /// The field of a run's end that names the lanes which a person stopped while others continued.
    pub const CANCELLED_LANES: &str = "cancelled_lanes";

    /// The lanes that a person stopped while others continued, for a run's end.
    pub fn cancelled_lanes(&self) -> Vec<LaneId> {
        let lanes = self.extra.get(Self::CANCELLED_LANES).and_then(Value::as_array);
        let lanes = lanes.into_iter().flatten().filter_map(Value::as_u64);
        lanes.filter_map(|lane| u16::try_from(lane).ok()).map(LaneId).collect()
    }
}

/// The content of a turn. It is serialised as the type's own fields, with the type's name beside
/// them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TurnBody {
    User(UserTurn),
    Reasoning(ReasoningTurn),
    AssistantText(AssistantText),
    ToolCall(ToolCallTurn),
    ToolResult(ToolResultTurn),
    Decision(Decision),
    RunStart(RunStart),
    RunEnd(RunEnd),
    Summary(Summary),
    Feedback(Feedback),
    Unknown(UnknownTurn),
}

/// A turn of a type that this version does not know, kept unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownTurn {
    pub kind: String,
    pub fields: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserTurn {
    pub content: UserContent,
    /// The view that the person was looking at. It is only recorded and never replayed into later
    /// prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// The untrusted block exactly as it was sent. It is replayed with the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The pieces in `context` and their positions; empty in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<ContextMark>,
    /// The sender's own id of the message: a message that arrives twice under one id counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Whether the message was withdrawn before it was answered. People see it, but it is in no
    /// prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

impl From<UserContent> for UserTurn {
    fn from(content: UserContent) -> Self {
        let (view, context, client_id) = (None, None, None);
        Self { content, view, context, pieces: Vec::new(), client_id, withdrawn: false }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserContent {
    Text(String),
    Parts(Vec<UserPart>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UserPart {
    Text {
        text: String,
    },
    Image {
        media_type: String,
        /// The bytes in Base64.
        data: String,
    },
    /// An attachment that a client sent: a document, or an image by its address.
    Attachment(Attachment),
    File {
        name: String,
        media_type: String,
        /// The storage key of the bytes.
        key: String,
    },
}

impl UserContent {
    /// The words of the message, without images and files.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .filter_map(|part| match part {
                    UserPart::Text { text } => Some(text.as_str()),
                    UserPart::Image { .. } | UserPart::File { .. } | UserPart::Attachment(_) => {
                        None
                    }
                })
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }

    /// The size that counts towards a prompt.
    pub fn byte_len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Parts(parts) => parts
                .iter()
                .map(|part| match part {
                    UserPart::Text { text } => text.len(),
                    UserPart::Image { data, .. } => data.len(),
                    UserPart::Attachment(attachment) => attachment.byte_len(),
                    UserPart::File { key, .. } => key.len(),
                })
                .sum(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub entity_type: String,
    pub entity_id: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasoningTurn {
    /// The model that produced it, `<provider>/<model>`. No other model may see it.
    pub model: String,
    pub data: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantText {
    pub content: String,
    pub status: TextStatus,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextStatus {
    Complete,
    Cancelled,
    Error,
    Interrupted,
}

impl TextStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallTurn {
    pub tool_use_id: ToolUseId,
    pub tool_name: String,
    pub input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResultTurn {
    pub tool_use_id: ToolUseId,
    pub output: String,
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_id: Option<DraftId>,
    pub duration_ms: u64,
    /// The result of the call, for people; absent in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CallReport>,
}

impl ToolResultTurn {
    /// The result of the call, as far as the log holds it.
    pub fn known_report(&self) -> CallReport {
        let from_before = || CallReport::from_before(self.is_error, self.draft_id.is_some());
        self.report.clone().unwrap_or_else(from_before)
    }
}

/// A person's decision on a draft of this session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub draft_id: DraftId,
    pub state: DraftState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DraftState {
    Pending,
    Applying,
    Applied,
    Failed,
    Stale,
    Unknown,
    Rejected,
    Superseded,
    Expired,
}

impl DraftState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Applying => "applying",
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
            Self::Rejected => "rejected",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
        }
    }

    /// A person can still decide.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::Stale => true,
            Self::Applying
            | Self::Applied
            | Self::Failed
            | Self::Unknown
            | Self::Rejected
            | Self::Superseded
            | Self::Expired => false,
        }
    }

    /// Whether a person has decided and the result is final.
    pub const fn is_decided(self) -> bool {
        match self {
            Self::Applied | Self::Failed | Self::Unknown | Self::Rejected => true,
            Self::Pending | Self::Applying | Self::Stale | Self::Superseded | Self::Expired => {
                false
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionRun>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    pub status: RunStatus,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Done,
    Cancelled,
    Error,
    Interrupted,
    AwaitingClient,
}

impl RunStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::AwaitingClient => "awaiting_client",
        }
    }

    /// Whether the same input may be run again.
    pub const fn may_run_again(self) -> bool {
        match self {
            Self::Cancelled | Self::Error | Self::Interrupted => true,
            Self::Done | Self::AwaitingClient => false,
        }
    }
}

/// A person's feedback on an answer. Only the newest one about an answer counts, and no prompt ever
/// contains feedback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Feedback {
    /// A turn of the answer, in the same log.
    pub about: TurnId,
    /// The rating; if it is absent, the earlier rating is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rating {
    Good,
    Bad,
}

/// A summary that replaces older turns in the prompt. The turns stay in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub content: String,
    pub replaces: TurnRange,
    /// Skills that were opened in the older turns and still apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<OpenedSkill>,
}

/// The result of a call of `skill`: instructions, or a file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedSkill {
    /// The name of the skill, or the names of the skill and the file.
    pub name: String,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRange {
    pub first: TurnId,
    pub last: TurnId,
}

/// How several agents answer one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LaneOrder {
    /// One after the other; each agent sees the earlier answers.
    #[default]
    Sequential,
    Parallel,
}

impl LaneOrder {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Parallel => "parallel",
        }
    }
}

/// Where a session was begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionOrigin {
    #[default]
    Chat,
    Companion,
    Thread,
    AgentEditor,
    Connector,
    Job,
    Api,
    /// A chat that is not listed, not indexed, and deleted a day after its last use.
    Temporary,
}

impl SessionOrigin {
    /// Whether sessions of this origin are passing: in no list and no index, and deleted a day
    /// after their last use.
    pub const fn is_passing(self) -> bool {
        match self {
            Self::Api | Self::Temporary => true,
            Self::Chat
            | Self::Companion
            | Self::Thread
            | Self::AgentEditor
            | Self::Connector
            | Self::Job => false,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Companion => "companion",
            Self::Thread => "thread",
            Self::AgentEditor => "agent_editor",
            Self::Connector => "connector",
            Self::Job => "job",
            Self::Api => "api",
            Self::Temporary => "temporary",
        }
    }
}
