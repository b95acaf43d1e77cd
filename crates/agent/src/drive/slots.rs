//! How many runs may be at work at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct Seats {
    taken: AtomicUsize,
    most: AtomicUsize,
}

/// Held while a run is at work; dropping it lets another one in.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Seats>);

impl Seats {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), most: AtomicUsize::new(most) })
    }

    /// Runs that sit already stay, also when there are more of them than that.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// `None`: all are taken.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Seat> {
        let most = self.most.load(Ordering::Relaxed);
        let free = |taken: usize| (taken < most).then_some(taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).ok()?;
        Some(Seat(Arc::clone(self)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
