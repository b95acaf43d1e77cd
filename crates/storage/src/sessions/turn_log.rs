use async_trait::async_trait;
use onyx_types::{AgentId, LaneId, PersonId, SessionKey, Turn, TurnId};
use serde::{Deserialize, Serialize};

use crate::{Lease, StoreError};

/// A place in a log: everything before it is durable. Opaque to callers, ordered within one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pos(pub u64);

/// Some consecutive turns of a log, oldest first.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Page {
    pub turns: Vec<Turn>,
    /// Where the page starts: give it as `before` to get the page before this one.
    pub start: Pos,
    /// Are there turns before this page?
    pub has_older: bool,
    /// What could not be read within this page, or was changed by another program.
    pub damage: Vec<Damage>,
}

/// The state in which a log was left; a different state means that it was written to since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    pub len: u64,
    /// Differs where the length may not: a file's time in nanoseconds, or the fence that a database gave.
    pub stamp: i128,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Byte offset of the line in the log.
    pub at: Pos,
    pub kind: DamageKind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The last line was cut off by a crash; it was never acknowledged. Kept aside.
    TornTail,
    /// A line in the middle is not a turn. Kept aside, left out of the page.
    Unreadable,
    /// The line reads as a turn but is not what was written (its checksum differs). Kept in.
    Altered,
}

/// A piece of text that is still being said, by the turn it will be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveText {
    pub turn: TurnId,
    pub lane: LaneId,
    pub agent: AgentId,
    pub model: String,
    pub text: String,
}

/// Append-only logs of turns, one per session.
#[async_trait]
pub trait TurnLog: Send + Sync {
    /// All of the batch or none, durable when it returns. O(1) in the log's length. Makes the log
    /// if it does not exist.
    async fn append(&self, lease: &Lease, batch: &[Turn]) -> Result<Pos, StoreError>;

    /// The last `n` turns before a position (or the end), without reading the rest. A session
    /// without a log has an empty page.
    async fn tail(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        n: usize,
    ) -> Result<Page, StoreError>;

    /// Some turns before a position (or the end): as many as this many bytes of the log hold, and
    /// the one that passes them. This serves whoever reads a whole log and keeps little of it.
    async fn tail_within(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        bytes: u64,
    ) -> Result<Page, StoreError>;

    /// The state of the log now, if it is known without waiting for a disk or a server.
    fn state_now(&self, _key: &SessionKey) -> Option<LogState> {
        None
    }

    /// Copies the turns up to and including `through` into the empty log that `to` holds.
    /// `NotFound` when there is no such turn, `Conflict` when the log is not empty.
    async fn copy_through(
        &self,
        from: &SessionKey,
        through: TurnId,
        to: &Lease,
    ) -> Result<Pos, StoreError>;

    /// Notes pieces of text that stream now, so that a crash loses almost none of them. Cheap, and
    /// not durable against a loss of power.
    async fn note_live(&self, lease: &Lease, pieces: &[LiveText]) -> Result<(), StoreError>;

    /// The noted texts, put together.
    async fn live(&self, key: &SessionKey) -> Result<Vec<LiveText>, StoreError>;

    /// The texts are in the log now, or of no more use.
    async fn clear_live(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Deletes the log with what was kept aside. Deleting what is not there is no error.
    async fn delete(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Every session of a person that has a log; for rebuilding metadata.
    async fn sessions(&self, person: &PersonId) -> Result<Vec<SessionKey>, StoreError>;
}
