use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tool_calls::{CallDelta, ToolCalls};
use crate::failure::failure;
use crate::wire::error::frame_failure;
use crate::wire::reader::{AnswerReader, Flow, Framing, Reader, garbage, parse, truncated};
use crate::wire::sse::SseEvent;

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

pub type OpenAiChatDecoder = Reader<ChatAnswer>;

/// An answer that is complete with a finish reason and the end of the stream, `[DONE]` or not.
#[derive(Debug, Default)]
pub struct ChatAnswer {
    response_id: String,
    calls: ToolCalls,
    reasoning: String,
    reasoning_details: Vec<Value>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

impl AnswerReader for ChatAnswer {
    const FRAMING: Framing = Framing::Sse;

    fn frame(
        &mut self,
        frame: &SseEvent,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure> {
        if frame.data == "[DONE]" {
            return self.end(events).map(|()| Flow::Over);
        }
        let chunk: Chunk = parse(&frame.data)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(frame_failure(&error));
        }
        if frame.name.as_deref() == Some("error") {
            return Err(frame_failure(&parse(&frame.data)?));
        }
        if let Some(id) = chunk.id.filter(|_| self.response_id.is_empty()) {
            self.response_id = id;
        }
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage.into());
        }
        // Only one choice is ever asked for.
        if let Some(choice) = chunk.choices.into_iter().flatten().find(|choice| choice.index == 0) {
            self.choice(choice, events)?;
        }
        Ok(Flow::More)
    }

    fn is_whole(frame: &SseEvent) -> bool {
        frame.data == "[DONE]" || serde_json::from_str::<Chunk>(&frame.data).is_ok()
    }

    /// Ends the answer, which is complete only if it has a finish reason.
    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let Some(reason) = self.finish else {
            return Err(truncated("the answer ended without a finish reason"));
        };
        let calls = std::mem::take(&mut self.calls);
        let (reason, ends) = calls.ending(reason)?;
        events.extend(self.reasoning_item());
        events.extend(ends);
        events.extend(self.take_usage().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        Ok(())
    }

    fn take_usage(&mut self) -> Option<Usage> {
        self.usage.take()
    }
}

impl ChatAnswer {
    fn choice(&mut self, choice: Choice, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let delta = choice.delta.unwrap_or_default();
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(text) = non_empty(delta.reasoning_content).or(non_empty(delta.reasoning)) {
            self.reasoning.push_str(&text);
            events.push(ModelEvent::ReasoningDelta(text));
        }
        self.reasoning_details.extend(delta.reasoning_details.into_iter().flatten());
        // The model sends a refusal in place of an answer, so people read it as text.
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

/// The finish reasons that compatible servers use. An unknown one may mean anything, so it is not a
/// success.
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
            return Err(truncated(format!("the answer ended for an unknown reason: {other}")));
        }
    })
}
