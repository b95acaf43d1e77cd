use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, Either, select};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{PersonId, Zone, Zones};

/// A moment of wall time, in whole milliseconds, written as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const UNIX_EPOCH: Self = Self(0);

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    pub fn saturating_add(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// The calendar date in UTC, as `YYYY-MM-DD`.
    pub fn utc_date(self) -> String {
        TimestampText::of(self).text()[..10].to_owned()
    }

    /// The time of day in UTC, as `HH:MM`.
    pub fn utc_time(self) -> String {
        TimestampText::of(self).text()[11..16].to_owned()
    }

    pub(crate) fn to_jiff(self) -> jiff::Timestamp {
        // A time is out of range only beyond the year 9999; it is clamped then, so that a write
        // does not fail.
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX)
    }
}

/// The form `YYYY-MM-DDTHH:MM:SS.mmmZ`. It is formatted by hand, because every turn and every line
/// of a log has one, and parsing a pattern each time takes ten times as long.
struct TimestampText([u8; 24]);

impl TimestampText {
    fn of(at: Timestamp) -> Self {
        let at = jiff::tz::Offset::UTC.to_datetime(at.to_jiff());
        let mut text = Self(*b"0000-00-00T00:00:00.000Z");
        // No time here is before the year 0.
        text.put(0..4, at.year().unsigned_abs());
        text.put(5..7, at.month().unsigned_abs().into());
        text.put(8..10, at.day().unsigned_abs().into());
        text.put(11..13, at.hour().unsigned_abs().into());
        text.put(14..16, at.minute().unsigned_abs().into());
        text.put(17..19, at.second().unsigned_abs().into());
        text.put(20..23, at.millisecond().unsigned_abs());
        text
    }

    fn put(&mut self, place: Range<usize>, mut number: u16) {
        for digit in self.0[place].iter_mut().rev() {
            *digit += (number % 10) as u8;
            number /= 10;
        }
    }

    fn text(&self) -> &str {
        // The text holds only digits and ASCII marks, which are UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TimestampText::of(*self).text())
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|at| Self(at.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(TimestampText::of(*self).text())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Wall time for records, and monotonic time for deadlines: a clock jump must never end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    pub wall: Timestamp,
    pub mono: Duration,
}

/// The only source of time. It is injected, so that tests and the simulation decide what time it
/// is.
pub trait Clock: Send + Sync + fmt::Debug {
    fn now(&self) -> Now;

    fn wall(&self) -> Timestamp {
        self.now().wall
    }

    /// The person's time zone.
    fn zone_of(&self, _person: &PersonId) -> Zone {
        Zone::utc()
    }

    /// The zones that people chose; `None` if all people use UTC.
    fn zones(&self) -> Option<&Zones> {
        None
    }

    /// Waits this long on monotonic time.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

impl dyn Clock {
    /// The result of the work, or `None` when it takes longer.
    pub async fn within<T>(&self, patience: Duration, work: impl Future<Output = T>) -> Option<T> {
        match select(std::pin::pin!(work), self.sleep(patience)).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(((), _)) => None,
        }
    }
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    zones: Zones,
}

impl SystemClock {
    pub fn new() -> Self {
        Self::in_zone(Zone::utc())
    }

    /// People use this zone unless they choose another.
    pub fn in_zone(zone: Zone) -> Self {
        Self { started: Instant::now(), zones: Zones::new(zone) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine for the time"
    )]
    fn now(&self) -> Now {
        Now {
            wall: Timestamp(jiff::Timestamp::now().as_millisecond()),
            mono: self.started.elapsed(),
        }
    }

    fn zone_of(&self, person: &PersonId) -> Zone {
        self.zones.of(person)
    }

    fn zones(&self) -> Option<&Zones> {
        Some(&self.zones)
    }
}
