//! The only source of randomness: everything that a schedule decides is drawn from its seed.

use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
pub(super) struct Chance(Arc<Mutex<u64>>);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))))
    }

    /// Draws the next number of SplitMix64.
    pub(super) fn draw(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    pub(super) fn percent(&self, of_100: usize) -> bool {
        self.below(100) < of_100
    }

    pub(super) fn pick<'a, T>(&self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.below(from.len())) }
    }

    /// Draws one of the choices with probabilities that follow their weights.
    pub(super) fn weighted<T: Copy>(&self, choices: &[(usize, T)]) -> T {
        let total: usize = choices.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(total);
        for (weight, choice) in choices {
            if at < *weight {
                return *choice;
            }
            at -= weight;
        }
        choices[0].1
    }
}
