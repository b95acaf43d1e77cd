use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::frame_failure;
use super::tool_calls::{CallDelta, ToolCalls};
use crate::failure::failure;
use crate::wire::sse::{SseEvent, SseSplitter};
use crate::wire::{BodyForm, Decoder};

/// A whole answer is held to this too, as is a single event of a stream.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// One frame of a stream, or the whole answer: they differ in the name of one field.
#[derive(Debug, Deserialize)]
struct Chunk {
    id: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    #[serde(alias = "message")]
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
    /// OpenRouter reports what it charged.
    cost: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

/// The answer being read. Nothing executable leaves it before the finish reason has been seen and
/// the stream has ended.
#[derive(Debug)]
pub struct OpenAiChatDecoder {
    input: Input,
    response_id: String,
    calls: ToolCalls,
    reasoning: String,
    reasoning_details: Vec<Value>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    over: bool,
}

#[derive(Debug)]
enum Input {
    Stream(SseSplitter),
    Whole(Vec<u8>),
}

impl OpenAiChatDecoder {
    pub fn new(form: BodyForm) -> Self {
        Self {
            input: match form {
                BodyForm::Stream => Input::Stream(SseSplitter::new(MAX_EVENT_BYTES)),
                BodyForm::Whole => Input::Whole(Vec::new()),
            },
            response_id: String::new(),
            calls: ToolCalls::default(),
            reasoning: String::new(),
            reasoning_details: Vec::new(),
            usage: None,
            finish: None,
            over: false,
        }
    }

    fn try_push(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let frames = match &mut self.input {
            Input::Stream(splitter) => {
                splitter.push(bytes).map_err(|error| garbage(error.to_string()))?
            }
            Input::Whole(body) if body.len() + bytes.len() > MAX_EVENT_BYTES => {
                return Err(garbage(format!("the answer is longer than {MAX_EVENT_BYTES} bytes")));
            }
            Input::Whole(body) => {
                body.extend_from_slice(bytes);
                return Ok(());
            }
        };
        for frame in &frames {
            if self.over {
                break;
            }
            self.frame(frame, events)?;
        }
        Ok(())
    }

    fn try_end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let last = match &mut self.input {
            // A line that is not even text was cut; what came before it decides.
            Input::Stream(splitter) => splitter.end().unwrap_or_default(),
            Input::Whole(body) => {
                let data = String::from_utf8(std::mem::take(body))
                    .map_err(|error| garbage(error.to_string()))?;
                Some(SseEvent { name: None, data })
            }
        };
        // A frame without its end counts if it is whole all the same, else it was never said.
        if let Some(frame) = last.filter(is_whole) {
            self.frame(&frame, events)?;
        }
        if self.over { Ok(()) } else { self.complete(events) }
    }

