use async_trait::async_trait;
use onyx_types::{Hash, PersonId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{AuditEntry, StoreError};

/// What a person accepts by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptanceKind {
    /// A skill, by its path in the vault.
    Skill,
    /// A tool of another program, by its name.
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
    /// The hash of everything that was accepted.
    pub hash: Hash,
    /// The text that was looked at, to show what has changed since.
    pub content: String,
    pub accepted_at: Timestamp,
}

/// What people have accepted. Each change is one transaction with its audit row.
#[async_trait]
pub trait Acceptances: Send + Sync {
    /// Lists what was accepted, by name.
    async fn accepted(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
    ) -> Result<Vec<Acceptance>, StoreError>;

    /// Replaces what was accepted under these names before.
    async fn accept(&self, rows: Vec<Acceptance>, audit: AuditEntry) -> Result<(), StoreError>;

    /// Does nothing for names that were not accepted.
    async fn withdraw(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
        names: Vec<String>,
        audit: AuditEntry,
    ) -> Result<(), StoreError>;
}
