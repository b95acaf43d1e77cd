use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_types::{
    Cancel, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest, StatusCode,
};

use super::retry::is_content;
use crate::failure::{failed, failure, is_last};

/// Asks the next model when one cannot answer, as long as nothing of an answer has been shown.
pub(crate) struct Fallback {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
}

impl Fallback {
    pub(crate) fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self { first, others }
    }
}

impl Model for Fallback {
    fn id(&self) -> &str {
        self.first.id()
    }

    /// The window of the first model, because prompts are made for it. If it is unknown, the first
    /// known window of a fallback counts.
    fn context_window(&self) -> Option<u32> {
        let others = || self.others.iter().find_map(|model| model.context_window());
        self.first.context_window().or_else(others)
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let asking = FallbackAnswer {
            events: self.first.stream(request.clone(), cancel.clone()),
            current: Arc::clone(&self.first),
            rest: self.others.iter().cloned().collect(),
            request,
            cancel,
            failures: Vec::new(),
            ready: VecDeque::new(),
            state: State::Silent,
        };
        unfold(Box::new(asking), FallbackAnswer::next).boxed()
    }
}

struct FallbackAnswer {
    current: Arc<dyn Model>,
    rest: VecDeque<Arc<dyn Model>>,
    request: ModelRequest,
    cancel: Cancel,
    events: BoxStream<'static, ModelEvent>,
    /// The failures of each model that was asked so far.
    failures: Vec<(String, ModelFailure)>,
    ready: VecDeque<ModelEvent>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Silent,
    /// Part of an answer was already sent; another model would start the answer again.
    Speaking,
    Over,
}

impl FallbackAnswer {
    async fn next(mut self: Box<Self>) -> Option<(ModelEvent, Box<Self>)> {
        if let Some(event) = self.ready.pop_front() {
            return Some((event, self));
        }
        if self.state == State::Over {
            return None;
        }
        let event = self.events.next().await.unwrap_or_else(|| {
            failed(ModelFailureClass::Truncated, "the model's stream ended without a last event")
        });
        let event = self.take(event);
        Some((event, self))
    }

    fn take(&mut self, event: ModelEvent) -> ModelEvent {
        if let (State::Silent, ModelEvent::Failed(failure)) = (self.state, &event) {
            self.failures.push((self.current.id().to_owned(), failure.clone()));
            if let Some(next) = self.successor(failure) {
                return self.hand_over(failure, next);
            }
            self.state = State::Over;
            return ModelEvent::Failed(self.all_failed());
        }
        if is_last(&event) {
            self.state = State::Over;
        } else if is_content(&event) {
            self.state = State::Speaking;
        }
        event
    }

    /// The next model that may do better after such a failure.
    fn successor(&mut self, failure: &ModelFailure) -> Option<Arc<dyn Model>> {
        match failure.class {
            ModelFailureClass::RateLimited { .. }
            | ModelFailureClass::Overloaded { .. }
            | ModelFailureClass::Auth
            | ModelFailureClass::SignIn { .. }
            | ModelFailureClass::InvalidRequest
            | ModelFailureClass::Unsupported { .. }
            | ModelFailureClass::Truncated
            | ModelFailureClass::Transport
            | ModelFailureClass::Timeout
            | ModelFailureClass::Paused { .. }
            | ModelFailureClass::Unavailable => self.rest.pop_front(),
            ModelFailureClass::ContextLength => {
                let too_small = self.current.context_window();
                let larger = |model: &Arc<dyn Model>| match (model.context_window(), too_small) {
                    (Some(window), Some(too_small)) => window > too_small,
                    (Some(_) | None, None) | (None, Some(_)) => true,
                };
                let place = self.rest.iter().position(larger)?;
                self.rest.drain(..=place).next_back()
            }
            // Onyx does not ask other providers for something that one provider refused.
            ModelFailureClass::ContentFilter
            | ModelFailureClass::Cancelled
            | ModelFailureClass::Budget => None,
        }
    }

    fn hand_over(&mut self, failure: &ModelFailure, next: Arc<dyn Model>) -> ModelEvent {
        let (from, to, why) = (self.current.id(), next.id(), failure.class.code().sentence());
        let notice = ModelEvent::Notice {
            code: StatusCode::Fallback,
            message: format!("{from}: {why} {to} answers instead."),
        };
        self.ready.push_back(ModelEvent::AnsweredBy { model: to.to_owned() });
        self.events = next.stream(self.request.clone(), self.cancel.clone());
        self.current = next;
        notice
    }

    /// The failure has the class of the first model's failure, because that model is the one to
    /// repair. The message names each model.
    fn all_failed(&mut self) -> ModelFailure {
        let mut failures = std::mem::take(&mut self.failures);
        let (_, last) = &failures[failures.len() - 1];
        // The caller causes these two failures, whichever model was asked.
        let stopped = match last.class {
            ModelFailureClass::Cancelled | ModelFailureClass::Budget => true,
            ModelFailureClass::RateLimited { .. }
            | ModelFailureClass::Overloaded { .. }
            | ModelFailureClass::Auth
            | ModelFailureClass::SignIn { .. }
            | ModelFailureClass::ContextLength
            | ModelFailureClass::InvalidRequest
            | ModelFailureClass::Unsupported { .. }
            | ModelFailureClass::ContentFilter
            | ModelFailureClass::Truncated
            | ModelFailureClass::Transport
            | ModelFailureClass::Timeout
            | ModelFailureClass::Paused { .. }
            | ModelFailureClass::Unavailable => false,
        };
        if stopped || failures.len() == 1 {
            return failures.swap_remove(failures.len() - 1).1;
        }
        let words: Vec<String> =
            failures.iter().map(|(id, failure)| format!("{id}: {}", failure.message)).collect();
        failure(failures.swap_remove(0).1.class, words.join("; "))
    }
}