    fn frame(
        &mut self,
        frame: &SseEvent,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        if frame.data == "[DONE]" {
            return self.complete(events);
        }
        let chunk: Chunk = serde_json::from_str(&frame.data)
            .map_err(|error| garbage(format!("a frame is not what the wire has: {error}")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(frame_failure(&error));
        }
        if frame.name.as_deref() == Some("error") {
            let error: Value =
                serde_json::from_str(&frame.data).map_err(|error| garbage(error.to_string()))?;
            return Err(frame_failure(&error));
        }
        if let Some(id) = chunk.id.filter(|_| self.response_id.is_empty()) {
            self.response_id = id;
        }
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage.into());
        }
        // Only one choice is ever asked for.
        let choice = chunk.choices.into_iter().flatten().find(|choice| choice.index == 0);
        choice.map_or(Ok(()), |choice| self.choice(choice, events))
    }

    fn choice(&mut self, choice: Choice, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let delta = choice.delta.unwrap_or_default();
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(text) = non_empty(delta.reasoning_content).or(non_empty(delta.reasoning)) {
            self.reasoning.push_str(&text);
            events.push(ModelEvent::ReasoningDelta(text));
        }
        self.reasoning_details.extend(delta.reasoning_details.into_iter().flatten());
        // A refusal is what the model says in place of an answer, so a person reads it as text.
        for text in [delta.content, delta.refusal] {
            events.extend(non_empty(text).map(ModelEvent::TextDelta));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.calls
                .push(call, &self.response_id, events)
                .map_err(|error| garbage(error.to_string()))?;
        }
        if let Some(reason) = choice.finish_reason {
            self.finish = Some(finish_reason(&reason)?);
        }
        Ok(())
    }

    /// The stream ended properly: with the finish reason it is an answer, without it is none.
    fn complete(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let Some(reason) = self.finish else {
            return Err(failure(
                ModelFailureClass::Truncated,
                "the answer ended without a finish reason",
            ));
        };
        let calls = std::mem::take(&mut self.calls);
        let reason = match reason {
            // Several servers say `stop` when they mean their tool calls.
            FinishReason::Stop if !calls.is_empty() => FinishReason::ToolCalls,
            FinishReason::Stop
            | FinishReason::ToolCalls
            | FinishReason::Length
            | FinishReason::ContentFilter => reason,
        };
        let ends = match reason {
            FinishReason::Stop | FinishReason::ToolCalls => calls
                .finish()
                .map_err(|error| failure(ModelFailureClass::Truncated, error.to_string()))?,
            // The answer was stopped half-way, so whatever calls it holds may be half.
            FinishReason::Length | FinishReason::ContentFilter => Vec::new(),
        };
        events.extend(self.reasoning_item());
        events.extend(ends);
        events.extend(self.usage.map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        self.over = true;
        Ok(())
    }

    fn reasoning_item(&mut self) -> Option<ModelEvent> {
        let mut item = Map::new();
        if !self.reasoning.is_empty() {
            item.insert("reasoning_content".into(), std::mem::take(&mut self.reasoning).into());
        }
        if !self.reasoning_details.is_empty() {
            let details = std::mem::take(&mut self.reasoning_details);
            item.insert("reasoning_details".into(), details.into());
        }
        (!item.is_empty()).then(|| ModelEvent::Reasoning(Value::Object(item)))
    }

    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self, &mut Vec<ModelEvent>) -> Result<(), ModelFailure>,
    ) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        if self.over {
            return events;
        }
        if let Err(error) = work(self, &mut events) {
            self.over = true;
            // What was counted was paid for, whatever came after.
            events.extend(self.usage.take().map(ModelEvent::Usage));
            events.push(ModelEvent::Failed(error));
        }
        events
    }
}

impl Decoder for OpenAiChatDecoder {
    fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent> {
        self.guarded(|decoder, events| decoder.try_push(bytes, events))
    }

    fn end(&mut self) -> Vec<ModelEvent> {
        self.guarded(Self::try_end)
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Self {
            input: usage.prompt_tokens.unwrap_or(0),
            output: usage.completion_tokens.unwrap_or(0),
            cache_read: cached.or(usage.prompt_cache_hit_tokens).unwrap_or(0),
            // This wire does not say what it wrote into its cache.
            cache_write: 0,
            cost: usage.cost,
        }
    }
}

/// The words compatible servers use. An unknown one may mean anything, so it is no success.
fn finish_reason(reason: &str) -> Result<FinishReason, ModelFailure> {
    Ok(match reason {
        "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "insufficient_system_resource" => {
            let class = ModelFailureClass::Overloaded { retry_after: None };
            return Err(failure(class, "the provider ran out of resources"));
        }
        "error" => {
            let message = "the provider ended the answer with an error";
            return Err(failure(ModelFailureClass::Unavailable, message));
        }
        other => {
            let message = format!("the answer ended for an unknown reason: {other}");
            return Err(failure(ModelFailureClass::Truncated, message));
        }
    })
}

fn garbage(message: String) -> ModelFailure {
    failure(ModelFailureClass::Transport, message)
}

fn is_whole(frame: &SseEvent) -> bool {
    frame.data == "[DONE]" || serde_json::from_str::<Chunk>(&frame.data).is_ok()
}
