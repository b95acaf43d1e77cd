use onyx_types::{FinishReason, ModelEvent, ModelFailure, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::THINKING;
use crate::wire::calls::{Calls, WholeCall};
use crate::wire::error::frame_failure;
use crate::wire::names::portable_id;
use crate::wire::reader::{AnswerReader, Flow, Framing, Reader, parse, truncated};
use crate::wire::sse::SseEvent;

pub type OllamaDecoder = Reader<OllamaAnswer>;

/// One line of a stream, or the whole answer: they have the same form.
#[derive(Debug, Deserialize)]
struct Line {
    created_at: Option<String>,
    message: Option<WireMessage>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct WireMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Debug, Deserialize)]
struct WireCall {
    id: Option<String>,
    function: WireFunction,
}

#[derive(Debug, Deserialize)]
struct WireFunction {
    name: String,
    arguments: Option<Value>,
}

/// An answer that is complete with the line that says `done`.
#[derive(Debug, Default)]
pub struct OllamaAnswer {
    /// The time of the first line: it distinguishes one answer of a server from another.
    started: Option<String>,
    calls: Calls,
    thinking: String,
    usage: Option<Usage>,
}

impl AnswerReader for OllamaAnswer {
    const FRAMING: Framing = Framing::Lines;

    fn frame(
        &mut self,
        frame: &SseEvent,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure> {
        let line: Line = parse(&frame.data)?;
        // Ollama's errors are plain text, so inside a stream they have no class of their own.
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            return Err(frame_failure(&error));
        }
        self.started = self.started.take().or(line.created_at);
        if let Some(message) = line.message {
            self.message(message, events)?;
        }
        if !line.done {
            return Ok(Flow::More);
        }
        self.usage = Some(Usage {
            input: line.prompt_eval_count.unwrap_or(0),
            output: line.eval_count.unwrap_or(0),
            // Ollama keeps the prompt of the last call, but does not report how much of it was
            // reused.
            ..Usage::default()
        });
        self.complete(line.done_reason.as_deref(), events)
    }

    fn is_whole(frame: &SseEvent) -> bool {
        serde_json::from_str::<Line>(&frame.data).is_ok()
    }

    fn end(&mut self, _events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        Err(truncated("the answer ended without a line that says `done`"))
    }

    fn take_usage(&mut self) -> Option<Usage> {
        self.usage.take()
    }
}

impl OllamaAnswer {
    fn message(
        &mut self,
        message: WireMessage,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(text) = non_empty(message.thinking) {
            self.thinking.push_str(&text);
            events.push(ModelEvent::ReasoningDelta(text));
        }
        events.extend(non_empty(message.content).map(ModelEvent::TextDelta));
        for call in message.tool_calls.into_iter().flatten() {
            let call = self.call(call);
            self.calls.whole(call, events)?;
        }
        Ok(())
    }

    fn call(&self, call: WireCall) -> WholeCall {
        let made = || {
            let started = self.started.as_deref().unwrap_or_default();
            portable_id(&format!("call_{started}_{}", self.calls.len())).into_owned()
        };
        WholeCall {
            // The history pairs calls and results by id, so a call without one gets one.
            id: call.id.filter(|id| !id.is_empty()).unwrap_or_else(made),
            name: call.function.name,
            arguments: call.function.arguments.unwrap_or_else(|| Value::Object(Map::new())),
            provider_data: None,
        }
    }

    fn complete(
        &mut self,
        reason: Option<&str>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure> {
        let reason = match reason {
            // Old versions of Ollama report no reason.
            Some("stop") | None => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some(other) => {
                return Err(truncated(format!("the answer ended for an unknown reason: {other}")));
            }
        };
        let (reason, ends) = std::mem::take(&mut self.calls).ending(reason)?;
        if !self.thinking.is_empty() {
            let thinking = std::mem::take(&mut self.thinking);
            events.push(ModelEvent::Reasoning(json!({THINKING: thinking})));
        }
        events.extend(ends);
        events.extend(self.take_usage().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        Ok(Flow::Over)
    }
}
