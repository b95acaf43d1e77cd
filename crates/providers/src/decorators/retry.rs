use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, Stream, StreamExt};
use onyx_types::{
    Cancel, Clock, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest, StatusCode,
};

use super::circuit::Circuit;
use crate::failure::{failed, is_last};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of calls, including the first one.
    pub attempts: u32,
    /// The wait before the second call; it doubles with each further one.
    pub base: Duration,
    /// The longest wait. A provider that asks for more is not called again: an earlier call would
    /// fail, and so long a wait would look like a hang.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 3, base: Duration::from_millis(500), longest: Duration::from_secs(30) }
    }
}

impl RetryPolicy {
    /// How long to wait after this attempt (the first is 1) before the next, if there is one.
    pub(crate) fn wait(&self, attempt: u32, class: &ModelFailureClass) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let requested = match class {
            ModelFailureClass::RateLimited { retry_after }
            | ModelFailureClass::Overloaded { retry_after } => *retry_after,
            ModelFailureClass::Truncated
            | ModelFailureClass::Transport
            | ModelFailureClass::Timeout
            | ModelFailureClass::Unavailable => None,
            // A paused model rests longer than a request can wait.
            ModelFailureClass::Paused { .. }
            | ModelFailureClass::Auth
            | ModelFailureClass::SignIn { .. }
            | ModelFailureClass::ContextLength
            | ModelFailureClass::InvalidRequest
            | ModelFailureClass::Unsupported { .. }
            | ModelFailureClass::ContentFilter
            | ModelFailureClass::Cancelled
            | ModelFailureClass::Budget => return None,
        };
        let doubled = self.base.saturating_mul(1 << (attempt - 1).min(16));
        let wait = requested.unwrap_or_else(|| jittered(doubled.min(self.longest)));
        (wait <= self.longest).then_some(wait)
    }
}

/// Calls again after a failure that may pass, as long as nothing of an answer has been shown.
pub(crate) struct Retry {
    inner: Arc<dyn Model>,
    policy: RetryPolicy,
    circuit: Arc<Circuit>,
    clock: Arc<dyn Clock>,
}

impl Retry {
    /// `circuit` belongs to the breaker around this decorator: a model whose circuit is open, or is
    /// being probed, is not called again.
    pub(crate) fn new(
        inner: Arc<dyn Model>,
        policy: RetryPolicy,
        circuit: Arc<Circuit>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner, policy, circuit, clock }
    }
}

impl Model for Retry {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let trying = RetriedAnswer {
            events: self.inner.stream(request.clone(), cancel.clone()),
            model: Arc::clone(&self.inner),
            policy: self.policy,
            circuit: Arc::clone(&self.circuit),
            clock: Arc::clone(&self.clock),
            request,
            cancel,
            attempt: 1,
            state: State::Silent,
            pause: None,
        };
        Box::pin(trying)
    }
}

struct RetriedAnswer {
    model: Arc<dyn Model>,
    policy: RetryPolicy,
    circuit: Arc<Circuit>,
    clock: Arc<dyn Clock>,
    request: ModelRequest,
    cancel: Cancel,
    events: BoxStream<'static, ModelEvent>,
    attempt: u32,
    state: State,
    /// The pause under way, while it waits.
    pause: Option<BoxFuture<'static, Result<(), ModelEvent>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Silent,
    /// Part of an answer was already shown: another call would show it twice.
    Speaking,
    Waiting(Duration),
    Over,
}

impl Stream for RetriedAnswer {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        match self.state {
            State::Over => return Poll::Ready(None),
            State::Waiting(wait) => {
                let cancel = self.cancel.clone();
                let pause = self.pause.get_or_insert_with(|| pause(wait, cancel).boxed());
                let waited = ready!(pause.as_mut().poll(cx));
                self.pause = None;
                match waited {
                    Ok(()) => self.call_again(),
                    Err(event) => {
                        self.state = State::Over;
                        return Poll::Ready(Some(event));
                    }
                }
            }
            State::Silent | State::Speaking => {}
        }
        let event = ready!(self.events.poll_next_unpin(cx)).unwrap_or_else(|| {
            failed(ModelFailureClass::Truncated, "the model's stream ended without a last event")
        });
        Poll::Ready(Some(self.take_event(event)))
    }
}

async fn pause(wait: Duration, cancel: Cancel) -> Result<(), ModelEvent> {
    tokio::select! {
        () = cancel.cancelled() => {
            Err(failed(ModelFailureClass::Cancelled, "the call was cancelled"))
        }
        () = tokio::time::sleep(wait) => Ok(()),
    }
}

impl RetriedAnswer {
    fn call_again(&mut self) {
        self.events = self.model.stream(self.request.clone(), self.cancel.clone());
        self.attempt += 1;
        self.state = State::Silent;
    }

    fn take_event(&mut self, event: ModelEvent) -> ModelEvent {
        if let (State::Silent, ModelEvent::Failed(failure)) = (self.state, &event)
            && let Some(wait) = self.wait_after(failure)
        {
            self.state = State::Waiting(wait);
            return self.notice(failure, wait);
        }
        if is_last(&event) {
            self.state = State::Over;
        } else if is_content(&event) {
            self.state = State::Speaking;
        }
        event
    }

    fn wait_after(&self, failure: &ModelFailure) -> Option<Duration> {
        let rests = !self.circuit.admits(self.clock.now().mono);
        self.policy.wait(self.attempt, &failure.class).filter(|_| !rests)
    }

    fn notice(&self, failure: &ModelFailure, wait: Duration) -> ModelEvent {
        let (model, why) = (self.model.id(), failure.class.code().sentence());
        let (next, of) = (self.attempt + 1, self.policy.attempts);
        let seconds = wait.as_secs_f64();
        ModelEvent::Notice {
            code: StatusCode::Retry,
            message: format!("{model}: {why} Trying again in {seconds:.1} s ({next} of {of})."),
        }
    }
}

pub(crate) fn is_content(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::TextDelta(_)
        | ModelEvent::ReasoningDelta(_)
        | ModelEvent::Reasoning(_)
        | ModelEvent::ToolCallStart { .. }
        | ModelEvent::ToolCallDelta { .. }
        | ModelEvent::ToolCallEnd { .. } => true,
        ModelEvent::Usage(_)
        | ModelEvent::Notice { .. }
        | ModelEvent::AnsweredBy { .. }
        | ModelEvent::Finish(_)
        | ModelEvent::Failed(_) => false,
    }
}

/// Half of the wait is certain and half is random, so that many callers do not come back at once.
/// A hasher's random keys are randomness enough for that.
fn jittered(wait: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let fraction = (random % 1000) as f64 / 1000.0;
    wait / 2 + (wait / 2).mul_f64(fraction)
}
