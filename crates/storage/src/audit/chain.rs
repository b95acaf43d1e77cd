//! A chain of audit rows for each person. Every row contains the hash of the row before, and the
//! newest row is also stored separately, so that changing, removing or adding a row anywhere is
//! noticed. Both databases keep their chains by these rules.

use std::borrow::Cow;

use onyx_types::{Actor, Hash, RecordedTool, visible_line};

use super::seal::{AuditSeal, SealedHead};
use crate::{AuditEntry, AuditRow, ChainState};

/// The newest row of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
}

impl Head {
    /// The head of a chain without rows.
    pub(crate) const EMPTY: Self = Self { seq: 0, hash: Hash::ZERO };

    /// Makes the row that follows.
    pub(crate) fn next(self, entry: AuditEntry, seal: Option<&AuditSeal>) -> AuditRow {
        let entry = visible_entry(entry);
        let seq = self.seq + 1;
        let hash = hash_of(seq, &entry, self.hash);
        let hash = seal.map_or(hash, |seal| seal.sealed(hash));
        AuditRow { seq, entry, previous: self.hash, hash }
    }
}

/// Makes control characters in a row visible to its reader, because names and words in it may come
/// from a model.
fn visible_entry(mut entry: AuditEntry) -> AuditEntry {
    if let Actor::Unknown { kind, name } = &mut entry.actor {
        make_visible(kind);
        make_visible(name);
    }
    if let Some(RecordedTool::Invalid(text)) = &mut entry.tool {
        make_visible(text);
    }
    make_visible(&mut entry.diff_summary);
    make_visible(&mut entry.result);
    entry
}

fn make_visible(text: &mut String) {
    let shown = match visible_line(text) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => return,
    };
    *text = shown;
}

/// How far a chain was checked.
pub(crate) struct ChainCheck<'a> {
    seal: Option<&'a AuditSeal>,
    /// The last row of the chain according to the seal file outside the home.
    sealed: Option<SealedHead>,
    last: Head,
    /// The number of the first row that the key protects.
    first: Option<u64>,
}

impl<'a> ChainCheck<'a> {
    /// Begins at the start of a chain. `sealed` must be read before the rows are, so that every row
    /// it covers is among them.
    pub(crate) fn new(seal: Option<&'a AuditSeal>, sealed: Option<SealedHead>) -> Self {
        Self { seal, sealed, last: Head::EMPTY, first: None }
    }

    /// The result if the next row is not accepted.
    pub(crate) fn broken(&self) -> ChainState {
        ChainState::Broken { at: self.last.seq + 1 }
    }

    pub(crate) fn accepts(&mut self, row: &AuditRow, key: Option<&str>) -> bool {
        if row.seq != self.last.seq + 1 || row.previous != self.last.hash {
            return false;
        }
        let plain = hash_of(row.seq, &row.entry, row.previous);
        let of_ours = self.seal.filter(|seal| key == Some(seal.name()));
        let is_hashed_well = match (of_ours, key) {
            (Some(seal), _) => row.hash == seal.sealed(plain),
            (None, None) => row.hash == plain,
            // The hash cannot be checked without the other key, but the row's place in the chain is
            // right.
            (None, Some(_)) => true,
        };
        // Every row after the first one with our key must have our key too; a row without it was
        // altered.
        let must_be_ours = self.first.is_some()
            || self.sealed.as_ref().is_some_and(|sealed| row.seq >= sealed.first);
        let is_where_it_was = self
            .sealed
            .as_ref()
            .is_none_or(|sealed| sealed.seq != row.seq || sealed.hash == row.hash);
        if !is_hashed_well || (must_be_ours && of_ours.is_none()) || !is_where_it_was {
            return false;
        }
        if of_ours.is_some() {
            self.first = self.first.or(Some(row.seq));
        }
        self.last = Head { seq: row.seq, hash: row.hash };
        true
    }

    pub(crate) fn state(&self, head: Head) -> ChainState {
        let rows = self.last.seq;
        if self.sealed.as_ref().is_some_and(|sealed| sealed.seq > rows) {
            return ChainState::Broken { at: rows + 1 };
        }
        if head != self.last {
            return ChainState::Broken { at: head.seq.min(rows + 1) };
        }
        match (self.seal, self.first) {
            (None, _) | (Some(_), Some(1)) => ChainState::Whole { rows },
            (Some(_), None) if rows == 0 => ChainState::Whole { rows },
            (Some(_), first) => ChainState::SealedFrom { rows, first: first.unwrap_or(rows + 1) },
        }
    }
}

/// The hash covers every field. An absent field gives another hash than an empty one.
fn hash_of(seq: u64, entry: &AuditEntry, previous: Hash) -> Hash {
    let (agent, session, run) = (
        entry.agent.as_ref().map(ToString::to_string),
        entry.session.map(|session| session.to_string()),
        entry.run.map(|run| run.to_string()),
    );
    let optional = [
        agent.as_deref(),
        session.as_deref(),
        run.as_deref(),
        entry.tool.as_ref().map(RecordedTool::as_str),
        entry.effect.map(|effect| effect.as_str()),
        entry.decision.map(|decision| decision.as_str()),
    ];
    let numbers = [seq.to_le_bytes(), entry.ts.as_millis().to_le_bytes()];
    let texts = [
        entry.person.as_str(),
        entry.actor.kind(),
        entry.actor.name(),
        &entry.diff_summary,
        &entry.result,
    ];
    let parts = numbers
        .iter()
        .map(<[u8; 8]>::as_slice)
        .chain(texts.iter().map(|text| text.as_bytes()))
        .chain(optional.iter().flat_map(|field| match field {
            Some(text) => [b"1".as_slice(), text.as_bytes()],
            None => [b"0".as_slice(), b"".as_slice()],
        }))
        .chain([previous.as_bytes().as_slice()]);
    Hash::of_parts(parts)
}
