//! Counts what runs have done since the process started, for monitoring.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use onyx_types::{Event, RunStatus, Usage};

/// Upper bounds of the buckets of run times, in seconds. A further bucket counts longer runs.
pub const RUN_SECONDS: [f64; 9] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 180.0, 600.0, 3_600.0];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFigures {
    pub at_work: usize,
    /// How many runs ended, by status.
    pub ended: BTreeMap<&'static str, u64>,
    pub usage: Usage,
    pub seconds: f64,
    /// How many runs fell into each bucket of `RUN_SECONDS`.
    pub buckets: [u64; RUN_SECONDS.len() + 1],
}

/// Counts runs as they end.
#[derive(Debug, Default)]
pub(super) struct RunCounters(Mutex<RunFigures>);

impl RunCounters {
    pub(super) fn figures(&self, at_work: usize) -> RunFigures {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        RunFigures { at_work, ..figures }
    }

    pub(super) fn add(&self, status: RunStatus, usage: &Usage, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = RUN_SECONDS.iter().position(|bound| seconds <= *bound);
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *figures.ended.entry(status.as_str()).or_default() += 1;
        figures.usage.add(usage);
        figures.seconds += seconds;
        figures.buckets[bucket.unwrap_or(RUN_SECONDS.len())] += 1;
    }
}

/// The status and usage of a run, if this was its last event.
pub(super) fn ending(event: &Event) -> Option<(RunStatus, Usage)> {
    match event {
        Event::Done { status, usage, .. } => Some((*status, *usage)),
        _ => None,
    }
}
