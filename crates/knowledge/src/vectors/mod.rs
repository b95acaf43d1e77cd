//! Searches by vectors. Every vector is kept in memory in two forms: its signs, which select
//! candidates quickly, and its numbers rounded to bytes, which rank them. The caller ranks the best
//! of these again by their full vectors. `embedders` decides which model makes vectors, and `maker`
//! makes them.

mod embedders;
mod maker;
mod missing_tokens;
mod products;
mod signs;
pub(crate) mod tokens;

use std::collections::HashMap;

use onyx_storage::{ChunkId, GroupId, SourceId, StoredVector};
use rustc_hash::FxHashSet;

use crate::visible::VisibleGroups;
pub(crate) use embedders::{EmbedderChange, Embedders};
pub(crate) use maker::{QueryVector, VectorMaker};
#[cfg(target_arch = "x86_64")]
use products::has_avx2;
#[cfg(target_arch = "x86_64")]
use signs::prefetch;
use signs::{LONGEST, Signs, VectorSlots};

/// If there are at most this many vectors, all of them are ranked by their bytes. That is exact
/// except for the rounding, which the last ranking corrects.
const ALL_RANKED: usize = 10_000;
/// How many candidates the signs select if there are more vectors.
const PICKED: usize = 400;

/// The vectors in slots, each of which holds one. Slots of removed chunks are used again.
#[derive(Debug, Default)]
pub(crate) struct VectorSet {
    dims: usize,
    chunks: Vec<ChunkId>,
    /// The slots of each source, so that replacing a source does not go through all slots.
    by_source: HashMap<SourceId, Vec<usize>>,
    groups: Vec<GroupId>,
    /// The slots that hold a vector.
    taken: VectorSlots,
    /// The chunks that have a slot. It is a set, because a search asks about many chunks.
    known: FxHashSet<ChunkId>,
    /// The number of vectors of each group.
    sizes: Vec<usize>,
    signs: Signs,
    bytes: Vec<i8>,
    free: Vec<usize>,
}

/// The approximate bytes that a slot takes beside its vector: its chunk, its group, and its entries
/// in the maps.
const BYTES_A_SLOT: usize = 64;
/// The group of an empty slot.
const NOBODY: GroupId = GroupId(u32::MAX);

impl VectorSet {
    /// Adds a vector. Vectors of another length than the first are ignored, because another model
    /// made them.
    pub(crate) fn add(&mut self, stored: &StoredVector) {
        if self.chunks.is_empty() && stored.vector.len() <= LONGEST {
            self.dims = stored.vector.len();
            self.signs = Signs::new(self.dims);
        }
        if stored.vector.len() != self.dims || self.dims == 0 {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| self.new_slot());
        self.chunks[slot] = stored.chunk;
        self.by_source.entry(stored.source).or_default().push(slot);
        self.groups[slot] = stored.group;
        self.taken.set(slot, true);
        self.known.insert(stored.chunk);
        self.signs.set(slot, &stored.vector);
        let steps = steps_a_number(&stored.vector);
        let bytes = &mut self.bytes[slot * self.dims..][..self.dims];
        for (byte, number) in bytes.iter_mut().zip(&stored.vector) {
            *byte = rounded((number * steps).clamp(-127.0, 127.0));
        }
        let group = stored.group.0 as usize;
        if self.sizes.len() <= group {
            self.sizes.resize(group + 1, 0);
        }
        self.sizes[group] += 1;
    }

    fn new_slot(&mut self) -> usize {
        let slot = self.chunks.len();
        self.chunks.push(ChunkId::default());
        self.groups.push(NOBODY);
        self.bytes.resize((slot + 1) * self.dims, 0);
        slot
    }

    pub(crate) fn remove(&mut self, source: SourceId) {
        for slot in self.by_source.remove(&source).unwrap_or_default() {
            self.sizes[self.groups[slot].0 as usize] -= 1;
            self.groups[slot] = NOBODY;
            self.taken.set(slot, false);
            self.known.remove(&self.chunks[slot]);
            self.free.push(slot);
        }
    }

