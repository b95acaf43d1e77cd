//! The tables that a search reads: the text index, the vectors and the outline, each with the
//! change of the chunk table up to which it is current.

use onyx_storage::{Contents, Group, OutlinedChunk, SourceChange, SourceId, StoredVector};
use onyx_types::Zone;

use super::outline::Outline;
use crate::KnowledgeError;
use crate::text::TextIndex;
use crate::vectors::VectorSet;

/// How many uncommitted chunks the text index may hold. No more must be read again after a crash.
const MANY_UNCOMMITTED: usize = 20_000;

#[derive(Default)]
pub(crate) struct SearchTables {
    pub(crate) text: Option<TextIndex>,
    pub(crate) vectors: Option<FollowedVectors>,
    pub(crate) outline: Option<FollowedOutline>,
    pub(crate) groups: Vec<Group>,
    /// The change up to which the text index holds changes that are not committed yet.
    pub(super) uncommitted: Option<u64>,
}

pub(crate) struct FollowedVectors {
    pub(super) epoch: u64,
    pub(super) seq: u64,
    pub(crate) model: String,
    pub(crate) set: VectorSet,
}

pub(crate) struct FollowedOutline {
    pub(super) epoch: u64,
    pub(super) seq: u64,
    pub(crate) outline: Outline,
}

/// The data of one changed source that the tables need.
pub(super) struct Update {
    pub(super) change: SourceChange,
    pub(super) contents: Option<Contents>,
    /// The time zone of the person to whom the source belongs.
    pub(super) zone: Zone,
    pub(super) vectors: Vec<StoredVector>,
    pub(super) outline: Vec<OutlinedChunk>,
}

impl SearchTables {
    /// The change up to which every table is current.
    pub(super) fn seen(&self) -> u64 {
        let text = self.text_seen();
        let vectors = self.vectors.as_ref().map_or(text, |vectors| vectors.seq.min(text));
        self.outline.as_ref().map_or(vectors, |outline| outline.seq.min(vectors))
    }

    pub(super) fn holds_many_uncommitted(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.uncommitted >= MANY_UNCOMMITTED)
    }

    fn text_seen(&self) -> u64 {
        self.text.as_ref().map_or(0, |text| self.uncommitted.unwrap_or(text.followed.seq))
    }

    pub(super) fn wants_text(&self, change: &SourceChange) -> bool {
        change.text_seq > self.text_seen()
    }

    pub(super) fn take(&mut self, updates: &[Update]) -> Result<(), KnowledgeError> {
        for update in updates {
            let change = &update.change;
            if self.wants_text(change)
                && let Some(text) = &mut self.text
            {
                text.put(change.source, update.contents.as_ref(), &update.zone)?;
            }
            if let Some(vectors) = self.vectors.as_mut().filter(|vectors| vectors.wants(change)) {
                vectors.replace(change.source, &update.vectors);
            }
            if let Some(outline) = self.outline.as_mut().filter(|outline| outline.wants(change)) {
                outline.outline.remove(change.source);
                update.outline.iter().for_each(|chunk| outline.outline.add(chunk));
            }
        }
        // The positions are set after the whole batch. A batch lists each source once, by its last
        // change, so the text of a source may have changed before that of sources earlier in the
        // batch.
        if let Some(last) = updates.last() {
            self.uncommitted = Some(self.text_seen().max(last.change.seq));
            if let Some(vectors) = &mut self.vectors {
                vectors.seq = vectors.seq.max(last.change.seq);
            }
            if let Some(outline) = &mut self.outline {
                outline.seq = outline.seq.max(last.change.seq);
            }
        }
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), KnowledgeError> {
        if let (Some(text), Some(seq)) = (&mut self.text, self.uncommitted) {
            text.commit(seq)?;
        }
        self.uncommitted = None;
        Ok(())
    }
}

impl FollowedOutline {
    /// Whether a change concerns the outline, which depends only on the text of a source and not on
    /// its vectors.
    pub(super) fn wants(&self, change: &SourceChange) -> bool {
        change.text_seq > self.seq
    }
}

impl FollowedVectors {
    pub(super) fn wants(&self, change: &SourceChange) -> bool {
        change.seq > self.seq
    }

    fn replace(&mut self, source: SourceId, vectors: &[StoredVector]) {
        self.set.remove(source);
        vectors.iter().for_each(|vector| self.set.add(vector));
    }
}
