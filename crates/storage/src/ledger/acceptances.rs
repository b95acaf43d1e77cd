use async_trait::async_trait;
use onyx_types::{Hash, PersonId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{AuditEntry, StoreError};

/// The kinds of things that a person accepts by their hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptanceKind {
    /// A skill, named by its path in the vault.
    Skill,
    /// A tool of another program, named by the tool's name.
    McpTool,
}

impl AcceptanceKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::McpTool => "mcp_tool",
        }
    }
}

/// Something that a person looked at and agreed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    pub person: PersonId,
    pub kind: AcceptanceKind,
    pub name: String,
    /// The hash of everything that the person accepted.
    pub hash: Hash,
    /// The text that the person looked at. It is kept to show what has changed since.
    pub content: String,
    pub accepted_at: Timestamp,
}

/// What people have accepted. Each change is one transaction with its audit row.
#[async_trait]
pub trait Acceptances: Send + Sync {
    /// Lists what a person accepted of one kind, ordered by name.
    async fn accepted(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
    ) -> Result<Vec<Acceptance>, StoreError>;

    /// Stores the rows. Each replaces what was accepted under its name before.
    async fn accept(&self, rows: Vec<Acceptance>, audit: AuditEntry) -> Result<(), StoreError>;

    /// Removes acceptances by name. Names that were not accepted are ignored.
    async fn withdraw(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
        names: Vec<String>,
        audit: AuditEntry,
    ) -> Result<(), StoreError>;
}
