use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt};
use onyx_types::{
    Cancel, Clock, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest, StatusCode,
    Timestamp, Usage,
};
use serde::Serialize;

/// Upper bounds of the latency buckets, in seconds; one more bucket holds the rest.
pub const LATENCY_BOUNDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0];

/// Counts the outcome of every call to one model; retries are part of their call.
pub(crate) struct Metrics {
    inner: Arc<dyn Model>,
    counts: Arc<Counts>,
    clock: Arc<dyn Clock>,
}

impl Metrics {
    pub(crate) fn new(inner: Arc<dyn Model>, counts: Arc<Counts>, clock: Arc<dyn Clock>) -> Self {
        Self { inner, counts, clock }
    }
}

/// One model's metrics since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<ModelMetrics>);

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelMetrics {
    pub calls: u64,
    pub in_flight: u64,
    pub answered: u64,
    /// The calls that their caller ended by cancelling them or dropping the stream.
    pub stopped: u64,
    pub retries: u64,
    /// The number of failures by class.
    pub failures: BTreeMap<&'static str, u64>,
    pub last_failure: Option<LastFailure>,
    pub usage: Usage,
    /// The time from the call to the first piece of an answer.
    pub first_content: Latency,
    /// The time from the call to its good end.
    pub whole: Latency,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LastFailure {
    pub at: Timestamp,
    pub class: &'static str,
    /// The message was masked where it arose and holds no key.
    pub message: String,
}

/// A histogram of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    pub count: u64,
    pub sum_seconds: f64,
    pub max_seconds: f64,
    pub last_seconds: f64,
    /// How many took no longer than each of `LATENCY_BOUNDS` but longer than the one before.
    pub buckets: [u64; LATENCY_BOUNDS.len() + 1],
}

impl Latency {
    fn add(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = LATENCY_BOUNDS.iter().position(|&bound| seconds <= bound);
        self.count += 1;
        self.sum_seconds += seconds;
        self.max_seconds = self.max_seconds.max(seconds);
        self.last_seconds = seconds;
        self.buckets[bucket.unwrap_or(LATENCY_BOUNDS.len())] += 1;
    }

    /// The mean time; `None` if no time was measured yet.
    pub fn mean_seconds(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_seconds / self.count as f64)
    }
}

impl Counts {
    pub(crate) fn snapshot(&self) -> ModelMetrics {
        self.lock().clone()
    }

    pub(crate) fn calls(&self) -> u64 {
        self.lock().calls
    }

    fn lock(&self) -> MutexGuard<'_, ModelMetrics> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Metrics {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        {
            let mut counts = self.counts.lock();
            counts.calls += 1;
            counts.in_flight += 1;
        }
        let mut call = CountedAnswer {
            counts: Arc::clone(&self.counts),
            clock: Arc::clone(&self.clock),
            begun: self.clock.now().mono,
            usage: Usage::default(),
            progress: Progress::Silent,
        };
        let events = self.inner.stream(request, cancel);
        events.inspect(move |event| call.saw(event)).boxed()
    }
}

struct CountedAnswer {
    counts: Arc<Counts>,
    clock: Arc<dyn Clock>,
    begun: Duration,
    /// The newest usage; a later event replaces an earlier one.
    usage: Usage,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Silent,
    Speaking,
    Over,
}

impl CountedAnswer {
    fn saw(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Usage(usage) => self.usage = *usage,
            ModelEvent::Notice { code: StatusCode::Retry, .. } => self.counts.lock().retries += 1,
            ModelEvent::Finish(_) => {
                let took = self.elapsed();
                let mut counts = self.end();
                counts.answered += 1;
                counts.whole.add(took);
            }
            ModelEvent::Failed(failure) => self.failed(failure),
            ModelEvent::TextDelta(_)
            | ModelEvent::ReasoningDelta(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::ToolCallEnd { .. } => self.content(),
            ModelEvent::Notice { .. } | ModelEvent::AnsweredBy { .. } => {}
        }
    }

    fn content(&mut self) {
        if self.progress == Progress::Silent {
            self.progress = Progress::Speaking;
            self.counts.lock().first_content.add(self.elapsed());
        }
    }

    fn failed(&mut self, failure: &ModelFailure) {
        let at = self.clock.wall();
        let class = class_name(&failure.class);
        let mut counts = self.end();
        if failure.class == ModelFailureClass::Cancelled {
            counts.stopped += 1;
            return;
        }
        *counts.failures.entry(class).or_default() += 1;
        counts.last_failure = Some(LastFailure { at, class, message: failure.message.clone() });
    }

    fn end(&mut self) -> MutexGuard<'_, ModelMetrics> {
        self.progress = Progress::Over;
        let mut counts = self.counts.lock();
        counts.in_flight -= 1;
        counts.usage.add(&self.usage);
        counts
    }

    fn elapsed(&self) -> Duration {
        self.clock.now().mono.saturating_sub(self.begun)
    }
}

impl Drop for CountedAnswer {
    fn drop(&mut self) {
        if self.progress != Progress::Over {
            self.end().stopped += 1;
        }
    }
}

pub(crate) fn class_name(class: &ModelFailureClass) -> &'static str {
    match class {
        ModelFailureClass::RateLimited { .. } => "rate_limited",
        ModelFailureClass::Overloaded { .. } => "overloaded",
        ModelFailureClass::Auth | ModelFailureClass::SignIn { .. } => "auth",
        ModelFailureClass::ContextLength => "context_length",
        ModelFailureClass::InvalidRequest => "invalid_request",
        ModelFailureClass::Unsupported { .. } => "unsupported",
        ModelFailureClass::ContentFilter => "content_filter",
        ModelFailureClass::Truncated => "truncated",
        ModelFailureClass::Transport => "transport",
        ModelFailureClass::Timeout => "timeout",
        ModelFailureClass::Cancelled => "cancelled",
        ModelFailureClass::Unavailable => "unavailable",
        ModelFailureClass::Paused { .. } => "paused",
        ModelFailureClass::Budget => "budget",
    }
}
