//! When, where and with which build numbers were measured, so that a reader can tell whether they
//! are still valid.

use onyx_types::{Clock as _, SystemClock};
use serde::Serialize;

/// A finished measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Occasion {
    pub measured_at: String,
    pub cores: usize,
    pub load: Load,
    /// The commit that was measured, followed by `+changes` if it had edits that are in no commit.
    pub commit: String,
}

/// How many processes wanted to run, including those of the measurement: averages of a minute.
#[derive(Clone, Debug, Serialize)]
pub struct Load {
    pub before: String,
    pub after: String,
}

/// A running measurement.
#[derive(Debug)]
pub struct Begun {
    load: String,
}

impl Occasion {
    pub fn begin() -> Begun {
        Begun { load: load() }
    }
}

impl Begun {
    pub fn end(self, commit: impl Into<String>) -> Occasion {
        Occasion {
            measured_at: SystemClock::new().wall().to_string(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: Load { before: self.load, after: load() },
            commit: commit.into(),
        }
    }
}

fn load() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").expect("Linux tells its load");
    averages.split(' ').next().unwrap_or_default().to_owned()
}
