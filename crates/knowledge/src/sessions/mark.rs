//! How far each conversation is indexed, so that the indexer knows which ones to read again.

use onyx_storage::SessionSequence;
use onyx_types::{PersonId, RunId, Scope, SessionId};
use serde::{Deserialize, Serialize};

/// The run up to which a session was indexed, and as what it was indexed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) run: Option<RunId>,
    pub(super) title: String,
    pub(super) scope: Scope,
    pub(super) chunking: String,
}

impl Mark {
    /// `None` where it cannot be read, as with those of older versions.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn written(&self) -> String {
        // Writing names and numbers cannot fail. If it did, the session would be indexed again.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The change of the ledger up to which all sessions were looked at, and how they were cut.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SessionsMark {
    epoch: u64,
    pub(super) seq: u64,
    pub(super) chunking: String,
}

/// The name of the mark of all sessions.
pub(super) const SEEN: &str = "sessions seen";

impl SessionsMark {
    pub(super) fn new(sequence: SessionSequence, chunking: String) -> Self {
        Self { epoch: sequence.epoch, seq: sequence.last, chunking }
    }

    /// `None` where it belongs to another ledger, or to a later state of this one that is lost.
    pub(super) fn read(text: &str, now: SessionSequence) -> Option<Self> {
        let seen: Self = serde_json::from_str(text).ok()?;
        (seen.epoch == now.epoch && seen.seq <= now.last).then_some(seen)
    }

    pub(super) fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Tells a conversation that is cut by message from one that was cut in another way.
const BY_MESSAGE: &str = "messages 1:";

pub(super) fn by_message(chunking: &str) -> String {
    format!("{BY_MESSAGE}{chunking}")
}

pub(super) fn chunking_of(mark: &str) -> Option<&str> {
    mark.strip_prefix(BY_MESSAGE)
}

pub(super) fn mark_start(person: &PersonId) -> String {
    format!("session:{person}:")
}

pub(super) fn mark_name(person: &PersonId, session: SessionId) -> String {
    format!("{}{session}", mark_start(person))
}

/// Which sessions are companions of which spaces.
pub(super) fn companions_name(person: &PersonId) -> String {
    format!("companions:{person}")
}

pub(super) const SESSIONS: &str = "sessions/";

/// The beginning of the paths of a session's runs.
pub(super) fn prefix(session: SessionId) -> String {
    format!("{SESSIONS}{session}/")
}

/// The path of a session's turns that no run holds.
pub(super) const NO_RUN: &str = "turns";
