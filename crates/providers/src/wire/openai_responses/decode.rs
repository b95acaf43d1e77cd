use onyx_types::{FinishReason, ModelEvent, ModelFailure, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::calls::Calls;
use crate::wire::error::frame_failure;
use crate::wire::reader::{AnswerReader, Flow, Framing, Reader, garbage, parse, truncated};
use crate::wire::sse::SseEvent;

pub type OpenAiResponsesDecoder = Reader<ResponsesAnswer>;

/// The events with content; the wire has some forty more that repeat it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_item.added")]
    ItemAdded { output_index: u32, item: Item },
    #[serde(rename = "response.output_item.done")]
    ItemDone { output_index: u32, item: Value },
    /// The model sends a refusal in place of an answer, so people read it as text.
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Text { delta: String },
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta"
    )]
    Reasoning { delta: String },
    #[serde(rename = "response.reasoning_summary_part.added")]
    SummaryPart { summary_index: u32 },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { output_index: u32, delta: String },
    #[serde(
        rename = "response.completed",
        alias = "response.incomplete",
        alias = "response.failed",
        alias = "response.cancelled"
    )]
    End { response: Response },
    #[serde(rename = "error")]
    Error(Value),
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    FunctionCall {
        call_id: String,
        name: String,
        arguments: Option<String>,
    },
    Reasoning,
    Message {
        content: Option<Vec<Part>>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Other,
}

/// The response object: the last event holds it, and a body that is no stream is one.
#[derive(Debug, Deserialize)]
struct Response {
    status: Option<String>,
    output: Option<Vec<Value>>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
    usage: Option<WireUsage>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Debug, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

/// An answer that is complete with the event that holds the finished response.
#[derive(Debug, Default)]
pub struct ResponsesAnswer {
    calls: Calls,
    reasoning: Vec<Value>,
    usage: Option<Usage>,
}

impl AnswerReader for ResponsesAnswer {
    const FRAMING: Framing = Framing::Sse;

    fn frame(
        &mut self,
        frame: &SseEvent,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure> {
        // Some compatible servers end with the other OpenAI wire's mark, which is ignored.
        if frame.data == "[DONE]" {
            return Ok(Flow::More);
        }
        match parse(&frame.data)? {
            Event::ItemAdded { output_index, item } => self.added(output_index, item, events)?,
            Event::ItemDone { output_index, item } => self.done(output_index, item, events)?,
            Event::Text { delta } => events.push(ModelEvent::TextDelta(delta)),
            Event::Reasoning { delta } => events.push(ModelEvent::ReasoningDelta(delta)),
            Event::SummaryPart { summary_index } if summary_index > 0 => {
                events.push(ModelEvent::ReasoningDelta("\n\n".into()));
            }
            Event::Arguments { output_index, delta } => {
                self.calls.piece(output_index, &delta, events);
            }
            Event::End { response } => return self.complete(response, events),
            // The fields are in the event itself, or in an object of their own.
            Event::Error(error) => return Err(frame_failure(error.get("error").unwrap_or(&error))),
            Event::SummaryPart { .. } | Event::Other => {}
        }
        Ok(Flow::More)
    }

    fn whole(&mut self, body: &str, events: &mut Vec<ModelEvent>) -> Result<Flow, ModelFailure> {
        let Ok(mut response) = serde_json::from_str::<Response>(body) else {
            return Ok(Flow::More);
        };
        for (index, item) in (0_u32..).zip(response.output.take().into_iter().flatten()) {
            if let Item::Message { content } = read(&item)? {
                events.extend(content.into_iter().flatten().filter_map(Part::text));
            }
            self.done(index, item, events)?;
        }
        self.complete(response, events)
    }

    fn is_whole(frame: &SseEvent) -> bool {
        serde_json::from_str::<Event>(&frame.data).is_ok()
    }

    fn end(&mut self, _events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        Err(truncated("the answer ended without `response.completed`"))
    }

    fn take_usage(&mut self) -> Option<Usage> {
        self.usage.take()
    }
}

impl ResponsesAnswer {
    fn added(
        &mut self,
        index: u32,
        item: Item,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        match item {
            Item::FunctionCall { call_id, name, arguments: _ } => {
                self.calls.open(index, call_id, name, events)
            }
            Item::Reasoning | Item::Message { .. } | Item::Other => Ok(()),
        }
    }

    fn done(
        &mut self,
        index: u32,
        item: Value,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        match read(&item)? {
            Item::FunctionCall { call_id, name, arguments } => {
                if !self.calls.has(index) {
                    self.calls.open(index, call_id, name, events)?;
                }
                self.calls.close(index, arguments.as_deref(), events);
            }
            Item::Reasoning => self.reasoning.push(item),
            Item::Message { .. } | Item::Other => {}
        }
        Ok(())
    }

    fn complete(
        &mut self,
        response: Response,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure> {
        self.usage = response.usage.map(Into::into);
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(frame_failure(&error));
        }
        let cause = response.incomplete_details.and_then(|details| details.reason);
        let reason = finish_reason(response.status.as_deref(), cause.as_deref())?;
        let (reason, ends) = std::mem::take(&mut self.calls).ending(reason)?;
        events.extend(std::mem::take(&mut self.reasoning).into_iter().map(ModelEvent::Reasoning));
        events.extend(ends);
        events.extend(self.take_usage().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        Ok(Flow::Over)
    }
}

impl Part {
    fn text(self) -> Option<ModelEvent> {
        match self {
            Self::OutputText { text } | Self::Refusal { refusal: text } => {
                Some(ModelEvent::TextDelta(text))
            }
            Self::Other => None,
        }
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cached = usage.input_tokens_details.and_then(|details| details.cached_tokens);
        Self {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: cached.unwrap_or(0),
            // This wire does not say what it wrote into its cache.
            cache_write: 0,
            cost: None,
        }
    }
}

/// An unknown status or cause may mean anything, so it is not a success.
fn finish_reason(status: Option<&str>, cause: Option<&str>) -> Result<FinishReason, ModelFailure> {
    Ok(match (status, cause) {
        (Some("completed"), _) => FinishReason::Stop,
        (Some("incomplete"), Some("max_output_tokens" | "max_tokens")) => FinishReason::Length,
        (Some("incomplete"), Some("content_filter")) => FinishReason::ContentFilter,
        (status, cause) => {
            let words = [status, cause].into_iter().flatten().collect::<Vec<_>>().join(", ");
            return Err(truncated(format!("the answer is not complete: {words}")));
        }
    })
}

fn read(item: &Value) -> Result<Item, ModelFailure> {
    Item::deserialize(item)
        .map_err(|error| garbage(format!("an item is not what the wire has: {error}")))
}