    /// The approximate number of bytes of memory that the vectors take.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + self.signs.memory() + self.chunks.capacity() * BYTES_A_SLOT
    }

    /// Whether there is a vector of this chunk.
    pub(crate) fn knows(&self, chunk: ChunkId) -> bool {
        self.known.contains(&chunk)
    }

    /// The nearest chunks that may be seen, best first, with their likeness as computed from the
    /// bytes.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        seen: &VisibleGroups,
        limit: usize,
    ) -> Vec<(ChunkId, f32)> {
        if query.len() != self.dims {
            return Vec::new();
        }
        let sizes = (0..).map(GroupId).zip(&self.sizes);
        let (mut visible, mut hidden) = (0, 0);
        for (group, size) in sizes {
            *(if seen.allows(group) { &mut visible } else { &mut hidden }) += size;
        }
        let chosen: VectorSlots;
        let among = match hidden {
            0 => &self.taken,
            _ => {
                chosen = self.groups.iter().map(|group| seen.allows(*group)).collect();
                &chosen
            }
        };
        let slots: Vec<usize> = if visible <= ALL_RANKED {
            among.iter().collect()
        } else {
            self.signs.nearest(query, among, PICKED.max(limit * 4))
        };
        self.ranked(query, &slots, limit)
    }

    fn ranked(&self, query: &[f32], slots: &[usize], limit: usize) -> Vec<(ChunkId, f32)> {
        // The query is rounded much more finely than the bytes, so that its rounding does not
        // matter.
        let steps = FINER * steps_a_number(query);
        let most = f32::from(MOST_STEPS);
        let query: Vec<i16> =
            query.iter().map(|number| (number * steps).round().clamp(-most, most) as i16).collect();
        let mut ranked = query_products(&query, &self.bytes, slots);
        let limit = limit.min(ranked.len());
        if limit < ranked.len() {
            ranked.select_nth_unstable_by(limit, |a, b| b.cmp(a));
            ranked.truncate(limit);
        }
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        let whole = FINER * USUAL_STEPS * USUAL_STEPS * self.dims as f32;
        let near = |(dot, slot): (i32, usize)| (self.chunks[slot], dot as f32 / whole);
        ranked.into_iter().map(near).collect()
    }
}

/// The likeness of two vectors, from -1 to 1.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    let lengths = length(a) * length(b);
    if lengths > 0.0 { product(a, b) / lengths } else { 0.0 }
}

fn length(vector: &[f32]) -> f32 {
    product(vector, vector).sqrt()
}

