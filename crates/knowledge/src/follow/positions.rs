//! Maps chunk numbers to positions. A search asks for hundreds of chunks, many of which belong to
//! messages that follow each other and so have consecutive numbers. Their positions are stored side
//! by side here, while a plain map would scatter them over memory. The numbers between them may be
//! those of other people's chunks, so a page takes memory only from its first chunk to its last.

use onyx_storage::ChunkId;
use rustc_hash::FxHashMap;

use super::outline::ChunkPosition;

/// The number of chunks on a page.
const PAGE: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Positions {
    pages: FxHashMap<u64, Page>,
    count: usize,
    /// The number of slots of all pages.
    slots: usize,
}

#[derive(Debug, Default)]
struct Page {
    /// The place on the page to which the first slot belongs.
    first: usize,
    slots: Vec<Option<ChunkPosition>>,
    held: usize,
}

impl Page {
    fn slot(&mut self, place: usize) -> Option<&mut Option<ChunkPosition>> {
        self.slots.get_mut(place.checked_sub(self.first)?)
    }

    /// Adds the slots that are missing up to a place, and returns how many these are.
    fn reach(&mut self, place: usize) -> usize {
        let before = self.slots.len();
        if before == 0 {
            self.first = place;
        }
        if let Some(missing) = self.first.checked_sub(place).filter(|missing| *missing > 0) {
            self.slots.resize(before + missing, None);
            self.slots.rotate_right(missing);
            self.first = place;
        }
        let wanted = place - self.first + 1;
        if self.slots.len() < wanted {
            self.slots.resize(wanted, None);
        }
        self.slots.len() - before
    }
}

impl Positions {
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// The approximate number of bytes of memory that the pages take.
    pub(super) fn memory(&self) -> usize {
        self.pages.len() * size_of::<(u64, Page)>()
            + self.slots * size_of::<Option<ChunkPosition>>()
    }

    pub(super) fn get(&self, chunk: ChunkId) -> Option<&ChunkPosition> {
        let page = self.pages.get(&(chunk.0 / PAGE))?;
        page.slots.get(place_of(chunk).checked_sub(page.first)?)?.as_ref()
    }

    pub(super) fn insert(&mut self, chunk: ChunkId, position: ChunkPosition) {
        let page = self.pages.entry(chunk.0 / PAGE).or_default();
        self.slots += page.reach(place_of(chunk));
        let before = page.slot(place_of(chunk)).and_then(|slot| slot.replace(position));
        page.held += usize::from(before.is_none());
        self.count += usize::from(before.is_none());
    }

    pub(super) fn remove(&mut self, chunk: ChunkId) -> Option<ChunkPosition> {
        let page = self.pages.get_mut(&(chunk.0 / PAGE))?;
        let removed = page.slot(place_of(chunk))?.take()?;
        page.held -= 1;
        self.count -= 1;
        if page.held == 0 {
            self.slots -= page.slots.len();
            self.pages.remove(&(chunk.0 / PAGE));
        }
        Some(removed)
    }
}

/// The place of a chunk on its page.
fn place_of(chunk: ChunkId) -> usize {
    (chunk.0 % PAGE) as usize
}

#[cfg(test)]
mod tests {
    use onyx_storage::GroupId;
    use onyx_types::Timestamp;

    use super::*;

    fn of(group: u32) -> ChunkPosition {
        ChunkPosition { group: GroupId(group), at: Timestamp::from_millis(0), message: None }
    }

    #[test]
    fn a_page_takes_memory_only_from_its_first_chunk_to_its_last() {
        let (mut first, mut last) = (Positions::default(), Positions::default());
        for chunk in [0, 2] {
            first.insert(ChunkId(chunk), of(1));
        }
        for chunk in [63, 61] {
            last.insert(ChunkId(chunk), of(1));
        }
        assert_eq!(last.memory(), first.memory());
        let known: Vec<u64> = (0..64).filter(|chunk| last.get(ChunkId(*chunk)).is_some()).collect();
        assert_eq!(known, [61, 63]);
        assert_eq!(last.remove(ChunkId(2)), None);
    }

    #[test]
    fn positions_are_kept_until_they_are_removed_and_leave_no_page_behind() {
        let mut positions = Positions::default();
        for (chunk, group) in [(3, 1), (130, 2), (3, 5), (129, 3)] {
            positions.insert(ChunkId(chunk), of(group));
        }
        let groups = |positions: &Positions| {
            let known = (0..200).filter_map(|chunk| positions.get(ChunkId(chunk)));
            known.map(|position| position.group.0).collect::<Vec<_>>()
        };
        assert_eq!(groups(&positions), [5, 3, 2]);
        assert_eq!((positions.count(), positions.pages.len()), (3, 2));
        assert_eq!(positions.remove(ChunkId(130)), Some(of(2)));
        assert_eq!(positions.remove(ChunkId(130)), None);
        assert_eq!(groups(&positions), [5, 3]);
        positions.remove(ChunkId(129));
        positions.remove(ChunkId(3));
        assert!(positions.pages.is_empty());
        assert_eq!((positions.count(), positions.memory()), (0, 0));
    }
}
