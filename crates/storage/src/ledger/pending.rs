use std::time::Duration;

use async_trait::async_trait;
use onyx_types::Hash;

use crate::StoreError;

/// The kinds of pending entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PendingKind {
    /// A one-time link that signs a person in.
    Link,
    /// A device that asks to be let in.
    Pairing,
    /// A sign-in at a provider or a service that waits for its person to finish it.
    SignIn,
    /// A sign-in at an MCP server that waits for the person's browser.
    McpSignIn,
    /// What a person agreed to, kept until the program that asked picks it up.
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

/// An entry that waits, and the time that it has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEntry {
    pub key: Hash,
    pub value: String,
    pub left: Duration,
}

/// Entries that wait for a short time until they are taken, which happens once. A single process
/// keeps them in memory. Several gateways share them, so that what begins at one gateway can be
/// finished at another.
#[async_trait]
pub trait PendingEntries: Send + Sync {
    /// Adds an entry, or replaces one with the same key. If there would be more than `most` entries
    /// of the kind, the oldest are removed.
    async fn put(
        &self,
        kind: PendingKind,
        entry: PendingEntry,
        most: usize,
    ) -> Result<(), StoreError>;

    async fn get(&self, kind: PendingKind, key: Hash) -> Result<Option<PendingEntry>, StoreError>;

    /// Lists the entries of a kind, oldest first.
    async fn list(&self, kind: PendingKind) -> Result<Vec<PendingEntry>, StoreError>;

    /// Writes another value if the entry still holds the value in `before`. `false`: it holds
    /// another, or is gone.
    async fn replace(
        &self,
        kind: PendingKind,
        before: &PendingEntry,
        value: String,
    ) -> Result<bool, StoreError>;

    /// Removes the entry and returns its value. If several callers try, only one of them gets it.
    async fn take(&self, kind: PendingKind, key: Hash) -> Result<Option<String>, StoreError>;
}
