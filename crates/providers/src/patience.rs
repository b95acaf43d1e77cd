//! Time limits of a call that does not use an HTTP connection of ours.

use std::future::Future;
use std::time::Duration;

use onyx_types::{Cancel, ModelFailure, ModelFailureClass};
use tokio::time::{Instant, sleep_until};

use crate::failure::failure;

#[derive(Clone, Copy, Debug)]
pub struct AnswerTimeouts {
    pub first_byte: Duration,
    /// The longest time between two pieces of an answer.
    pub idle: Duration,
    pub total: Duration,
}

/// The reasons to end a call from this side: its caller cancels it, or it is silent for too long.
pub struct Patience {
    cancel: Cancel,
    waits: AnswerTimeouts,
    total: Instant,
    /// The time by which the next piece must have come.
    next: Instant,
    silence: &'static str,
}

impl Patience {
    /// Starts the limits now. `silence` is the message that people see when nothing comes.
    pub fn new(cancel: Cancel, waits: AnswerTimeouts, silence: &'static str) -> Self {
        let start = Instant::now();
        let (total, next) = (start + waits.total, start + waits.first_byte);
        Self { cancel, waits, total, next, silence }
    }

    /// Resets the wait after something came.
    pub fn reset(&mut self) {
        self.next = Instant::now() + self.waits.idle;
    }

    pub async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelFailure> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                Err(failure(ModelFailureClass::Cancelled, "the call was cancelled"))
            }
            value = work => Ok(value),
            () = sleep_until(self.total.min(self.next)) => {
                Err(failure(ModelFailureClass::Timeout, self.silence))
            }
        }
    }
}
