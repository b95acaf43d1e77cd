//! Where contents came from. An origin belongs to content and to what is made of it, not to the
//! last hand that touched a file: a foreign text stays foreign when it is copied, moved, restored
//! or edited by hand, until its person says "I have read this" ([`History::accept`]).
//!
//! [`History::origin`] is the only place that answers where a content came from; the records behind
//! it are in the ledger ([`Origins`]). What a reader may do with a content of some origin is
//! decided elsewhere, by the gate.

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

/// File systems round times down to the tick of their clock, so a change may seem older than it is
/// by this much.
pub const TICK_MS: i64 = 20;

/// A note about one content of one file: its origin, its prints, and names that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginNote {
    /// The path within the owner's folder.
    pub path: String,
    /// The hash of the content; `None`: the file was removed.
    pub hash: Option<Hash>,
    pub origin: Origin,
    /// The prints of a foreign text; empty for any other text.
    pub prints: Vec<u64>,
    /// The names that the content's writer chose: the file's own, and those of folders that came
    /// with it.
    pub names: Vec<String>,
}

/// What is recorded about a content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentRecord {
    /// The origin of exactly this content at this path.
    pub here: Option<Origin>,
    /// The origin of the newest other content at this path, unless the file was removed since.
    pub before: Option<Origin>,
    /// The origin of the same content at another path, and when that was recorded.
    pub elsewhere: Option<(Origin, Timestamp)>,
}

/// A command whose changes are not recorded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCommand {
    pub id: i64,
    pub owner: String,
    pub started_at: Timestamp,
}

/// The records of origins in the ledger. `owner` is a folder of the home (`people/anna`,
/// `agents/main`); an answer never uses the rows of another owner.
#[async_trait]
pub trait Origins: Send + Sync {
    /// Records all of the notes or none. They are durable when this returns.
    async fn note(&self, owner: &str, notes: Vec<OriginNote>) -> Result<(), StoreError>;

    async fn known(&self, owner: &str, path: &str, hash: Hash)
    -> Result<ContentRecord, StoreError>;

    /// Whether the owner has any foreign text at all. This is asked for every file, so it must cost
    /// little.
    async fn has_foreign_text(&self, owner: &str) -> Result<bool, StoreError>;

    /// The worst origin among foreign texts that were recorded by a time and of whose prints at
    /// least half are among these prints.
    async fn alike(
        &self,
        owner: &str,
        prints: Vec<u64>,
        by: Timestamp,
    ) -> Result<Option<Origin>, StoreError>;

    /// The worst origin of these names; `Person` where only the person chose them.
    async fn named_by(&self, owner: &str, paths: Vec<String>) -> Result<Origin, StoreError>;

    /// Records that a command begins. From then on, every change in the owner's vault may be the
    /// command's.
    async fn begin_command(&self, owner: &str) -> Result<OpenCommand, StoreError>;

    /// Ends a command, once the changes that it made are recorded.
    async fn end_command(&self, id: i64) -> Result<(), StoreError>;

    /// Lists the open commands of all owners, oldest first.
    async fn open_commands(&self) -> Result<Vec<OpenCommand>, StoreError>;

    /// When the oldest open command of an owner began. This is asked for every file, so it must
    /// cost little.
    async fn command_since(&self, owner: &str) -> Result<Option<Timestamp>, StoreError>;

    /// A number that differs after every change that could alter an answer about this owner.
    async fn version(&self, owner: &str) -> Result<u64, StoreError>;

    /// The versions of several owners, asked for together, in the order of the owners.
    async fn versions(&self, owners: &[String]) -> Result<Vec<u64>, StoreError> {
        let mut versions = Vec::with_capacity(owners.len());
        for owner in owners {
            versions.push(self.version(owner).await?);
        }
        Ok(versions)
    }
}
