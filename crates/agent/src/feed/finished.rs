//! Keeps the feeds of ended runs for readers who reconnect. The newest are kept as they are, the
//! others as outlines that are filled from the sessions' logs, so that memory does not grow with
//! the traffic.

use std::collections::VecDeque;
use std::mem::size_of;
use std::sync::Arc;
use std::time::Duration;

use onyx_types::{PersonId, RunId};

use super::{Feed, Outline};

const KEPT_FOR: Duration = Duration::from_secs(10 * 60);
/// The most bytes of feeds that are kept as they are; beyond it the oldest become outlines.
const MOST_WHOLE: usize = 512 * 1024;
/// The most bytes of outlines; beyond it the oldest are dropped. That is reached only with some
/// 100,000 short runs, or hundreds of long ones, within the time that outlines are kept.
const MOST_OUTLINED: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct FinishedFeeds {
    outlined: VecDeque<EndedRun<Outline>>,
    whole: VecDeque<EndedRun<WholeFeed>>,
    outlined_bytes: usize,
    whole_bytes: usize,
}

struct EndedRun<T> {
    run: RunId,
    at: Duration,
    kept: T,
}

struct WholeFeed {
    person: PersonId,
    feed: Arc<Feed>,
    weight: usize,
}

/// How a run's events are kept.
pub(crate) enum KeptFeed {
    Whole(Arc<Feed>),
    /// The outline does not say whose run it is, because the session does.
    Outline(Outline),
}

impl FinishedFeeds {
    pub(crate) fn keep(&mut self, run: RunId, person: PersonId, feed: Arc<Feed>, now: Duration) {
        let weight = feed.weight() + size_of::<EndedRun<WholeFeed>>();
        self.whole_bytes += weight;
        self.whole.push_back(EndedRun { run, at: now, kept: WholeFeed { person, feed, weight } });
        // The newest feed always stays, because its reader may be reconnecting.
        while self.whole_bytes > MOST_WHOLE
            && self.whole.len() > 1
            && let Some(EndedRun { run, at, kept }) = self.whole.pop_front()
        {
            self.whole_bytes -= kept.weight;
            let outline = Outline::of(&kept.feed);
            self.outlined_bytes += weight_of(&outline);
            self.outlined.push_back(EndedRun { run, at, kept: outline });
        }
        self.forget(now);
    }

    pub(crate) fn find(
        &mut self,
        person: &PersonId,
        run: RunId,
        now: Duration,
    ) -> Option<KeptFeed> {
        self.forget(now);
        if let Some(ended) = self.whole.iter().rev().find(|ended| ended.run == run) {
            let theirs = Some(&ended.kept).filter(|kept| kept.person == *person);
            return theirs.map(|kept| KeptFeed::Whole(Arc::clone(&kept.feed)));
        }
        let ended = self.outlined.iter().rev().find(|ended| ended.run == run);
        ended.map(|ended| KeptFeed::Outline(ended.kept.clone()))
    }

    fn forget(&mut self, now: Duration) {
        let too_old = |at: Duration| now.saturating_sub(at) > KEPT_FOR;
        while let Some(ended) = self
            .outlined
            .pop_front_if(|ended| self.outlined_bytes > MOST_OUTLINED || too_old(ended.at))
        {
            self.outlined_bytes -= weight_of(&ended.kept);
        }
        while let Some(ended) = self.whole.pop_front_if(|ended| too_old(ended.at)) {
            self.whole_bytes -= ended.kept.weight;
        }
    }
}

fn weight_of(outline: &Outline) -> usize {
    outline.weight() + size_of::<EndedRun<Outline>>()
}

#[cfg(test)]
mod tests {
    use onyx_types::{Event, IdGenerator, LaneId, RunStatus, Timestamp, Usage};

    use super::*;

    /// The feed of a run whose model answered `ok`.
    fn short_run(mint: &mut IdGenerator) -> (RunId, Arc<Feed>) {
        let now = Timestamp::from_millis(1);
        let (run, turn_id, session_id) = (mint.run(now), mint.turn(now), mint.session(now));
        let agent: onyx_types::AgentId = "main".parse().unwrap();
        let usage = Usage { input: 1_000, output: 1, ..Usage::default() };
        let (agents, model) = (vec![agent.clone()], "mine/some-model".to_owned());
        let text = || "ok".to_owned();
        let feed = Feed::new(run);
        for event in [
            Event::Start { session_id, agents, model, action: None },
            Event::TextDelta { turn_id, agent: agent.clone(), text: text() },
            Event::TextComplete { turn_id, agent, text: text() },
            Event::Usage { usage },
            Event::Done {
                session_id,
                status: RunStatus::Done,
                assistant_turn_ids: vec![turn_id],
                usage,
            },
        ] {
            feed.tell(LaneId::default(), event);
        }
        feed.close();
        (run, feed)
    }

    #[test]
    fn ten_thousand_short_runs_are_kept_for_their_time_and_weigh_little() {
        let (mut mint, mut finished) = (IdGenerator::new(1), FinishedFeeds::default());
        let person: PersonId = "ana".parse().unwrap();
        let mut runs = Vec::new();
        for second in 0..10_000 {
            let (run, feed) = short_run(&mut mint);
            finished.keep(run, person.clone(), feed, KEPT_FOR * second / 10_000);
            runs.push(run);
        }
        let weight = finished.outlined_bytes + finished.whole_bytes;
        assert!(weight < 2_000_000, "{weight} bytes");
        assert!(matches!(finished.find(&person, runs[0], KEPT_FOR), Some(KeptFeed::Outline(_))));
        assert!(matches!(finished.find(&person, runs[9_999], KEPT_FOR), Some(KeptFeed::Whole(_))));
        assert!(finished.find(&"bob".parse().unwrap(), runs[9_999], KEPT_FOR).is_none());
        let later = KEPT_FOR + Duration::from_millis(1);
        assert!(finished.find(&person, runs[0], later).is_none(), "its time is over");
        assert!(finished.find(&person, runs[9_999], 3 * KEPT_FOR).is_none());
        assert_eq!((finished.outlined_bytes, finished.whole_bytes), (0, 0));
    }
}
