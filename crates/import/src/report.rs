//! The result of an import, for people and programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::{ImportTarget, Item, Note, NoteKind, SettingPlace};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// Whether this was a dry run, in which nothing was written.
    pub dry_run: bool,
    pub counts: BTreeMap<Kind, Counts>,
    pub entries: Vec<Entry>,
    /// Items of the other program that Onyx did not take, with the reason.
    pub left_out: Vec<Remark>,
    /// Items that have another name in Onyx.
    pub renamed: Vec<Remark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ImportRemark")]
pub struct Remark {
    pub what: String,
    pub why: String,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ImportKind")]
pub enum Kind {
    Agent,
    Provider,
    Connector,
    McpServer,
    Persona,
    Memory,
    File,
    Skill,
    Job,
    Session,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agents",
            Self::Provider => "providers",
            Self::Connector => "connectors",
            Self::McpServer => "MCP servers",
            Self::Persona => "agent files",
            Self::Memory => "memory files",
            Self::File => "files",
            Self::Skill => "skills",
            Self::Job => "jobs",
            Self::Session => "sessions",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ImportCounts")]
pub struct Counts {
    pub new: u64,
    /// A part of the item existed; the rest was added.
    pub added: u64,
    pub already_there: u64,
    /// Another item exists in its place, and was not changed.
    pub kept: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ImportEntry")]
pub struct Entry {
    pub kind: Kind,
    pub name: String,
    pub outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result for one item; in a dry run, the result that it would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ImportOutcome")]
pub enum Outcome {
    New,
    Added,
    AlreadyThere,
    /// Another item exists in its place, and was not changed.
    Kept,
}

impl ImportReport {
    pub fn add(&mut self, kind: Kind, name: String, outcome: Outcome, why: Option<String>) {
        let counts = self.counts.entry(kind).or_default();
        match outcome {
            Outcome::New => counts.new += 1,
            Outcome::Added => counts.added += 1,
            Outcome::AlreadyThere => counts.already_there += 1,
            Outcome::Kept => counts.kept += 1,
        }
        self.entries.push(Entry { kind, name, outcome, why });
    }

    pub fn note(&mut self, note: Note) {
        let remark = Remark { what: note.what, why: note.why };
        match note.note {
            NoteKind::LeftOut => self.left_out.push(remark),
            NoteKind::Renamed => self.renamed.push(remark),
        }
    }

    /// Whether anything changed.
    pub fn has_changes(&self) -> bool {
        self.counts.values().any(|counts| counts.new + counts.added > 0)
    }
}

impl Item {
    /// The kind and name in reports; `None` for a note.
    pub fn described(&self) -> Option<(Kind, String)> {
        Some(match self {
            Self::Agent(agent) => (Kind::Agent, agent.id.to_string()),
            Self::Setting(setting) => match &setting.place {
                SettingPlace::Provider { name } => (Kind::Provider, name.clone()),
                SettingPlace::McpServer { name } => (Kind::McpServer, name.clone()),
                SettingPlace::Connector { network, account } => {
                    (Kind::Connector, format!("{network}/{account}"))
                }
            },
            Self::File(file) => match &file.place {
                ImportTarget::Persona { agent } => {
                    (Kind::Persona, format!("{agent}/{}", file.path))
                }
                ImportTarget::Memory { agent } => (Kind::Memory, format!("{agent}/{}", file.path)),
                ImportTarget::User => (Kind::Memory, file.path.clone()),
                ImportTarget::Vault => (Kind::File, file.path.clone()),
            },
            Self::Skill(skill) => (Kind::Skill, skill.name.clone()),
            Self::Job(job) => (Kind::Job, job.id.clone()),
            Self::Session(session) => {
                (Kind::Session, session.title.clone().unwrap_or_else(|| session.key.clone()))
            }
            Self::Note(_) => return None,
        })
    }
}
