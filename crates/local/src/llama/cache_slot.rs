//! One conversation's place in the model's memory, and its current answer.

use super::native::{Sampler, Token};
use super::words::Utf8;

/// A sequence of the model's cache. It is kept between turns, so that a conversation that continues
/// is not read again from its beginning.
pub(super) struct CacheSlot {
    pub(super) sequence: i32,
    /// The tokens of the conversation that the cache holds.
    pub(super) tokens: Vec<Token>,
    pub(super) task: Option<Task>,
    /// When the slot was last used, as a count of uses.
    pub(super) used: u64,
}

/// An answer that is being generated.
pub(super) struct Task {
    pub(super) id: u64,
    pub(super) prompt: Vec<Token>,
    /// How much of the prompt was in the cache.
    pub(super) cached: usize,
    pub(super) sampler: Sampler,
    /// The token that was generated last and that the model has not read yet.
    pub(super) next: Option<Token>,
    pub(super) said: usize,
    pub(super) most: usize,
    pub(super) text: Utf8,
}

impl Task {
    /// How many cells of the cache the answer may need.
    pub(super) fn reserved(&self) -> usize {
        self.prompt.len() + self.most
    }
}

impl CacheSlot {
    pub(super) fn new(sequence: i32) -> Self {
        Self { sequence, tokens: Vec::new(), task: None, used: 0 }
    }

    /// How much of a prompt is in the cache already. The last token is always read again, because
    /// only reading it yields the next one.
    pub(super) fn shared(&self, prompt: &[Token]) -> usize {
        let same = self.tokens.iter().zip(prompt).take_while(|(one, other)| one == other).count();
        same.min(prompt.len().saturating_sub(1))
    }

    /// The cells that the slot uses, or may use before its answer ends.
    pub(super) fn cells(&self) -> usize {
        self.task.as_ref().map_or(self.tokens.len(), |task| task.reserved().max(self.tokens.len()))
    }
}
