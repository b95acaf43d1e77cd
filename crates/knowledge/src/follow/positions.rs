//! Maps chunk numbers to positions. A search asks for hundreds of chunks, many of which belong to
//! messages that follow each other and so have consecutive numbers. Their positions are stored side
//! by side here, while a plain map would scatter them over memory.

use onyx_storage::ChunkId;
use rustc_hash::FxHashMap;

use super::outline::ChunkPosition;

/// The number of chunks on a page.
const PAGE: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Positions {
    pages: FxHashMap<u64, Page>,
    count: usize,
}

#[derive(Debug, Default)]
struct Page {
    positions: Vec<Option<ChunkPosition>>,
    held: usize,
}

impl Positions {
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// The approximate number of bytes of memory that the pages take.
    pub(super) fn memory(&self) -> usize {
        self.pages.len() * PAGE as usize * size_of::<Option<ChunkPosition>>()
    }

    pub(super) fn get(&self, chunk: ChunkId) -> Option<&ChunkPosition> {
        let page = self.pages.get(&(chunk.0 / PAGE))?;
        page.positions.get((chunk.0 % PAGE) as usize)?.as_ref()
    }

    pub(super) fn insert(&mut self, chunk: ChunkId, position: ChunkPosition) {
        let page = self.pages.entry(chunk.0 / PAGE).or_default();
        let place = (chunk.0 % PAGE) as usize;
        if page.positions.len() <= place {
            page.positions.resize(place + 1, None);
        }
        let before = page.positions[place].replace(position);
        page.held += usize::from(before.is_none());
        self.count += usize::from(before.is_none());
    }

    pub(super) fn remove(&mut self, chunk: ChunkId) -> Option<ChunkPosition> {
        let page = self.pages.get_mut(&(chunk.0 / PAGE))?;
        let removed = page.positions.get_mut((chunk.0 % PAGE) as usize)?.take()?;
        page.held -= 1;
        self.count -= 1;
        if page.held == 0 {
            self.pages.remove(&(chunk.0 / PAGE));
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use onyx_storage::GroupId;
    use onyx_types::Timestamp;

    use super::*;

    #[test]
    fn positions_are_kept_until_they_are_removed_and_leave_no_page_behind() {
        let mut positions = Positions::default();
        let of = |group| ChunkPosition {
            group: GroupId(group),
            at: Timestamp::from_millis(0),
            message: None,
        };
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
