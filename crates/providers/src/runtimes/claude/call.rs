//! One call of the model. It uses a parked process or a new one, and reads until the message is
//! complete.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, once, unfold};
use onyx_types::{
    Cancel, FinishReason, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest,
};

use super::conversation::{Conversation, Identity, Input};
use super::failure::{of_outcome, of_silence, quota};
use super::protocol::{Line, Outcome, initialize};
use super::source::Shared;
use super::turn::Progress;
use super::{account, transcript};
use crate::failure::failure;
use crate::wire::{Patience, ToolNames};

const SILENCE: &str = "the Claude CLI said nothing for longer than its timeout";

pub(super) struct ClaudeModel {
    pub(super) id: String,
    /// The model's name in the CLI.
    pub(super) model: String,
    pub(super) context_window: u32,
    pub(super) shared: Arc<Shared>,
}

impl Model for ClaudeModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn context_window(&self) -> Option<u32> {
        Some(self.context_window)
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        if let Err(failure) = transcript::check(&request) {
            return once(async { ModelEvent::Failed(failure) }).boxed();
        }
        let waits = self.shared.settings.limits.waits();
        let running = Running {
            identity: Identity::of(&self.model, &request),
            names: ToolNames::of(&request.tools),
            shared: Arc::clone(&self.shared),
            request,
            phase: Phase::Open(MayResume::Yes),
            ready: VecDeque::new(),
            patience: Patience::new(cancel, waits, SILENCE),
            shown: false,
        };
        unfold(running, Running::next).boxed()
    }
}

/// Whether a kept process may be used. After one was found dead, a new one is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MayResume {
    Yes,
    No,
}

enum Phase {
    Open(MayResume),
    Reading(Box<Conversation>, MayResume),
    Over,
}

struct Running {
    shared: Arc<Shared>,
    identity: Identity,
    request: ModelRequest,
    names: ToolNames,
    phase: Phase,
    ready: VecDeque<ModelEvent>,
    patience: Patience,
    /// Whether part of the answer was already shown.
    shown: bool,
}

impl Running {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.shown = true;
                return Some((self.names.restore(event), self));
            }
            let advanced = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Open(may_resume) => self.open(may_resume).await,
                Phase::Reading(conversation, resumed) => self.read(conversation, resumed).await,
                Phase::Over => return None,
            };
            // On failure the phase stays `Over`: the process is ended by now.
            match advanced {
                Ok(phase) => self.phase = phase,
                Err(mut failure) => {
                    failure.message = self.shared.masked(&failure.message);
                    self.shared.account.note_failure(&failure);
                    self.ready.push_back(ModelEvent::Failed(failure));
                }
            }
        }
    }

    async fn open(&mut self, may_resume: MayResume) -> Result<Phase, ModelFailure> {
        if may_resume == MayResume::Yes
            && let Some((mut conversation, input)) =
                self.shared.pool.take(&self.identity, &self.request)
        {
            conversation.tell(input, &self.request).await;
            return Ok(Phase::Reading(Box::new(conversation), MayResume::Yes));
        }
        let shared = Arc::clone(&self.shared);
        let identity = self.identity.clone();
        let started = self.patience.in_time(shared.start(identity)).await?;
        let mut conversation = started?;
        conversation.send(&initialize(&transcript::system(&self.request))).await;
        let content = transcript::whole(&self.request.messages);
        conversation.tell(Input::Message(content), &self.request).await;
        Ok(Phase::Reading(Box::new(conversation), MayResume::No))
    }

    async fn read(
        &mut self,
        mut conversation: Box<Conversation>,
        resumed: MayResume,
    ) -> Result<Phase, ModelFailure> {
        let line = match self.patience.in_time(conversation.next()).await? {
            Ok(line) => line,
            // The kept process had died unnoticed. The request holds everything that the process
            // knew, so a new one can continue.
            Err(_) if resumed == MayResume::Yes && !self.shown => {
                return Ok(Phase::Open(MayResume::No));
            }
            Err(silence) => return Err(of_silence(&silence)),
        };
        self.patience.reset();
        // A line of a known kind that does not parse is ignored, as a line of an unknown kind is.
        let line = serde_json::from_value(line).unwrap_or(Line::Other);
        self.line(line, conversation, resumed).await
    }

    async fn line(
        &mut self,
        line: Line,
        mut conversation: Box<Conversation>,
        resumed: MayResume,
    ) -> Result<Phase, ModelFailure> {
        match line {
            Line::StreamEvent { event, parent_tool_use_id: None } => {
                let mut events = Vec::new();
                let progress = conversation.turn.event(&event, &mut events);
                self.ready.extend(events);
                match progress {
                    Ok(Progress::More) => {}
                    Ok(Progress::WantsTools) => {
                        self.end(*conversation, FinishReason::ToolCalls);
                        return Ok(Phase::Over);
                    }
                    Err(failure) => {
                        self.ready.extend(conversation.turn.take_usage());
                        return Err(failure);
                    }
                }
            }
            Line::Assistant { error: Some(error) } => conversation.signs.error = Some(error),
            Line::RateLimitEvent { rate_limit_info } => {
                self.shared.account.note_quota(quota(&rate_limit_info));
                conversation.signs.limit = Some(rate_limit_info);
            }
            Line::ControlRequest { request_id, request } => {
                conversation.serve(request_id, request).await;
            }
            Line::ControlCancelRequest { request_id } => conversation.forget(&request_id),
            Line::ControlResponse { response } => {
                if response.subtype == "error" {
                    let why = response.error.unwrap_or_default();
                    let message = format!("the Claude CLI cannot be set up: {why}");
                    return Err(failure(ModelFailureClass::Unavailable, message));
                }
                let account = response.response.and_then(|initialized| initialized.account);
                if let Some(name) = account.and_then(account::name_of) {
                    self.shared.account.note_name(name);
                }
            }
            Line::Result(outcome) => return self.finish(&outcome, *conversation),
            Line::StreamEvent { .. } | Line::Assistant { error: None } | Line::Other => {}
        }
        Ok(Phase::Reading(conversation, resumed))
    }

    /// Handles the end of the CLI's turn.
    fn finish(
        &mut self,
        outcome: &Outcome,
        conversation: Conversation,
    ) -> Result<Phase, ModelFailure> {
        let now = self.shared.clock.wall();
        let went_well = outcome.subtype.as_deref() == Some("success") && !outcome.is_error;
        if !went_well {
            let name = &self.shared.settings.name;
            return Err(of_outcome(name, outcome, &conversation.signs, now));
        }
        let Some(reason) = conversation.turn.finished else {
            let message = "the Claude CLI ended its turn without an answer";
            return Err(failure(ModelFailureClass::Truncated, message));
        };
        self.end(conversation, reason);
        Ok(Phase::Over)
    }

    fn end(&mut self, mut conversation: Conversation, reason: FinishReason) {
        self.ready.push_back(ModelEvent::Finish(reason));
        self.shared.account.note_success();
        conversation.settle();
        self.shared.pool.park(conversation);
    }
}
