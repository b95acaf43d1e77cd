//! Limits how many unrequested messages a program may send.

use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(10);

/// Counts the messages within a period.
#[derive(Debug)]
pub(super) struct FloodLimit {
    most: usize,
    began: Duration,
    count: usize,
}

impl FloodLimit {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, began: Duration::ZERO, count: 0 }
    }

    /// Counts a message. Returns `true` if the number exceeds the limit. `now` is from the
    /// monotonic clock.
    pub(super) fn is_over(&mut self, now: Duration) -> bool {
        if now.saturating_sub(self.began) >= WINDOW {
            (self.began, self.count) = (now, 0);
        }
        self.count += 1;
        self.count > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_within_a_while_is_a_flood_and_the_same_over_time_is_not() {
        let mut flood = FloodLimit::new(3);
        let over = |flood: &mut FloodLimit, seconds| flood.is_over(Duration::from_secs(seconds));
        assert_eq!(
            [1, 2, 3, 4].map(|second| over(&mut flood, second)),
            [false, false, false, true]
        );
        assert_eq!([20, 25, 40].map(|second| over(&mut flood, second)), [false; 3]);
    }
}
