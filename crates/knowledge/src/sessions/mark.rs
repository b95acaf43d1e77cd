//! Stores how far each conversation is indexed, so that the indexer knows which ones to read again.

use onyx_storage::SessionSequence;
use onyx_types::{PersonId, RunId, Scope, SessionId};
use serde::{Deserialize, Serialize};

/// The last indexed run of a session, and the title, scope and chunking with which the session was
/// indexed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) run: Option<RunId>,
    pub(super) title: String,
    pub(super) scope: Scope,
    pub(super) chunking: String,
}

impl Mark {
    /// Parses a mark; `None` if that fails, as with marks of older versions.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn written(&self) -> String {
        // Writing names and numbers cannot fail. If it did, the session would only be indexed
        // again.
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

/// The name of the mark for all sessions.
pub(super) const SEEN: &str = "sessions seen";

impl SessionsMark {
    pub(super) fn new(sequence: SessionSequence, chunking: String) -> Self {
        Self { epoch: sequence.epoch, seq: sequence.last, chunking }
    }

    /// Parses a mark; `None` if it belongs to another ledger, or to a later state of this one that
    /// was lost, or if changes after it were removed.
    pub(super) fn read(text: &str, now: SessionSequence) -> Option<Self> {
        let seen: Self = serde_json::from_str(text).ok()?;
        let is_followed = (now.removed..=now.last).contains(&seen.seq);
        (seen.epoch == now.epoch && is_followed).then_some(seen)
    }

    pub(super) fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The prefix that tells conversations which are cut by message from those that were cut in another
/// way.
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

/// The name of the mark that stores which sessions are companions of which spaces.
pub(super) fn companions_name(person: &PersonId) -> String {
    format!("companions:{person}")
}

pub(super) const SESSIONS: &str = "sessions/";

/// The prefix of the paths of a session's runs.
pub(super) fn prefix(session: SessionId) -> String {
    format!("{SESSIONS}{session}/")
}

/// The path of a session's turns that belong to no run.
pub(super) const NO_RUN: &str = "turns";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_only_where_no_change_after_it_is_missing() {
        let then = SessionSequence { epoch: 7, last: 5, removed: 0 };
        let mark = SessionsMark::new(then, String::new()).written();
        let is_read = |now| SessionsMark::read(&mark, now).is_some();
        assert!(is_read(SessionSequence { last: 9, removed: 5, ..then }));
        assert!(!is_read(SessionSequence { last: 9, removed: 6, ..then }), "6 is missing");
        assert!(!is_read(SessionSequence { last: 4, ..then }), "a later state was lost");
        assert!(!is_read(SessionSequence { epoch: 8, ..then }), "another ledger");
    }
}
