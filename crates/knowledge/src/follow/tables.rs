//! The tables that searches read: the text index, which is one for all people, and the vectors and
//! outlines of the people who searched lately.

use onyx_storage::{SourceChange, StorePosition};

use super::people::PeopleTables;
use super::person::Update;
use crate::KnowledgeError;
use crate::text::TextIndex;

/// How many uncommitted chunks the text index may hold. No more must be read again after a crash.
const MANY_UNCOMMITTED: usize = 20_000;

#[derive(Default)]
pub(crate) struct SearchTables {
    /// The text index is on the disk, and the system keeps in memory what is read of it.
    pub(crate) text: Option<TextIndex>,
    pub(crate) people: PeopleTables,
    /// The change up to which the text index holds changes that are not committed yet.
    pub(super) uncommitted: Option<u64>,
}

impl SearchTables {
    /// The change up to which every table is current.
    pub(super) fn seen(&self) -> u64 {
        let text = self.text_seen();
        self.people.seen().map_or(text, |people| people.min(text))
    }

    /// Whether the tables have seen more than a reader who was at this position.
    pub(super) fn are_beyond(&self, position: &StorePosition) -> bool {
        let epoch = self.text.as_ref().map(|text| text.followed.epoch);
        let people = self.people.seen().unwrap_or_default();
        epoch.is_some_and(|epoch| epoch != position.epoch)
            || self.text_seen().max(people) > position.last_change
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
            self.people.take(update);
        }
        // The positions are set after the whole batch. A batch lists each source once, by its last
        // change, so the text of a source may have changed before that of sources earlier in the
        // batch.
        if let Some(last) = updates.last() {
            self.uncommitted = Some(self.text_seen().max(last.change.seq));
            self.people.advance(last.change.seq);
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
