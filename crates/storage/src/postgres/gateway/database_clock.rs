//! The database's time, as a gateway knows it without asking. Gateways agree on it although their machines' clocks differ:
//! what one signs with it the others may check with it.

use std::sync::Mutex;
use std::time::Duration;

use onyx_types::Timestamp;

use crate::blocking::lock;

/// The statement's expression for the database's time in milliseconds.
pub(super) const DATABASE_TIME: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";

/// An answer that took longer says too little about when the database looked at its clock.
const SLOWEST: Duration = Duration::from_secs(2);

/// What the database's clock showed, and when that was by the clock that tells this gateway when to stop. That clock never
/// jumps, so it continues the database's time until the next reading.
#[derive(Debug)]
pub(super) struct DatabaseClock(Mutex<ClockReading>);

#[derive(Clone, Copy, Debug)]
pub(super) struct ClockReading {
    shown: Timestamp,
    at: Duration,
}

impl ClockReading {
    /// The database is assumed to have looked at its clock in the middle of the time that its answer took.
    pub(super) fn new(shown: i64, asked: Duration, answered: Duration) -> Self {
        let at = asked + answered.saturating_sub(asked) / 2;
        Self { shown: Timestamp::from_millis(shown), at }
    }
}

impl DatabaseClock {
    pub(super) fn new(first: ClockReading) -> Self {
        Self(Mutex::new(first))
    }

    pub(super) fn set(&self, reading: ClockReading) {
        *lock(&self.0) = reading;
    }

    /// Takes over the time of an answer, unless that took too long.
    pub(super) fn read(&self, shown: i64, asked: Duration, answered: Duration) {
        if answered.saturating_sub(asked) <= SLOWEST {
            self.set(ClockReading::new(shown, asked, answered));
        }
    }

    pub(super) fn now(&self, mono: Duration) -> Timestamp {
        let ClockReading { shown, at } = *lock(&self.0);
        shown.saturating_add(mono.saturating_sub(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_goes_on_between_readings_and_slow_answers_change_nothing() {
        let seconds = Duration::from_secs;
        let clock = DatabaseClock::new(ClockReading::new(50_000, seconds(10), seconds(12)));
        assert_eq!(clock.now(seconds(11)).as_millis(), 50_000);
        assert_eq!(clock.now(seconds(21)).as_millis(), 60_000);
        clock.read(99_000, seconds(21), seconds(24));
        assert_eq!(clock.now(seconds(21)).as_millis(), 60_000);
        clock.read(70_000, seconds(21), seconds(23));
        assert_eq!(clock.now(seconds(22)).as_millis(), 70_000);
    }
}
