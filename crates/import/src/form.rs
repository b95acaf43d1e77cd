//! The imported items in Onyx's own form. The command line also sends them to the server in this
//! form, one item a line.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onyx_types::{AgentId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Everything that was read from one foreign home or export.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Import {
    pub items: Vec<Item>,
}

/// One thing to import.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    Agent(ImportedAgent),
    Setting(ImportedSetting),
    File(ImportedFile),
    Skill(ImportedSkill),
    Job(ImportedJob),
    Session(ImportedSession),
    /// A note about something that was left out or renamed while reading; it imports nothing.
    Note(Note),
}

/// An agent in the form of `onyx.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedAgent {
    pub id: AgentId,
    pub settings: Map<String, Value>,
}

/// A part of the config that is not an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedSetting {
    pub place: SettingPlace,
    pub settings: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "section", rename_all = "snake_case")]
pub enum SettingPlace {
    Provider { name: String },
    Connector { network: String, account: String },
    McpServer { name: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedFile {
    pub place: ImportTarget,
    /// The path within its place.
    pub path: String,
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub content: Vec<u8>,
}

/// Where a file goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum ImportTarget {
    /// One of the files that define an agent.
    Persona {
        agent: AgentId,
    },
    /// A file of an agent's memory.
    Memory {
        agent: AgentId,
    },
    /// The person's `USER.md`.
    User,
    Vault,
}

/// A folder with a `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedSkill {
    pub name: String,
    /// The files of the skill; their paths are relative to its folder.
    pub files: Vec<SkillFile>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillFile {
    pub path: String,
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub content: Vec<u8>,
}

/// A job file of the vault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedJob {
    /// The name of the job's file, without `.md`.
    pub id: String,
    /// The front matter, in the form of job files.
    pub fields: Map<String, Value>,
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedSession {
    /// Identifies the session within its program: two items with one key are the same session.
    pub key: String,
    /// The agent of the session; `None` is the home's default agent.
    pub agent: Option<AgentId>,
    pub title: Option<String>,
    pub archived: bool,
    pub created_at: Timestamp,
    pub messages: Vec<ImportedMessage>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedMessage {
    pub at: Timestamp,
    #[serde(flatten)]
    pub said: ImportedPart,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum ImportedPart {
    Person { text: String },
    Model { text: String, model: String },
    Call { id: String, tool: String, input: Value },
    Result { id: String, output: String, is_error: bool },
}

/// Something that differs from the original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub note: NoteKind,
    pub what: String,
    /// Why the item was left out, or what its new name is.
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    LeftOut,
    Renamed,
}

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}
