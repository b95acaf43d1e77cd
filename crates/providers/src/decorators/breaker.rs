use std::sync::Arc;
use std::time::Duration;

use futures::future::ready;
use futures::stream::{BoxStream, StreamExt, once};
use onyx_types::{Cancel, Clock, Model, ModelEvent, ModelFailureClass, ModelRequest};

use super::circuit::{BreakerPolicy, Circuit, Refusal, Ticket};
use crate::failure::failed;

/// Sends nothing to a model that keeps failing, until a single probe succeeds.
pub(crate) struct Breaker {
    inner: Arc<dyn Model>,
    circuit: Arc<Circuit>,
    policy: BreakerPolicy,
    clock: Arc<dyn Clock>,
}

impl Breaker {
    pub(crate) fn new(
        inner: Arc<dyn Model>,
        circuit: Arc<Circuit>,
        policy: BreakerPolicy,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner, circuit, policy, clock }
    }
}

impl Model for Breaker {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        match OpenCall::begin(&self.circuit, self.policy, &self.clock) {
            Ok(mut call) => {
                let events = self.inner.stream(request, cancel);
                events.inspect(move |event| call.saw(event)).boxed()
            }
            Err(refusal) => {
                let message = refusal.message(self.inner.id());
                // The wait is zero while a probe is under way; the probe ends in a moment.
                let retry_after = refusal.wait.max(Duration::from_secs(1));
                once(ready(failed(ModelFailureClass::Paused { retry_after }, message))).boxed()
            }
        }
    }
}

/// One call that the circuit allowed. It reports its outcome, also when it is dropped.
pub(crate) struct OpenCall {
    circuit: Arc<Circuit>,
    policy: BreakerPolicy,
    clock: Arc<dyn Clock>,
    /// `None` once the outcome is reported.
    ticket: Option<Ticket>,
}

impl OpenCall {
    pub(crate) fn begin(
        circuit: &Arc<Circuit>,
        policy: BreakerPolicy,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, Refusal> {
        let ticket = Some(circuit.admit(clock.now().mono)?);
        Ok(Self { circuit: Arc::clone(circuit), policy, clock: Arc::clone(clock), ticket })
    }

    pub(crate) fn answered(&mut self) {
        if self.ticket.take().is_some() {
            self.circuit.answered();
        }
    }

    pub(crate) fn failed(&mut self, class: &ModelFailureClass) {
        if let Some(ticket) = self.ticket.take() {
            self.circuit.failed(ticket, class, &self.policy, self.clock.now().mono);
        }
    }

    fn saw(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Finish(_) => self.answered(),
            ModelEvent::Failed(failure) => self.failed(&failure.class),
            ModelEvent::TextDelta(_)
            | ModelEvent::ReasoningDelta(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::ToolCallEnd { .. } => self.circuit.note_first_event(&self.policy),
            ModelEvent::Usage(_) | ModelEvent::Notice { .. } | ModelEvent::AnsweredBy { .. } => {}
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.circuit.abandoned(ticket, self.clock.now().mono);
        }
    }
}
