//! The limits of connections: their number, and the time that those without sign-in may take.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use onyx_types::{ErrorCode, Fault};
use serde::Deserialize;

/// The default number of connections: far more than two cores can stream well.
const DEFAULT_MAX: usize = 8_192;
const DEFAULT_UNAUTHENTICATED: usize = 1_024;
const DEFAULT_PER_ADDRESS: usize = 256;
const DEFAULT_HEAD: Duration = Duration::from_secs(10);
const DEFAULT_BODY: Duration = Duration::from_secs(60);
const DEFAULT_SIGN_IN: Duration = Duration::from_secs(5);

/// The longest time that may be set.
const LONGEST: u64 = 3_600;
/// The fewest connections that may be set. A browser alone opens six, so fewer are of no use.
const FEWEST: usize = 16;
/// Open files that are left for everything else: the database, the index, commands.
const OTHER_FILES: u64 = 128;
/// The largest reserve. It can be small, because a connection needs its place for milliseconds
/// only.
const LARGEST_RESERVE: usize = 64;

/// The `gateway.connections` section of `onyx.json` as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConnectionSettings {
    /// The most connections of all kinds.
    pub max: Option<NonZeroUsize>,
    /// The most connections without sign-in, in all.
    pub unauthenticated: Option<NonZeroUsize>,
    /// The most connections without sign-in from one address (all of loopback, or one IPv6 network
    /// of 64 bits).
    pub per_address: Option<NonZeroUsize>,
    /// How long the head of a request may take without sign-in, and also a body.
    pub head_seconds: Option<NonZeroU64>,
    /// How long a body of 8 MiB may take with sign-in.
    pub body_seconds: Option<NonZeroU64>,
    /// How long a WebSocket may stay open before its first frame authenticates it.
    pub sign_in_seconds: Option<NonZeroU64>,
}

impl ConnectionSettings {
    /// The effective limits on a system that allows this many open files.
    pub fn limits(&self, open_files: u64) -> Result<ConnectionLimits, Fault> {
        let max = or_default(self.max, DEFAULT_MAX);
        if max < FEWEST {
            return Err(wrong("max", &format!("{max} is too few; the minimum is {FEWEST}")));
        }
        let unauthenticated =
            or_default(self.unauthenticated, DEFAULT_UNAUTHENTICATED.min(max / 4));
        if unauthenticated > max / 2 {
            let why = format!("{unauthenticated} is more than half of `max` ({max})");
            return Err(wrong("unauthenticated", &why));
        }
        let per_address = or_default(self.per_address, DEFAULT_PER_ADDRESS.min(unauthenticated));
        if per_address > unauthenticated {
            let why = format!("{per_address} is more than `unauthenticated` ({unauthenticated})");
            return Err(wrong("perAddress", &why));
        }
        let limits = ConnectionLimits {
            max,
            unauthenticated,
            per_address,
            head: seconds("headSeconds", self.head_seconds, DEFAULT_HEAD)?,
            body: seconds("bodySeconds", self.body_seconds, DEFAULT_BODY)?,
            sign_in: seconds("signInSeconds", self.sign_in_seconds, DEFAULT_SIGN_IN)?,
        };
        Ok(limits.within(open_files))
    }
}

fn or_default(set: Option<NonZeroUsize>, default: usize) -> usize {
    set.map_or(default, NonZeroUsize::get)
}

fn seconds(key: &str, set: Option<NonZeroU64>, default: Duration) -> Result<Duration, Fault> {
    match set.map(NonZeroU64::get) {
        None => Ok(default),
        Some(seconds) if seconds <= LONGEST => Ok(Duration::from_secs(seconds)),
        Some(seconds) => Err(wrong(key, &format!("{seconds} is more than {LONGEST}"))),
    }
}

fn wrong(key: &str, why: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("gateway.connections.{key}: {why}"))
        .with_hint("Remove the key to use the default.")
}

/// The limits that are in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub max: usize,
    pub unauthenticated: usize,
    pub per_address: usize,
    pub head: Duration,
    pub body: Duration,
    pub sign_in: Duration,
}

impl ConnectionLimits {
    /// Places beyond `unauthenticated` in which one request is read, to find out whether it is
    /// `/health` or comes from a signed-in person.
    pub(crate) fn reserve(&self) -> usize {
        (self.max / 16).clamp(2, LARGEST_RESERVE)
    }

    /// How many places are only for connections with sign-in.
    pub(crate) fn signed_in(&self) -> usize {
        self.max.saturating_sub(self.unauthenticated + self.reserve()).max(1)
    }

    /// Reduces the limits to the allowed open files. Every stream needs a second file, the
    /// connection to its model.
    fn within(self, open_files: u64) -> Self {
        let files = open_files.saturating_sub(OTHER_FILES) / 2;
        let most = usize::try_from(files).unwrap_or(usize::MAX).max(FEWEST);
        if self.max <= most {
            return self;
        }
        let unauthenticated = self.unauthenticated.min(most / 4);
        let per_address = self.per_address.min(unauthenticated);
        Self { max: most, unauthenticated, per_address, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(settings: &str, open_files: u64) -> Result<(usize, usize, usize), String> {
        let settings: ConnectionSettings = serde_json::from_str(settings).unwrap();
        let limits = settings.limits(open_files).map_err(|fault| fault.message)?;
        Ok((limits.max, limits.unauthenticated, limits.per_address))
    }

    #[test]
    fn the_limits_leave_files_for_everything_else() {
        assert_eq!(limits("{}", 1_000_000), Ok((8_192, 1_024, 256)));
        assert_eq!(limits("{}", 1_024), Ok((448, 112, 112)));
        assert_eq!(limits("{}", 64), Ok((16, 4, 4)));
        assert_eq!(limits(r#"{"max": 100}"#, 1_024), Ok((100, 25, 25)));
        assert_eq!(
            limits(r#"{"unauthenticated": 3000, "perAddress": 2000}"#, 1_000_000),
            Ok((8_192, 3_000, 2_000))
        );
        let limits = ConnectionSettings::default().limits(1_024).unwrap();
        let all = limits.signed_in() + limits.unauthenticated + limits.reserve();
        assert_eq!((all, limits.reserve()), (limits.max, 28));
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused_with_the_key() {
        for (settings, key) in [
            (r#"{"max": 3}"#, "max"),
            (r#"{"max": 100, "unauthenticated": 51}"#, "unauthenticated"),
            (r#"{"unauthenticated": 10, "perAddress": 11}"#, "perAddress"),
            (r#"{"headSeconds": 3601}"#, "headSeconds"),
        ] {
            let why = limits(settings, 1_000_000).unwrap_err();
            assert!(why.starts_with(&format!("gateway.connections.{key}: ")), "{why}");
        }
    }
}
