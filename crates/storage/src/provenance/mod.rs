//! Where contents came from. An origin belongs to content and to what is made of it, not to the last hand that touched a
//! file: a foreign text stays foreign when it is copied, moved, restored or edited by hand, until its person says
//! "I have read this" ([`History::accept`]).
//!
//! [`History::origin`] is the only place to ask; the records behind it are in the ledger ([`Origins`]). What a reader
//! may do with a content of an origin is decided above, by the gate.

mod cut_off;
mod history;
mod import;
mod memory;
mod prints;

use async_trait::async_trait;
use onyx_types::{Hash, Origin, Timestamp};

use crate::StoreError;

pub use cut_off::note_changed;
pub(crate) use cut_off::settle_commands_cut_off;
pub use history::{Change, FileStep, History, Version};
pub(crate) use import::import_histories;
pub use memory::MemoryOrigins;

/// File systems keep times by the tick of their clock, so a change may seem this much older than it is.
pub const TICK_MS: i64 = 20;

/// One content of one file, and what it is to be taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginNote {
    /// The path within the owner's folder.
    pub path: String,
    /// `None`: the file went.
    pub hash: Option<Hash>,
    pub origin: Origin,
    /// The prints of a foreign text; empty for any other.
    pub prints: Vec<u64>,
    /// The file's own name and those of folders that came with it, where its writer chose them.
    pub names: Vec<String>,
}

/// What is written down about a content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentRecord {
    /// The origin of this very content at this path.
    pub here: Option<Origin>,
    /// The origin of the newest other content at this path, unless the file went since.
    pub before: Option<Origin>,
    /// The origin of the same content at another path, and when that was written down.
    pub elsewhere: Option<(Origin, Timestamp)>,
}

/// A command whose changes are not recorded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCommand {
    pub id: i64,
    pub owner: String,
    pub started_at: Timestamp,
}

/// The ledger's part of provenance. `owner` is a folder of the home (`people/anna`, `agents/main`); nothing is ever
/// answered from another owner's rows.
#[async_trait]
pub trait Origins: Send + Sync {
    /// All of it or nothing; durable when it returns.
    async fn note(&self, owner: &str, notes: Vec<OriginNote>) -> Result<(), StoreError>;

    async fn known(&self, owner: &str, path: &str, hash: Hash)
    -> Result<ContentRecord, StoreError>;

    /// Does the owner have any foreign text at all? Asked for every file, so it must cost little.
    async fn has_foreign_text(&self, owner: &str) -> Result<bool, StoreError>;

    /// The worst foreign text, written down by then, of which a text with these prints holds at least half.
    async fn alike(
        &self,
        owner: &str,
        prints: Vec<u64>,
        by: Timestamp,
    ) -> Result<Option<Origin>, StoreError>;

    /// The worst origin of these names; `Person` where only the person gave them.
    async fn named_by(&self, owner: &str, paths: Vec<String>) -> Result<Origin, StoreError>;

    /// From now on, every change in the owner's vault may be the work of a command.
    async fn begin_command(&self, owner: &str) -> Result<OpenCommand, StoreError>;

    /// Ends a command: what it changed is written down.
    async fn end_command(&self, id: i64) -> Result<(), StoreError>;

    /// The open commands of all owners, oldest first.
    async fn open_commands(&self) -> Result<Vec<OpenCommand>, StoreError>;

    /// When the oldest open command of an owner began. Asked for every file, so it must cost little.
    async fn command_since(&self, owner: &str) -> Result<Option<Timestamp>, StoreError>;

    /// Returns another number after every change of what would be answered about this owner.
    async fn version(&self, owner: &str) -> Result<u64, StoreError>;

    /// The versions of several owners in one go, in the order of the questions.
    async fn versions(&self, owners: &[String]) -> Result<Vec<u64>, StoreError> {
        let mut versions = Vec::with_capacity(owners.len());
        for owner in owners {
            versions.push(self.version(owner).await?);
        }
        Ok(versions)
    }
}
