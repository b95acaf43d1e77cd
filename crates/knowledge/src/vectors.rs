//! The vector side: every vector as a code of signs and as bytes, in memory. Codes pick, bytes
//! rank, and the caller ranks the best of these by the vectors themselves.

use onyx_storage::{ChunkId, GroupId, SourceId, StoredVector};

/// Up to so many, all are ranked by their bytes: exact but for the rounding, which the last
/// ranking takes back.
const ALL_RANKED: usize = 10_000;
/// How many the codes pick where there are more.
const PICKED: usize = 2_000;

/// Slots hold one vector each; those of removed chunks are used again.
#[derive(Debug, Default)]
pub(crate) struct VectorSet {
    dims: usize,
    chunks: Vec<ChunkId>,
    sources: Vec<SourceId>,
    groups: Vec<GroupId>,
    codes: Vec<u64>,
    bytes: Vec<i8>,
    free: Vec<usize>,
}

/// Stands in a slot that holds nothing.
const NOBODY: GroupId = GroupId(u32::MAX);

impl VectorSet {
    /// Vectors of another length than the first are passed over: another model made them.
    pub(crate) fn add(&mut self, stored: &StoredVector) {
        if self.chunks.is_empty() {
            self.dims = stored.vector.len();
        }
        if stored.vector.len() != self.dims || self.dims == 0 {
            return;
        }
        let code = code(&stored.vector);
        let bytes = to_bytes(&stored.vector);
        match self.free.pop() {
            Some(slot) => {
                self.chunks[slot] = stored.chunk;
                self.sources[slot] = stored.source;
                self.groups[slot] = stored.group;
                let words = code.len();
                self.codes[slot * words..][..words].copy_from_slice(&code);
                self.bytes[slot * self.dims..][..self.dims].copy_from_slice(&bytes);
            }
            None => {
                self.chunks.push(stored.chunk);
                self.sources.push(stored.source);
                self.groups.push(stored.group);
                self.codes.extend(code);
                self.bytes.extend(bytes);
            }
        }
    }

    pub(crate) fn remove(&mut self, source: SourceId) {
        for slot in 0..self.sources.len() {
            if self.sources[slot] == source && self.groups[slot] != NOBODY {
                self.groups[slot] = NOBODY;
                self.free.push(slot);
            }
        }
    }

    /// The nearest of what may be seen, best first, ranked by their bytes.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        allowed: impl Fn(GroupId) -> bool,
        limit: usize,
    ) -> Vec<ChunkId> {
        if query.len() != self.dims {
            return Vec::new();
        }
        // Groups are few and looked up for every slot.
        let most = self.groups.iter().filter(|group| **group != NOBODY).max();
        let seen: Vec<bool> =
            (0..=most.map_or(0, |group| group.0)).map(|group| allowed(GroupId(group))).collect();
        let may_see =
            |slot: usize| seen.get(self.groups[slot].0 as usize).copied().unwrap_or(false);
        let visible = (0..self.chunks.len()).filter(|slot| may_see(*slot)).count();
        let slots = match visible <= ALL_RANKED {
            true => (0..self.chunks.len()).filter(|slot| may_see(*slot)).collect(),
            false => self.picked(query, may_see, PICKED.max(limit)),
        };
        let bytes = to_bytes(query);
        let mut ranked: Vec<(i32, usize)> =
            slots.into_iter().map(|slot| (dot(&bytes, self.bytes_at(slot)), slot)).collect();
        let limit = limit.min(ranked.len());
        if limit < ranked.len() {
            ranked.select_nth_unstable_by(limit, |a, b| b.cmp(a));
            ranked.truncate(limit);
        }
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        ranked.into_iter().map(|(_, slot)| self.chunks[slot]).collect()
    }

    /// Those whose signs differ least from the query's.
    fn picked(&self, query: &[f32], may_see: impl Fn(usize) -> bool, count: usize) -> Vec<usize> {
        let query = code(query);
        let distances: Vec<u16> = self
            .codes
            .chunks_exact(query.len())
            .map(|code| {
                let differing = code.iter().zip(&query).map(|(a, b)| (a ^ b).count_ones());
                differing.sum::<u32>() as u16
            })
            .collect();
        let mut at_distance = vec![0_usize; self.dims + 65];
        for (slot, distance) in distances.iter().enumerate() {
            if may_see(slot) {
                at_distance[usize::from(*distance)] += 1;
            }
        }
        let mut within = 0;
        let mut bound = 0;
        for (distance, here) in at_distance.iter().enumerate() {
            bound = distance;
            within += here;
            if within >= count {
                break;
            }
        }
        let near = distances.iter().enumerate();
        near.filter(|(slot, distance)| usize::from(**distance) <= bound && may_see(*slot))
            .map(|(slot, _)| slot)
            .collect()
    }

    fn bytes_at(&self, slot: usize) -> &[i8] {
        &self.bytes[slot * self.dims..][..self.dims]
    }
}

/// How alike two vectors are, from -1 to 1.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    let dot: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let lengths = length(a) * length(b);
    if lengths > 0.0 { dot / lengths } else { 0.0 }
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

/// One bit a number: is it positive?
fn code(vector: &[f32]) -> Vec<u64> {
    let bits = |numbers: &[f32]| {
        let set = numbers.iter().enumerate().filter(|(_, number)| **number > 0.0);
        set.fold(0_u64, |code, (bit, _)| code | 1 << bit)
    };
    vector.chunks(64).map(bits).collect()
}

/// Of length 1 and then in steps: at 384 numbers of one size each is about 6 of the 127 steps, so
/// the steps are made as fine as the longest tail allows.
fn to_bytes(vector: &[f32]) -> Vec<i8> {
    let scale =
        STEPS_A_LENGTH * (vector.len() as f32).sqrt() / length(vector).max(f32::MIN_POSITIVE);
    vector.iter().map(|value| (value * scale).round().clamp(-127.0, 127.0) as i8).collect()
}

/// A number of usual size becomes 28 steps; one in some ten thousand is cut at 127.
const STEPS_A_LENGTH: f32 = 28.0;

fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same each time.
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
        let found = set.nearest(&query, |group| group == GroupId(1), 60);
        assert!(found.iter().all(|chunk| chunk.0 % 3 == 1));
        assert!(exact(&vectors, &query, 1, 20).iter().all(|chunk| found.contains(chunk)));
    }

    #[test]
    fn removed_ones_are_gone_and_their_place_is_used_again() {
        let (mut set, vectors) = set(60, 70);
        set.remove(SourceId(2));
        let found = set.nearest(&vectors[25], |_| true, 60);
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|chunk| chunk.0 / 10 != 2));
        let again = StoredVector {
            chunk: ChunkId(999),
            source: SourceId(99),
            group: GroupId(0),
            vector: vectors[25].clone(),
        };
        set.add(&again);
        assert_eq!(set.nearest(&vectors[25], |_| true, 1), [ChunkId(999)]);
        assert_eq!(set.chunks.len(), 60);
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
        assert_eq!(set.nearest(&[1.0; 10], |_| true, 9).len(), 3);
        assert_eq!(set.nearest(&[1.0; 11], |_| true, 9), []);
    }
}
