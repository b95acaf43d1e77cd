use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_types::{ErrorCode, ModelFailureClass};
use serde::Serialize;

/// When a model that fails is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Failures in a row that open the circuit.
    pub failures: u32,
    /// The first rest; doubles with each probe that fails.
    pub rest: Duration,
    pub longest_rest: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self {
            failures: 5,
            rest: Duration::from_secs(15),
            longest_rest: Duration::from_secs(5 * 60),
        }
    }
}

/// One model's recent successes and failures. Shared by all calls to it; times are monotonic.
#[derive(Debug, Default)]
pub(crate) struct Circuit(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    phase: Phase,
    /// The number of failures since the last complete answer.
    failures: u32,
    /// The number of rests since the last complete answer.
    rests: u32,
    last_failure: Option<ErrorCode>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Closed,
    Resting {
        until: Duration,
    },
    /// One call is under way to see whether the model works again.
    Probing,
}

/// The right to make one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticket {
    Call,
    Probe,
}

/// Why no call may be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) failures: u32,
    pub(crate) last_failure: Option<ErrorCode>,
    /// The time until the next probe; zero while a probe is under way.
    pub(crate) wait: Duration,
}

impl Refusal {
    pub(crate) fn message(&self, model: &str) -> String {
        let Self { failures, last_failure, wait } = self;
        let why = last_failure.map_or("", ErrorCode::sentence);
        let next = if wait.is_zero() {
            "Retrying now.".to_owned()
        } else {
            format!("Paused; retrying in {} s.", wait.as_secs_f64().ceil())
        };
        format!("{model} keeps failing. {next} {why} ({failures} failures in a row.)")
    }
}

/// A model's circuit as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CircuitState {
    Closed { failures: u32 },
    Open { failures: u32, next_try_seconds: u64 },
    HalfOpen { failures: u32 },
}

impl Circuit {
    pub(crate) fn admit(&self, now: Duration) -> Result<Ticket, Refusal> {
        let mut inner = self.inner();
        match inner.phase {
            Phase::Closed => Ok(Ticket::Call),
            Phase::Resting { until } if now >= until => {
                inner.phase = Phase::Probing;
                Ok(Ticket::Probe)
            }
            Phase::Resting { until } => Err(inner.refusal(until - now)),
            Phase::Probing => Err(inner.refusal(Duration::ZERO)),
        }
    }

    /// Whether a call would be allowed now; takes no ticket.
    pub(crate) fn admits(&self, now: Duration) -> bool {
        match self.inner().phase {
            Phase::Closed => true,
            Phase::Resting { until } => now >= until,
            Phase::Probing => false,
        }
    }

    /// The first event of an answer: the model works again, but has not finished an answer yet. The
    /// next failure opens the circuit again.
    pub(crate) fn note_first_event(&self, policy: &BreakerPolicy) {
        let mut inner = self.inner();
        if inner.phase != Phase::Closed {
            inner.phase = Phase::Closed;
            inner.failures = policy.failures.saturating_sub(1);
        }
    }

    pub(crate) fn answered(&self) {
        *self.inner() = Inner::default();
    }

    pub(crate) fn failed(
        &self,
        ticket: Ticket,
        class: &ModelFailureClass,
        policy: &BreakerPolicy,
        now: Duration,
    ) {
        let blame = FailureOwner::of(class);
        let FailureOwner::Provider { retry_after } = blame else {
            return self.not_to_blame(ticket, blame, now);
        };
        let mut inner = self.inner();
        inner.last_failure = Some(class.code());
        let opens = match (inner.phase, ticket) {
            (Phase::Probing, Ticket::Probe) => true,
            (Phase::Closed, Ticket::Call | Ticket::Probe) => {
                inner.failures = inner.failures.saturating_add(1);
                inner.failures >= policy.failures
            }
            // The call began before the circuit opened, so its failure is not new.
            (Phase::Resting { .. } | Phase::Probing, Ticket::Call)
            | (Phase::Resting { .. }, Ticket::Probe) => false,
        };
        if opens {
            let doubled = policy.rest.saturating_mul(1 << inner.rests.min(16));
            let rest = doubled.max(retry_after.unwrap_or_default()).min(policy.longest_rest);
            inner.phase = Phase::Resting { until: now + rest };
            inner.rests += 1;
        }
    }

    /// The call was dropped before any event: the next call may probe at once.
    pub(crate) fn abandoned(&self, ticket: Ticket, now: Duration) {
        let mut inner = self.inner();
        if (inner.phase, ticket) == (Phase::Probing, Ticket::Probe) {
            inner.phase = Phase::Resting { until: now };
        }
    }

    pub(crate) fn state(&self, now: Duration) -> CircuitState {
        let inner = self.inner();
        let failures = inner.failures;
        match inner.phase {
            Phase::Closed => CircuitState::Closed { failures },
            Phase::Resting { until } => {
                let next_try_seconds = until.saturating_sub(now).as_secs_f64().ceil() as u64;
                CircuitState::Open { failures, next_try_seconds }
            }
            Phase::Probing => CircuitState::HalfOpen { failures },
        }
    }

    fn not_to_blame(&self, ticket: Ticket, blame: FailureOwner, now: Duration) {
        match blame {
            FailureOwner::Nobody => self.abandoned(ticket, now),
            FailureOwner::Request | FailureOwner::Provider { .. } => self.answered(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn refusal(&self, wait: Duration) -> Refusal {
        Refusal { failures: self.failures, last_failure: self.last_failure, wait }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureOwner {
    Provider {
        /// The waiting time that the provider asked for, if it asked for one.
        retry_after: Option<Duration>,
    },
    /// The provider works and refuses this request, which is no reason to stop asking it.
    Request,
    Nobody,
}

impl FailureOwner {
    fn of(class: &ModelFailureClass) -> Self {
        match class {
            ModelFailureClass::RateLimited { retry_after }
            | ModelFailureClass::Overloaded { retry_after } => {
                Self::Provider { retry_after: *retry_after }
            }
            ModelFailureClass::Truncated
            | ModelFailureClass::Transport
            | ModelFailureClass::Timeout
            | ModelFailureClass::Unavailable => Self::Provider { retry_after: None },
            ModelFailureClass::Auth
            | ModelFailureClass::SignIn { .. }
            | ModelFailureClass::ContextLength
            | ModelFailureClass::InvalidRequest
            | ModelFailureClass::ContentFilter => Self::Request,
            ModelFailureClass::Unsupported { .. }
            | ModelFailureClass::Paused { .. }
            | ModelFailureClass::Cancelled
            | ModelFailureClass::Budget => Self::Nobody,
        }
    }
}
