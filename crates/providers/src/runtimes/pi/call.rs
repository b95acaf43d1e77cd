//! One call of a model through the sidecar.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt, once, unfold};
use onyx_types::{
    Block, Cancel, FinishReason, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest,
    Usage,
};

use super::protocol::{PiErrorKind, Reason, Reply, Tokens, ask};
use super::sidecar::Replies;
use super::source::Shared;
use crate::failure::{failure, unsupported};
use crate::wire::{Calls, Patience, ToolNames};

const SILENCE: &str = "the Pi sidecar said nothing for longer than its timeout";

pub(super) struct PiModel {
    pub(super) id: String,
    /// `<Pi's provider>/<model>`.
    pub(super) model: String,
    pub(super) context_window: u32,
    pub(super) shared: Arc<Shared>,
}

impl Model for PiModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn context_window(&self) -> Option<u32> {
        Some(self.context_window)
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        if let Err(failure) = check(&request) {
            return once(async { ModelEvent::Failed(failure) }).boxed();
        }
        let waits = self.shared.settings.limits.waits();
        let running = Running {
            shared: Arc::clone(&self.shared),
            model: self.model.clone(),
            names: ToolNames::of(&request.tools),
            phase: Phase::Open(Box::new(request)),
            calls: Calls::default(),
            count: 0,
            ready: VecDeque::new(),
            patience: Patience::new(cancel, waits, SILENCE),
        };
        unfold(running, Running::next).boxed()
    }
}

fn check(request: &ModelRequest) -> Result<(), ModelFailure> {
    if request.response_format.is_some() {
        return Err(unsupported("response_format", "Pi has no form of answers"));
    }
    if request.tool_use.choice.is_forced() {
        return Err(unsupported("tool_choice", "Pi cannot make a model call a tool"));
    }
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    if blocks.into_iter().any(|block| matches!(block, Block::Attachment(_))) {
        return Err(unsupported("messages", "Pi takes no documents; send their text"));
    }
    Ok(())
}

enum Phase {
    Open(Box<ModelRequest>),
    Reading(Box<Replies>),
    Over,
}

struct Running {
    shared: Arc<Shared>,
    model: String,
    names: ToolNames,
    phase: Phase,
    calls: Calls,
    count: u32,
    ready: VecDeque<ModelEvent>,
    patience: Patience,
}

impl Running {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((self.names.restore(event), self));
            }
            let advanced = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Open(request) => self.open(&request).await,
                Phase::Reading(replies) => self.read(replies).await,
                Phase::Over => return None,
            };
            match advanced {
                Ok(phase) => self.phase = phase,
                Err(failure) => {
                    self.shared.account.note_failure(&failure);
                    self.ready.push_back(ModelEvent::Failed(failure));
                }
            }
        }
    }

    async fn open(&mut self, request: &ModelRequest) -> Result<Phase, ModelFailure> {
        let (shared, model) = (Arc::clone(&self.shared), self.model.clone());
        let asked = self.patience.in_time(shared.ask(|id| ask(id, &model, request))).await?;
        Ok(Phase::Reading(Box::new(asked?)))
    }

    async fn read(&mut self, mut replies: Box<Replies>) -> Result<Phase, ModelFailure> {
        let reply = self.patience.in_time(replies.next()).await?;
        let reply = reply.map_err(|why| failure(ModelFailureClass::Transport, why))?;
        self.patience.reset();
        match reply {
            Reply::Text { delta, .. } => self.ready.push_back(ModelEvent::TextDelta(delta)),
            Reply::Thinking { delta, .. } => {
                self.ready.push_back(ModelEvent::ReasoningDelta(delta));
            }
            Reply::Call { call, .. } => {
                let mut events = Vec::new();
                self.calls.open(self.count, call.id, call.name, &mut events)?;
                self.calls.close(self.count, Some(&call.arguments.to_string()), &mut events);
                self.count += 1;
                self.ready.extend(events);
            }
            Reply::Done { reason, usage, .. } => {
                self.finish(reason, usage)?;
                return Ok(Phase::Over);
            }
            Reply::Failed { trouble, message, retry_after_ms, .. } => {
                return Err(self.failed(trouble, message, retry_after_ms));
            }
            Reply::Ready { .. } | Reply::Status { .. } => {}
        }
        Ok(Phase::Reading(replies))
    }

    fn finish(&mut self, reason: Reason, usage: Tokens) -> Result<(), ModelFailure> {
        let reason = match reason {
            Reason::Stop => FinishReason::Stop,
            Reason::Length => FinishReason::Length,
            Reason::ToolCalls => FinishReason::ToolCalls,
        };
        let (reason, ends) = std::mem::take(&mut self.calls).ending(reason)?;
        self.ready.extend(ends);
        let Tokens { input, output, cache_read, cache_write } = usage;
        let usage = Usage { input, output, cache_read, cache_write, cost: None };
        self.ready.push_back(ModelEvent::Usage(usage));
        self.ready.push_back(ModelEvent::Finish(reason));
        self.shared.account.note_success();
        Ok(())
    }

    fn failed(&self, trouble: PiErrorKind, message: String, wait: Option<u64>) -> ModelFailure {
        let retry_after = wait.map(Duration::from_millis);
        let class = match trouble {
            PiErrorKind::Auth => {
                let provider = self.shared.settings.name.clone();
                let message = format!("{message}. {}", super::source::SIGN_IN);
                return failure(ModelFailureClass::SignIn { provider }, message);
            }
            PiErrorKind::RateLimited => ModelFailureClass::RateLimited { retry_after },
            PiErrorKind::Overloaded => ModelFailureClass::Overloaded { retry_after },
            PiErrorKind::InvalidRequest | PiErrorKind::UnknownModel => {
                ModelFailureClass::InvalidRequest
            }
            PiErrorKind::ContextLength => ModelFailureClass::ContextLength,
            PiErrorKind::Unavailable => ModelFailureClass::Unavailable,
            PiErrorKind::Cancelled => ModelFailureClass::Cancelled,
        };
        failure(class, message)
    }
}
