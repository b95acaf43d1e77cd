//! Counts failures. A guess (a password, a code) is refused once there were too many; a random
//! token cannot be guessed, so a good one always passes and only the failures are told to wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use onyx_types::{Clock, ErrorCode, Fault};

use crate::attempt::canonical;

/// Failures that are forgiven over time: `burst` at once, and one more every `every`.
#[derive(Clone, Copy)]
struct Rate {
    burst: u32,
    every: Duration,
}

const GUESSES_PER_ADDRESS: Rate = Rate { burst: 10, every: Duration::from_secs(6) };
const GUESSES_OF_ALL: Rate = Rate { burst: 100, every: Duration::from_millis(600) };
const FAILURES_PER_ADDRESS: Rate = Rate { burst: 120, every: Duration::from_millis(500) };

/// Addresses that are remembered; the oldest are forgotten first.
const MAX_ADDRESSES: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Limiter {
    guesses: HashMap<IpAddr, Bucket>,
    guesses_of_all: Bucket,
    failures: HashMap<IpAddr, Bucket>,
}

/// Until when the failures so far are held against somebody.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    until: Duration,
}

impl Bucket {
    fn is_full(self, rate: Rate, now: Duration) -> bool {
        self.until.saturating_sub(now) >= rate.every * rate.burst
    }

    fn add(&mut self, rate: Rate, now: Duration) {
        self.until = self.until.max(now) + rate.every;
    }

    fn take_back(&mut self, rate: Rate) {
        self.until = self.until.saturating_sub(rate.every);
    }
}

impl Limiter {
    /// Somebody guesses. Counted before it is known whether they are right, so that many guesses
    /// at once are not one.
    pub(crate) fn guess(&mut self, from: IpAddr, clock: &dyn Clock) -> Result<(), Fault> {
        let now = clock.now().mono;
        forget_if_many(&mut self.guesses, now);
        let own = self.guesses.entry(canonical(from)).or_default();
        if own.is_full(GUESSES_PER_ADDRESS, now) || self.guesses_of_all.is_full(GUESSES_OF_ALL, now)
        {
            return Err(too_many());
        }
        own.add(GUESSES_PER_ADDRESS, now);
        self.guesses_of_all.add(GUESSES_OF_ALL, now);
        Ok(())
    }

    /// They were right: it does not count.
    pub(crate) fn guessed_right(&mut self, from: IpAddr) {
        if let Some(own) = self.guesses.get_mut(&canonical(from)) {
            own.take_back(GUESSES_PER_ADDRESS);
        }
        self.guesses_of_all.take_back(GUESSES_OF_ALL);
    }

    /// A token that is not known: counted, and `Err` when it was one too many.
    pub(crate) fn failed(&mut self, from: IpAddr, clock: &dyn Clock) -> Result<(), Fault> {
        let now = clock.now().mono;
        forget_if_many(&mut self.failures, now);
        let bucket = self.failures.entry(canonical(from)).or_default();
        if bucket.is_full(FAILURES_PER_ADDRESS, now) {
            return Err(too_many());
        }
        bucket.add(FAILURES_PER_ADDRESS, now);
        Ok(())
    }
}

fn forget_if_many(buckets: &mut HashMap<IpAddr, Bucket>, now: Duration) {
    if buckets.len() >= MAX_ADDRESSES {
        buckets.retain(|_, bucket| bucket.until > now);
    }
    if buckets.len() >= MAX_ADDRESSES
        && let Some(oldest) = buckets.iter().min_by_key(|(_, bucket)| bucket.until)
    {
        let oldest = *oldest.0;
        buckets.remove(&oldest);
    }
}

fn too_many() -> Fault {
    Fault::new(ErrorCode::RateLimited, "too many failed attempts from here")
        .with_hint("Wait a minute, then try again.")
}
