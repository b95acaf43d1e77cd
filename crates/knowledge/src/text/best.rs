use std::cmp::Reverse;
use std::collections::BinaryHeap;

use onyx_storage::ChunkId;

/// Keeps the best of many chunks and drops the others.
pub(crate) struct TopScores {
    limit: usize,
    /// The kept chunks as a heap, with the worst of them on top.
    kept: BinaryHeap<Reverse<(Score, Reverse<ChunkId>)>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Score(f32);

impl TopScores {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), kept: BinaryHeap::with_capacity(limit + 1) }
    }

    /// The score that another chunk must exceed to be among the best.
    pub(crate) fn bar(&self) -> f32 {
        match self.kept.peek() {
            Some(Reverse((worst, _))) if self.kept.len() == self.limit => worst.0,
            Some(_) | None => f32::MIN,
        }
    }

    pub(crate) fn add(&mut self, score: f32, chunk: Option<ChunkId>) {
        let Some(chunk) = chunk else { return };
        self.kept.push(Reverse((Score(score), Reverse(chunk))));
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// The kept chunks with their scores, best first; the older one first if scores are equal.
    pub(crate) fn into_sorted(self) -> Vec<(ChunkId, f32)> {
        let sorted = self.kept.into_sorted_vec().into_iter();
        sorted.map(|Reverse((score, Reverse(chunk)))| (chunk, score.0)).collect()
    }
}

impl Eq for Score {}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
