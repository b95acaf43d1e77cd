use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, Either, select};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
        self.to_jiff().strftime("%Y-%m-%d").to_string()
    }

    /// The time of day in UTC, as `HH:MM`.
    pub fn utc_time(self) -> String {
        self.to_jiff().strftime("%H:%M").to_string()
    }

    fn to_jiff(self) -> jiff::Timestamp {
        // Out of range only beyond the year 9999; clamped there rather than failing a write.
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_jiff().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
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
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Wall time for records, monotonic time for deadlines: a clock jump must never end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    pub wall: Timestamp,
    pub mono: Duration,
}

/// The only source of time. Injected, so that tests and the simulation decide what time it is.
pub trait Clock: Send + Sync + fmt::Debug {
    fn now(&self) -> Now;

    fn wall(&self) -> Timestamp {
        self.now().wall
    }

    /// Waits so long on monotonic time.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

impl dyn Clock {
    /// What the work brings, or `None` when it takes longer than that.
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
}

impl SystemClock {
    pub fn new() -> Self {
        Self { started: Instant::now() }
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
}
