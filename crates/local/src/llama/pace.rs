//! How many threads work on a batch.
//!
//! llama.cpp's threads wait for each other by spinning, so a thread that gets no core holds up all
//! the others. Measured on 2 cores with SmolLM2 and 470 prompt tokens, on a machine with a load of
//! 17: two threads took 18.7 s to the first word and made 0.7 tokens a second, one thread took 3.3
//! s and made 20 tokens a second. It is expected, but not measured yet, that two threads are faster
//! on an idle machine; this module's choice is not measured either. All cores are used as long as
//! no other program needs them, which the share of time that this thread gets shows; otherwise one
//! is used.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// If a thread that works all the time gets less than this share of the time, other programs take
/// the cores.
const OWN_SHARE: f64 = 0.75;
/// Shorter batches are too short to measure.
const LONG_ENOUGH: Duration = Duration::from_millis(5);
/// How often the load of other programs is checked while one thread works.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How long only one thread works after all of them had to wait; the time is doubled each time.
const FIRST_REST: Duration = Duration::from_secs(2);
const LONGEST_REST: Duration = Duration::from_secs(60);

pub(super) struct Pace {
    most: i32,
    /// Cores beyond `most`, which other programs may use.
    spare: u32,
    /// Until this time only one thread works.
    rests_until: Option<Instant>,
    rest: Duration,
}

/// The measurement of a batch that is under way.
pub(super) struct BatchMeasurement {
    threads: i32,
    began: Instant,
    worked: Duration,
}

impl Pace {
    pub(super) fn new(most: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spare = u32::try_from(cores.saturating_sub(most)).unwrap_or(0);
        let most = i32::try_from(most).unwrap_or(1).max(1);
        Self { most, spare, rests_until: None, rest: FIRST_REST }
    }

    /// Called after a time without work, since other programs may use the cores now.
    pub(super) fn look_around(&mut self) {
        self.rests_until.get_or_insert_with(Instant::now);
    }

    pub(super) fn begin(&mut self) -> BatchMeasurement {
        let began = Instant::now();
        if self.rests_until.is_some_and(|until| until <= began) {
            let running = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
            self.rests_until = self.is_taken(&running).then(|| began + LOOK_AGAIN);
        }
        let threads = if self.rests_until.is_some() { 1 } else { self.most };
        BatchMeasurement { threads, began, worked: own_time() }
    }

    /// Whether there are fewer free cores than threads.
    fn is_taken(&self, loadavg: &str) -> bool {
        others_running(loadavg) > self.spare
    }

    pub(super) fn end(&mut self, batch: &BatchMeasurement) {
        let worked = own_time().saturating_sub(batch.worked);
        self.judge(batch.threads, batch.began.elapsed(), worked);
    }

    fn judge(&mut self, threads: i32, took: Duration, worked: Duration) {
        if threads == 1 || took < LONG_ENOUGH {
            return;
        }
        if worked.as_secs_f64() >= took.as_secs_f64() * OWN_SHARE {
            self.rest = FIRST_REST;
            return;
        }
        self.rests_until = Some(Instant::now() + self.rest);
        self.rest = (self.rest * 2).min(LONGEST_REST);
    }
}

impl BatchMeasurement {
    pub(super) const fn threads(&self) -> i32 {
        self.threads
    }
}

/// The number of other threads that run now, from the fourth field of Linux's load average.
fn others_running(loadavg: &str) -> u32 {
    let running = loadavg.split(' ').nth(3).and_then(|field| field.split('/').next()?.parse().ok());
    running.unwrap_or(1_u32).saturating_sub(1)
}

/// The time that this thread had a core.
fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn all_cores_work_while_they_are_ours_and_one_while_they_are_not() {
        let mut pace = Pace::new(4);
        assert_eq!(pace.begin().threads(), 4);
        pace.judge(4, SECOND, SECOND * 9 / 10);
        assert_eq!(pace.begin().threads(), 4);
        pace.judge(4, SECOND, SECOND / 3);
        assert_eq!(pace.begin().threads(), 1);
        // A single thread that waits for its core is no reason to rest longer.
        let until = pace.rests_until;
        pace.judge(1, SECOND, SECOND / 3);
        assert_eq!(pace.rests_until, until);
    }

    #[test]
    fn cores_that_others_use_are_left_to_them() {
        let busy = "0.20 0.18 0.12 2/80 11206";
        let pace = Pace { spare: 0, ..Pace::new(2) };
        assert!(pace.is_taken(busy) && !pace.is_taken("0.20 0.18 0.12 1/80 11206"));
        let pace = Pace { spare: 1, ..Pace::new(2) };
        assert!(!pace.is_taken(busy));
    }

    #[test]
    fn each_failed_try_is_followed_by_a_longer_rest_and_a_good_one_by_none() {
        let mut pace = Pace::new(2);
        for _ in 0..9 {
            pace.judge(2, SECOND, SECOND / 4);
        }
        assert_eq!(pace.rest, LONGEST_REST);
        pace.judge(2, SECOND, SECOND);
        assert_eq!(pace.rest, FIRST_REST);
    }

    #[test]
    fn those_that_run_are_counted_without_oneself() {
        assert_eq!(others_running("0.20 0.18 0.12 3/80 11206"), 2);
        assert_eq!(others_running("0.20 0.18 0.12 1/80 11206"), 0);
        assert_eq!(others_running("nonsense"), 0);
    }
}
