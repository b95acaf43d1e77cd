//! The tables of one person, or of the shared documents: the vectors and the outline of their
//! chunks, each with the change of the chunk table up to which it is current.

use onyx_storage::{Contents, OutlinedChunk, SourceChange, SourceId, StoredVector};
use onyx_types::{PersonId, Zone};

use super::outline::Outline;
use crate::vectors::VectorSet;

/// Whose chunks a pair of tables holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum TablesKey {
    Person(PersonId),
    /// The shared documents, which every search may read.
    Shared,
}

pub(super) struct PersonTables {
    pub(super) epoch: u64,
    pub(super) outline: FollowedOutline,
    /// `None` if no embedder is configured.
    pub(super) vectors: Option<FollowedVectors>,
}

pub(super) struct FollowedVectors {
    pub(super) seq: u64,
    pub(super) model: String,
    pub(super) set: VectorSet,
}

pub(super) struct FollowedOutline {
    pub(super) seq: u64,
    pub(super) outline: Outline,
}

/// The data of one changed source that the tables need.
pub(super) struct Update {
    pub(super) change: SourceChange,
    /// Whose source it is; `None` if nothing is left of it, so that nobody knows any more.
    pub(super) key: Option<TablesKey>,
    pub(super) contents: Option<Contents>,
    /// The time zone of the person to whom the source belongs.
    pub(super) zone: Zone,
    pub(super) vectors: Vec<StoredVector>,
    pub(super) outline: Vec<OutlinedChunk>,
}

impl TablesKey {
    pub(super) fn of(person: Option<&PersonId>) -> Self {
        person.map_or(Self::Shared, |person| Self::Person(person.clone()))
    }

    pub(super) const fn person(&self) -> Option<&PersonId> {
        match self {
            Self::Person(person) => Some(person),
            Self::Shared => None,
        }
    }
}

impl PersonTables {
    /// The change up to which both tables are current.
    pub(super) fn seen(&self) -> u64 {
        let outline = self.outline.seq;
        self.vectors.as_ref().map_or(outline, |vectors| vectors.seq.min(outline))
    }

    /// The approximate number of bytes of memory that the tables take.
    pub(super) fn memory(&self) -> u64 {
        let vectors = self.vectors.as_ref().map_or(0, |vectors| vectors.set.memory());
        (self.outline.outline.memory() + vectors) as u64
    }

    pub(super) fn take(&mut self, update: &Update) {
        let change = &update.change;
        if let Some(vectors) = self.vectors.as_mut().filter(|vectors| vectors.wants(change)) {
            vectors.replace(change.source, &update.vectors);
        }
        if self.outline.wants(change) {
            self.outline.replace(change.source, &update.outline);
        }
    }

    /// Notes that all changes up to this one were taken in.
    pub(super) fn advance(&mut self, seq: u64) {
        self.outline.seq = self.outline.seq.max(seq);
        if let Some(vectors) = &mut self.vectors {
            vectors.seq = vectors.seq.max(seq);
        }
    }
}

impl FollowedOutline {
    /// Whether a change concerns the outline, which depends only on the text of a source and not on
    /// its vectors.
    fn wants(&self, change: &SourceChange) -> bool {
        change.text_seq > self.seq
    }

    fn replace(&mut self, source: SourceId, chunks: &[OutlinedChunk]) {
        self.outline.remove(source);
        chunks.iter().for_each(|chunk| self.outline.add(chunk));
    }
}

impl FollowedVectors {
    fn wants(&self, change: &SourceChange) -> bool {
        change.seq > self.seq
    }

    fn replace(&mut self, source: SourceId, vectors: &[StoredVector]) {
        self.set.remove(source);
        vectors.iter().for_each(|vector| self.set.add(vector));
    }
}
