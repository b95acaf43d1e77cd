//! Writes the items that were read into a home, through the stores that everything else uses. Each
//! item is written completely or not at all, and existing items are compared and not changed: an
//! interrupted import continues where it stopped when it is run again. Agents and
//! settings are not written here, because only the binary edits the config.

mod files;
mod sessions;
mod turns;

use onyx_storage::Store;
use onyx_types::{AgentId, Clock, Fault, PersonId};

use crate::form::Item;
use crate::report::Outcome;
use crate::source::Source;

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Write,
    /// Compares everything and changes nothing.
    DryRun,
}

/// Writes imported items into one person's part of a home.
pub struct Writer<'a> {
    pub store: &'a Store,
    pub clock: &'a dyn Clock,
    pub person: PersonId,
    /// The agent of sessions that name none.
    pub default_agent: AgentId,
    pub source: Source,
    pub mode: Mode,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("source", &self.source).finish_non_exhaustive()
    }
}

/// The result for one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemOutcome {
    pub outcome: Outcome,
    pub why: Option<String>,
}

impl ItemOutcome {
    fn kept(why: &str) -> Self {
        Self { outcome: Outcome::Kept, why: Some(why.to_owned()) }
    }
}

impl From<Outcome> for ItemOutcome {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, why: None }
    }
}

impl Writer<'_> {
    /// Writes an item; `None` for agents, settings and notes, which are not written here.
    pub async fn write(&self, item: &Item) -> Result<Option<ItemOutcome>, Fault> {
        Ok(Some(match item {
            Item::File(file) => self.file(file).await?,
            Item::Skill(skill) => self.skill(skill).await?,
            Item::Job(job) => self.job(job).await?,
            Item::Session(session) => self.session(session).await?,
            Item::Agent(_) | Item::Setting(_) | Item::Note(_) => return Ok(None),
        }))
    }
}
