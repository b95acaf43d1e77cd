use std::time::Duration;

use async_trait::async_trait;
use onyx_types::Hash;

use crate::StoreError;

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PendingKind {
    /// A one-time link that signs a person in.
    Link,
    /// A device that asks to be let in.
    Pairing,
    /// A sign-in at a provider or a service that waits for its person.
    SignIn,
    /// A sign-in at an MCP server that waits for its browser.
    McpSignIn,
    /// What a person agreed to, until the program picks it up.
    Grant,
}

impl PendingKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Pairing => "pairing",
            Self::SignIn => "sign-in",
            Self::McpSignIn => "mcp-sign-in",
            Self::Grant => "grant",
        }
    }
}

/// An entry that waits, and how long it still does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEntry {
    pub key: Hash,
    pub value: String,
    pub left: Duration,
}

/// Entries that wait for a short time until they are taken, once. A single process keeps them in memory; gateways share
/// them, so that what is begun at one is finished at another.
#[async_trait]
pub trait PendingEntries: Send + Sync {
    /// Replaces an entry with the same key. Where there would be more than `most` of the kind, the
    /// oldest go.
    async fn put(
        &self,
        kind: PendingKind,
        entry: PendingEntry,
        most: usize,
    ) -> Result<(), StoreError>;

    async fn get(&self, kind: PendingKind, key: Hash) -> Result<Option<PendingEntry>, StoreError>;

    /// The oldest first.
    async fn list(&self, kind: PendingKind) -> Result<Vec<PendingEntry>, StoreError>;

    /// Writes another value where the entry still holds this one. `false`: it does not, or is gone.
    async fn replace(
        &self,
        kind: PendingKind,
        before: &PendingEntry,
        value: String,
    ) -> Result<bool, StoreError>;

    /// Removes the entry. If several callers try, only one of them gets its value.
    async fn take(&self, kind: PendingKind, key: Hash) -> Result<Option<String>, StoreError>;
}
