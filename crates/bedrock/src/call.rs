//! One call with its deadlines. Dropping the stream drops the connection.

use std::collections::VecDeque;

use aws_sdk_bedrockruntime::operation::converse_stream::builders::ConverseStreamFluentBuilder;
use aws_sdk_bedrockruntime::primitives::event_stream::EventReceiver;
use aws_sdk_bedrockruntime::types::ConverseStreamOutput;
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError;
use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_providers::wire::{AnswerTimeouts, Patience, ToolNames};
use onyx_types::{Cancel, ModelEvent, ModelFailure};

use crate::BedrockTimeouts;
use crate::answer::ConverseAnswer;
use crate::failure::{of_request, of_stream};

const SILENCE: &str = "the provider sent nothing for longer than its timeout";

type Events = EventReceiver<ConverseStreamOutput, ConverseStreamOutputError>;

struct Running {
    phase: Phase,
    answer: ConverseAnswer,
    names: ToolNames,
    ready: VecDeque<ModelEvent>,
    patience: Patience,
}

enum Phase {
    Request(Box<ConverseStreamFluentBuilder>),
    Body(Box<Events>),
    Over,
}

pub(crate) fn events(
    request: ConverseStreamFluentBuilder,
    names: ToolNames,
    timeouts: BedrockTimeouts,
    cancel: Cancel,
) -> BoxStream<'static, ModelEvent> {
    let BedrockTimeouts { first_byte, idle, total, .. } = timeouts;
    let waits = AnswerTimeouts { first_byte, idle, total };
    let running = Running {
        phase: Phase::Request(Box::new(request)),
        answer: ConverseAnswer::default(),
        names,
        ready: VecDeque::new(),
        patience: Patience::new(cancel, waits, SILENCE),
    };
    unfold(running, Running::next).boxed()
}

impl Running {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((self.names.restore(event), self));
            }
            let advanced = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Request(request) => self.request(*request).await,
                Phase::Body(stream) => self.read(stream).await,
                Phase::Over => return None,
            };
            // After a failure the phase stays `Over`: stream and connection are dropped by then.
            match advanced {
                Ok(phase) => self.phase = phase,
                Err(failure) => {
                    self.ready.extend(self.answer.take_usage().map(ModelEvent::Usage));
                    self.ready.push_back(ModelEvent::Failed(failure));
                }
            }
        }
    }

    async fn request(
        &mut self,
        request: ConverseStreamFluentBuilder,
    ) -> Result<Phase, ModelFailure> {
        let answer = self.patience.in_time(request.send()).await?;
        let answer = answer.map_err(|error| of_request(&error))?;
        Ok(Phase::Body(Box::new(answer.stream)))
    }

    async fn read(&mut self, mut stream: Box<Events>) -> Result<Phase, ModelFailure> {
        let next =
            self.patience.in_time(stream.recv()).await?.map_err(|error| of_stream(&error))?;
        self.patience.reset();
        let mut events = Vec::new();
        let phase = match next {
            Some(event) => {
                self.answer.event(event, &mut events);
                Phase::Body(stream)
            }
            None => {
                self.answer.end(&mut events)?;
                Phase::Over
            }
        };
        self.ready.extend(events);
        Ok(phase)
    }
}
