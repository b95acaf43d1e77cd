//! Limits how many runs may work at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct RunSlots {
    taken: AtomicUsize,
    most: AtomicUsize,
}

/// The right of one run to be at work; dropping it lets another run begin.
#[derive(Debug)]
pub(crate) struct RunSlot(Arc<RunSlots>);

impl RunSlots {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), most: AtomicUsize::new(most) })
    }

    /// Changes the limit. Runs at work continue, even if there are more of them than the new limit.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Takes a slot; `None` if all are taken.
    pub(crate) fn take(self: &Arc<Self>) -> Option<RunSlot> {
        let most = self.most.load(Ordering::Relaxed);
        let free = |taken: usize| (taken < most).then_some(taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).ok()?;
        Some(RunSlot(Arc::clone(self)))
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
