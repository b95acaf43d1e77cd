//! The runs of this gateway: those at work, those that ended lately, and how many may be at work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_types::{PersonId, RunId, RunStatus, Usage};
use tokio::sync::Notify;

use super::figures::{RunCounters, RunFigures};
use super::live::{LiveRun, LiveRuns, RunContact};
use crate::drive::{RunSlot, RunSlots};
use crate::feed::{FinishedFeeds, KeptFeed};

pub(super) struct RunTable {
    pub(super) live: Arc<LiveRuns>,
    /// Notifies when a run has left those at work.
    left: Notify,
    finished: Mutex<FinishedFeeds>,
    slots: Arc<RunSlots>,
    counters: RunCounters,
}

impl RunTable {
    pub(super) fn new(live: Arc<LiveRuns>, most: usize) -> Self {
        Self {
            live,
            left: Notify::new(),
            finished: Mutex::default(),
            slots: RunSlots::new(most),
            counters: RunCounters::default(),
        }
    }

    pub(super) fn set_most(&self, most: usize) {
        self.slots.set_most(most);
    }

    /// Takes the right to be at work; `None` if as many runs as may are.
    pub(super) fn take_slot(&self) -> Option<RunSlot> {
        self.slots.take()
    }

    pub(super) fn figures(&self) -> RunFigures {
        self.counters.figures(self.live.count())
    }

    pub(super) fn count_end(&self, status: RunStatus, usage: &Usage, took: Duration) {
        self.counters.add(status, usage, took);
    }

    /// Takes a run from those at work.
    pub(super) fn remove(&self, run: RunId) -> Option<LiveRun> {
        let removed = self.live.remove(run)?;
        self.left.notify_waiters();
        Some(removed)
    }

    /// Moves a run from those at work to those whose feed is kept.
    pub(super) fn retire(&self, run: RunId, now: Duration) -> Option<LiveRun> {
        let RunContact { key, feed, .. } = self.live.get(run)?;
        // The feed is kept before the run leaves the list, so that a reader finds it at any moment.
        self.finished().keep(run, key.person, feed, now);
        self.remove(run)
    }

    /// The feed of a run that ended lately.
    pub(super) fn find_ended(
        &self,
        person: &PersonId,
        run: RunId,
        now: Duration,
    ) -> Option<KeptFeed> {
        self.finished().find(person, run, now)
    }

    /// Waits until none of these runs is at work. After a run has announced its end, its session
    /// may still be about to get a title.
    pub(super) async fn wait_until_left(&self, runs: &[RunContact]) {
        loop {
            let mut one_more = std::pin::pin!(self.left.notified());
            one_more.as_mut().enable();
            if !runs.iter().any(|contact| self.live.get(contact.run).is_some()) {
                return;
            }
            one_more.await;
        }
    }

    fn finished(&self) -> MutexGuard<'_, FinishedFeeds> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