/// The dot product. Eight sums are added up side by side, because a single sum would wait for each
/// addition.
fn product(a: &[f32], b: &[f32]) -> f32 {
    let ((a, rest), (b, other_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = rest.iter().zip(other_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// A number of average size becomes 28 steps; one in some ten thousand is cut off at 127.
const USUAL_STEPS: f32 = 28.0;
/// The most steps of a number in a query, so that a sum over any vector fits an `i32`.
const MOST_STEPS: i16 = 127 * 16;
/// How much finer the steps of a query are.
const FINER: f32 = 16.0;

/// The steps for one unit. Only the direction of a vector counts, so all are scaled to the same
/// length.
fn steps_a_number(vector: &[f32]) -> f32 {
    USUAL_STEPS * (vector.len() as f32).sqrt() / length(vector).max(f32::MIN_POSITIVE)
}

/// Rounds a number that fits into a byte. A float as large as `NO_FRACTION` has no room for a
/// fraction, so adding it rounds, and the lowest byte holds the result. The compiler can do many of
/// these at a time, while `round` would be a call for each.
fn rounded(number: f32) -> i8 {
    const NO_FRACTION: f32 = 12_582_912.0;
    (number + NO_FRACTION).to_bits() as i8
}

/// How many vectors ahead are fetched into the cache, because they are scattered over memory.
const AHEAD: usize = 6;
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// The products of a query with the vectors in these slots.
fn query_products(query: &[i16], vectors: &[i8], slots: &[usize]) -> Vec<(i32, usize)> {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        return unsafe { products_with_avx2(query, vectors, slots) };
    }
    products_of(query, vectors, slots, |_| ())
}

/// Computes the same, compiled for processors that multiply 16 numbers at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn products_with_avx2(query: &[i16], vectors: &[i8], slots: &[usize]) -> Vec<(i32, usize)> {
    let fetch = |vector: &[i8]| vector.chunks(LINE).for_each(|line| prefetch(line.as_ptr()));
    products_of(query, vectors, slots, fetch)
}

#[inline(always)]
fn products_of(
    query: &[i16],
    vectors: &[i8],
    slots: &[usize],
    fetch: impl Fn(&[i8]),
) -> Vec<(i32, usize)> {
    let vector = |slot: usize| &vectors[slot * query.len()..][..query.len()];
    let mut products = Vec::with_capacity(slots.len());
    for (place, slot) in slots.iter().enumerate() {
        if let Some(next) = slots.get(place + AHEAD) {
            fetch(vector(*next));
        }
        let both = query.iter().zip(vector(*slot));
        products.push((both.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum(), *slot));
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random numbers that are the same each time.
    fn vector(seed: u64, dims: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        };
        (0..dims).map(|_| next()).collect()
    }

    fn chunks(near: Vec<(ChunkId, f32)>) -> Vec<ChunkId> {
        near.into_iter().map(|(chunk, _)| chunk).collect()
    }

    fn everything() -> VisibleGroups {
        (0..3).map(GroupId).collect()
    }

    fn set(count: u64, dims: usize) -> (VectorSet, Vec<Vec<f32>>) {
        let mut set = VectorSet::default();
        let vectors: Vec<_> = (0..count).map(|seed| vector(seed + 1, dims)).collect();
        for (place, vector) in (0..).zip(&vectors) {
            set.add(&StoredVector {
                chunk: ChunkId(place),
                source: SourceId(place / 10),
                group: GroupId((place % 3) as u32),
                vector: vector.clone(),
            });
        }
        (set, vectors)
    }

    fn exact(vectors: &[Vec<f32>], query: &[f32], group: u64, limit: usize) -> Vec<ChunkId> {
        let mut all: Vec<_> = (0..)
            .zip(vectors)
            .filter(|(place, _)| place % 3 == group)
            .map(|(place, vector)| (cosine(query, vector), ChunkId(place)))
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.into_iter().take(limit).map(|(_, chunk)| chunk).collect()
    }

    #[test]
    fn the_nearest_of_what_may_be_seen_are_among_those_found() {
        let (set, vectors) = set(900, 100);
        let query = vector(77_777, 100);
        let near = set.nearest(&query, &VisibleGroups::from_iter([GroupId(1)]), 60);
        for (chunk, likeness) in &near {
            let exact = cosine(&query, &vectors[chunk.0 as usize]);
            assert!((likeness - exact).abs() < 0.01, "{likeness} for {exact}");
        }
        let found = chunks(near);
        assert!(found.iter().all(|chunk| chunk.0 % 3 == 1));
        assert!(exact(&vectors, &query, 1, 20).iter().all(|chunk| found.contains(chunk)));
    }

    #[test]
    fn among_so_many_that_signs_pick_first_the_nearest_is_found_and_most_of_the_next() {
        let (set, vectors) = set(3 * (ALL_RANKED as u64 + 500), 64);
        let seen = VisibleGroups::from_iter([GroupId(2)]);
        let (mut found, mut wanted) = (0, 0);
        for near in (2..vectors.len()).step_by(3_000) {
            // The query is near this vector, as a question is near its answer. All others point
            // anywhere, which is harder for signs than real texts are.
            let mut query = vector(near as u64 + 500_000, 64);
            query.iter_mut().zip(&vectors[near]).for_each(|(a, b)| *a += 2.0 * b);
            let picked = chunks(set.nearest(&query, &seen, 60));
            assert_eq!((picked.len(), picked[0]), (60, ChunkId(near as u64)));
            assert!(picked.iter().all(|chunk| chunk.0 % 3 == 2));
            let exact = exact(&vectors, &query, 2, 10);
            wanted += exact.len();
            found += exact.iter().filter(|chunk| picked.contains(chunk)).count();
        }
        assert!(found * 10 >= wanted * 8, "{found} of {wanted}");
    }

    #[test]
    fn removed_ones_are_gone_and_their_place_is_used_again() {
        let (mut set, vectors) = set(60, 70);
        set.remove(SourceId(2));
        let found = chunks(set.nearest(&vectors[25], &everything(), 60));
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|chunk| chunk.0 / 10 != 2));
        let again = StoredVector {
            chunk: ChunkId(999),
            source: SourceId(99),
            group: GroupId(0),
            vector: vectors[25].clone(),
        };
        set.add(&again);
        assert_eq!(chunks(set.nearest(&vectors[25], &everything(), 1)), [ChunkId(999)]);
        assert_eq!(set.chunks.len(), 60);
    }

    #[test]
    fn numbers_become_the_nearest_byte() {
        for hundredths in -12_700_i16..=12_700 {
            let number = f32::from(hundredths) / 100.0;
            assert!((f32::from(rounded(number)) - number).abs() <= 0.5, "{number}");
        }
    }

    #[test]
    fn vectors_of_another_length_are_passed_over() {
        let (mut set, _) = set(3, 10);
        set.add(&StoredVector {
            chunk: ChunkId(9),
            source: SourceId(9),
            group: GroupId(0),
            vector: vec![1.0; 11],
        });
        assert_eq!(set.nearest(&[1.0; 10], &everything(), 9).len(), 3);
        assert_eq!(set.nearest(&[1.0; 11], &everything(), 9), []);
    }
}
