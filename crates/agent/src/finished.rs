//! Feeds of runs that have ended, kept for those who come back for the rest.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use onyx_types::{PersonId, RunId};

use crate::feed::Feed;

const KEPT_FOR: Duration = Duration::from_secs(10 * 60);
/// All of them together; the oldest go first. A gateway's memory must not grow with its traffic.
const MOST_BYTES: usize = 512 * 1024;

#[derive(Default)]
pub(crate) struct Finished {
    feeds: VecDeque<Ended>,
    bytes: usize,
}

struct Ended {
    run: RunId,
    person: PersonId,
    feed: Arc<Feed>,
    weight: usize,
    at: Duration,
}

impl Finished {
    pub(crate) fn keep(&mut self, run: RunId, person: PersonId, feed: Arc<Feed>, now: Duration) {
        let weight = feed.weight();
        self.bytes += weight;
        self.feeds.push_back(Ended { run, person, feed, weight, at: now });
        self.forget(now);
    }

    pub(crate) fn find(
        &mut self,
        person: &PersonId,
        run: RunId,
        now: Duration,
    ) -> Option<Arc<Feed>> {
        self.forget(now);
        let found = self.feeds.iter().rev().find(|ended| ended.run == run);
        found.filter(|ended| ended.person == *person).map(|ended| Arc::clone(&ended.feed))
    }

    fn forget(&mut self, now: Duration) {
        while let Some(oldest) = self.feeds.front() {
            let too_old = now.saturating_sub(oldest.at) > KEPT_FOR;
            // The newest always stays: somebody may be on their way back for it.
            let too_many = self.bytes > MOST_BYTES && self.feeds.len() > 1;
            if !too_old && !too_many {
                return;
            }
            if let Some(gone) = self.feeds.pop_front() {
                self.bytes -= gone.weight;
            }
        }
    }
}
