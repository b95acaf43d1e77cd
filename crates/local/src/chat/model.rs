//! A GGUF file as a model of the registry.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, once, unfold};
use onyx_types::{
    Cancel, FinishReason, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest, Role,
    StatusCode, Usage,
};

use super::calls::Words;
use super::encode::{Ability, encode};
use crate::gguf::Gguf;
use crate::worker::{AnswerEnd, Chat, Keeper, Reply, RequestReplies, WorkerRequest};

/// Models with fewer parameters cannot choose tools: SmolLM2-135M chose the right one 2 times in
/// 10.
const SMALL: u64 = 500_000_000;

pub(crate) struct LocalModel {
    id: String,
    window: u32,
    ability: Ability,
    keeper: Arc<Keeper>,
}

impl LocalModel {
    pub(crate) fn new(id: String, window: u32, ability: Ability, keeper: Arc<Keeper>) -> Self {
        Self { id, window, ability, keeper }
    }

    /// One line of warning at the beginning of a conversation with a very small model.
    fn notice(&self, request: &ModelRequest) -> Option<ModelEvent> {
        let begun = request.messages.iter().any(|message| message.role == Role::Assistant);
        (self.ability == Ability::SmallTalk && !begun).then(|| ModelEvent::Notice {
            code: StatusCode::Degraded,
            message: format!(
                "{} is a very small model that runs on this machine: it chats, makes mistakes and \
                 uses no tools. Connect a better one in Settings, under Providers.",
                self.id
            ),
        })
    }
}

impl Ability {
    /// Whether a model is offered tools if the config does not say.
    pub(crate) fn takes_tools(gguf: &Gguf) -> bool {
        gguf.parameters >= SMALL && gguf.takes_tools()
    }

    /// `tools`: whether the model is offered tools.
    pub(crate) fn of(gguf: &Gguf, tools: bool) -> Self {
        if tools {
            Self::Tools
        } else if gguf.parameters < SMALL {
            Self::SmallTalk
        } else {
            Self::Chat
        }
    }
}

impl Model for LocalModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn context_window(&self) -> Option<u32> {
        Some(self.window)
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let chat = match encode(&request, self.ability) {
            Ok(chat) => chat,
            Err(failure) => return once(async { ModelEvent::Failed(failure) }).boxed(),
        };
        // A session's messages grow with each call, so the number makes the ids of calls differ.
        let seed = request.messages.len();
        let offered = || request.tools.iter().map(|tool| tool.name.clone()).collect();
        let words =
            if chat.tools.is_empty() { Words::only() } else { Words::with_calls(seed, offered()) };
        let running = Running {
            phase: Phase::Request(Box::new(chat)),
            words: Some(words),
            ready: self.notice(&request).into_iter().collect(),
            keeper: Arc::clone(&self.keeper),
            cancel,
        };
        unfold(running, Running::next).boxed()
    }
}

struct Running {
    phase: Phase,
    /// The reader of the model's words; it is taken when the answer ends.
    words: Option<Words>,
    ready: VecDeque<ModelEvent>,
    keeper: Arc<Keeper>,
    cancel: Cancel,
}

enum Phase {
    Request(Box<Chat>),
    Body(RequestReplies),
    Over,
}

impl Running {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            // After a failure the phase stays `Over`: the answer is dropped, and the worker's task
            // with it.
            let advanced = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Request(chat) => self.request(*chat).await,
                Phase::Body(answer) => self.read(answer).await,
                Phase::Over => return None,
            };
            match advanced {
                Ok(phase) => self.phase = phase,
                Err(failure) => self.ready.push_back(ModelEvent::Failed(failure)),
            }
        }
    }

    async fn request(&self, chat: Chat) -> Result<Phase, ModelFailure> {
        let asked = self.keeper.ask(|id| WorkerRequest::Generate { id, chat });
        Ok(Phase::Body(self.unless_cancelled(asked).await??))
    }

    async fn read(&mut self, mut answer: RequestReplies) -> Result<Phase, ModelFailure> {
        let reply = self.unless_cancelled(answer.next()).await??;
        let mut events = Vec::new();
        let phase = match reply {
            Reply::Piece { text, .. } => {
                if let Some(words) = &mut self.words {
                    words.piece(&text, &mut events)?;
                }
                Phase::Body(answer)
            }
            Reply::End { how, prompt, cached, output, .. } => {
                events.push(ModelEvent::Usage(Usage {
                    input: prompt,
                    output,
                    cache_read: cached,
                    ..Usage::default()
                }));
                let reason = match how {
                    AnswerEnd::Stop => FinishReason::Stop,
                    AnswerEnd::Length => FinishReason::Length,
                };
                let words = self.words.take();
                let ended = words.map_or(Ok(reason), |words| words.end(reason, &mut events))?;
                events.push(ModelEvent::Finish(ended));
                Phase::Over
            }
            other => return Err(other.unexpected()),
        };
        self.ready.extend(events);
        Ok(phase)
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelFailure> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ModelFailure::new(ModelFailureClass::Cancelled, "the call was cancelled")),
            value = work => Ok(value),
        }
    }
}
