use async_trait::async_trait;
use onyx_types::{AgentId, LaneId, PersonId, SessionKey, Turn, TurnId};
use serde::{Deserialize, Serialize};

use crate::{Lease, StoreError};

/// A position in a log. Positions are opaque to callers and ordered within one log; everything
/// before a returned position is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pos(pub u64);

/// Some consecutive turns of a log, oldest first.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Page {
    pub turns: Vec<Turn>,
    /// Where the page starts. Passing it as `before` gets the page before this one.
    pub start: Pos,
    /// Whether there are turns before this page.
    pub has_older: bool,
    /// The lines within this page that could not be read, or were changed by another program.
    pub damage: Vec<Damage>,
}

/// The state in which a log was left. If the state differs later, the log was written to meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    pub len: u64,
    /// A value that differs even where the length does not: a file's time in nanoseconds, or the
    /// fence that a database assigned.
    pub stamp: i128,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The byte offset of the line in the log.
    pub at: Pos,
    pub kind: DamageKind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The last line was cut off by a crash, so it was never acknowledged. Its bytes are kept in
    /// another file.
    TornTail,
    /// A line in the middle is not a turn. It is copied to another file and left out of the page.
    Unreadable,
    /// The line reads as a turn but its checksum does not match, so it is not what was written. The
    /// page includes it.
    Altered,
}

/// A piece of text that is still streaming, under the id that its turn will have.
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
    /// Appends all of the turns or none; they are durable when this returns. The cost does not
    /// depend on the log's length. The log is created if it does not exist.
    async fn append(&self, lease: &Lease, batch: &[Turn]) -> Result<Pos, StoreError>;

    /// Reads the last `n` turns before a position (or the end) without reading the rest. For a
    /// session without a log, the page is empty.
    async fn tail(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        n: usize,
    ) -> Result<Page, StoreError>;

    /// Reads turns before a position (or the end) until they exceed this many bytes of the log; the
    /// turn that exceeds them is included. This serves callers that read a whole log and keep
    /// little of it.
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

    /// Whether every read asks another machine. Then it is worth more memory to keep what was read.
    fn is_remote(&self) -> bool {
        false
    }

    /// Copies the turns up to and including `through` into the empty log that `to` holds.
    /// `NotFound` when there is no such turn, `Conflict` when the log is not empty.
    async fn copy_through(
        &self,
        from: &SessionKey,
        through: TurnId,
        to: &Lease,
    ) -> Result<Pos, StoreError>;

    /// Notes pieces of text that are streaming, so that a crash loses almost none of them. This is
    /// cheap, and not durable against a loss of power.
    async fn note_live(&self, lease: &Lease, pieces: &[LiveText]) -> Result<(), StoreError>;

    /// Returns the noted texts, with the pieces of each turn joined.
    async fn live(&self, key: &SessionKey) -> Result<Vec<LiveText>, StoreError>;

    /// Removes the notes, because their texts are in the log now or are no longer needed.
    async fn clear_live(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Deletes the log with the files of damaged lines beside it. Deleting a log that does not
    /// exist is no error.
    async fn delete(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Lists every session of a person that has a log, for rebuilding the metadata.
    async fn sessions(&self, person: &PersonId) -> Result<Vec<SessionKey>, StoreError>;
}
