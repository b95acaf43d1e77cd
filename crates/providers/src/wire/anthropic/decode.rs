use onyx_types::{FinishReason, ModelEvent, ModelFailure, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::calls::Calls;
use crate::wire::error::frame_failure;
use crate::wire::reader::{AnswerReader, Flow, Framing, Reader, parse, truncated};
use crate::wire::sse::SseEvent;

pub type AnthropicDecoder = Reader<AnthropicAnswer>;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u32,
        content_block: Content,
    },
    ContentBlockDelta {
        index: u32,
        delta: Delta,
    },
    ContentBlockStop {
        index: u32,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<WireUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// The whole answer, which did not come as a stream.
    Message {
        content: Vec<Content>,
        stop_reason: Option<String>,
        usage: Option<WireUsage>,
    },
    /// Pings, and what later versions add.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Start {
    usage: Option<WireUsage>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        signature: Option<String>,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Option<Value>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

/// Cached tokens are counted beside `input_tokens`, not in it. Later counts replace earlier ones.
#[derive(Debug, Default, Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// An answer that is complete with `message_stop`, which follows the stop reason.
#[derive(Debug, Default)]
pub struct AnthropicAnswer {
    calls: Calls,
    thinking: Option<Thinking>,
    reasoning: Vec<Value>,
    usage: Option<WireUsage>,
    finish: Option<FinishReason>,
}

/// The open thinking block.
#[derive(Debug)]
struct Thinking {
    index: u32,
    text: String,
    signature: String,
}

impl AnswerReader for AnthropicAnswer {
    const FRAMING: Framing = Framing::Sse;

    fn frame(
        &mut self,
        frame: &SseEvent,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure> {
        match parse(&frame.data)? {
            Event::MessageStart { message } => self.count(message.usage),
            Event::ContentBlockStart { index, content_block } => {
                self.start(index, content_block, events)?;
            }
            Event::ContentBlockDelta { index, delta } => self.delta(index, delta, events),
            Event::ContentBlockStop { index } => self.stop(index, events),
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
                if let Some(reason) = delta.stop_reason {
                    self.finish = Some(finish_reason(&reason)?);
                }
            }
            Event::MessageStop => return self.complete(events).map(|()| Flow::Over),
            Event::Error { error } => return Err(frame_failure(&error)),
            Event::Message { content, stop_reason, usage } => {
                self.message(content, events)?;
                self.count(usage);
                let reason = stop_reason.ok_or_else(|| truncated(NO_REASON))?;
                self.finish = Some(finish_reason(&reason)?);
                return self.complete(events).map(|()| Flow::Over);
            }
            Event::Other => {}
        }
        Ok(Flow::More)
    }

    fn is_whole(frame: &SseEvent) -> bool {
        serde_json::from_str::<Event>(&frame.data).is_ok()
    }

    fn end(&mut self, _events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        Err(truncated("the answer ended without `message_stop`"))
    }

    fn take_usage(&mut self) -> Option<Usage> {
        self.usage.take().map(Into::into)
    }
}

const NO_REASON: &str = "the answer ended without a stop reason";

impl AnthropicAnswer {
    fn start(
        &mut self,
        index: u32,
        content: Content,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        match content {
            Content::Text { text } => events.extend(non_empty(text).map(ModelEvent::TextDelta)),
            Content::Thinking { thinking, signature } => {
                events.extend(non_empty(thinking.clone()).map(ModelEvent::ReasoningDelta));
                let signature = signature.unwrap_or_default();
                self.thinking = Some(Thinking { index, text: thinking, signature });
            }
            Content::RedactedThinking { data } => {
                self.reasoning.push(json!({"type": "redacted_thinking", "data": data}));
            }
            // In a stream the input is empty here and comes in pieces.
            Content::ToolUse { id, name, input: _ } => self.calls.open(index, id, name, events)?,
            Content::Other => {}
        }
        Ok(())
    }

    fn delta(&mut self, index: u32, delta: Delta, events: &mut Vec<ModelEvent>) {
        let thinking = self.thinking.as_mut().filter(|thinking| thinking.index == index);
        match (delta, thinking) {
            (Delta::Text { text }, _) => events.extend(non_empty(text).map(ModelEvent::TextDelta)),
            (Delta::InputJson { partial_json }, _) => {
                self.calls.piece(index, &partial_json, events);
            }
            (Delta::Thinking { thinking: text }, Some(thinking)) => {
                thinking.text.push_str(&text);
                events.extend(non_empty(text).map(ModelEvent::ReasoningDelta));
            }
            (Delta::Signature { signature }, Some(thinking)) => {
                thinking.signature.push_str(&signature);
            }
            (Delta::Thinking { .. } | Delta::Signature { .. }, None) | (Delta::Other, _) => {}
        }
    }

    fn stop(&mut self, index: u32, events: &mut Vec<ModelEvent>) {
        self.calls.close(index, None, events);
        // The server would refuse thinking without its signature, so unsigned thinking is dropped.
        if let Some(thinking) = self.thinking.take_if(|thinking| thinking.index == index)
            && !thinking.signature.is_empty()
        {
            self.reasoning.push(json!({
                "type": "thinking",
                "thinking": thinking.text,
                "signature": thinking.signature,
            }));
        }
    }

    fn message(
        &mut self,
        content: Vec<Content>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        for (index, content) in (0_u32..).zip(content) {
            let input = match &content {
                Content::ToolUse { input, .. } => input.as_ref().map(Value::to_string),
                Content::Text { .. }
                | Content::Thinking { .. }
                | Content::RedactedThinking { .. }
                | Content::Other => None,
            };
            self.start(index, content, events)?;
            self.calls.piece(index, input.as_deref().unwrap_or_default(), events);
            self.stop(index, events);
        }
        Ok(())
    }

    fn count(&mut self, usage: Option<WireUsage>) {
        let Some(new) = usage else { return };
        let old = self.usage.take().unwrap_or_default();
        self.usage = Some(WireUsage {
            input_tokens: new.input_tokens.or(old.input_tokens),
            output_tokens: new.output_tokens.or(old.output_tokens),
            cache_read_input_tokens: new.cache_read_input_tokens.or(old.cache_read_input_tokens),
            cache_creation_input_tokens: new
                .cache_creation_input_tokens
                .or(old.cache_creation_input_tokens),
        });
    }

    fn complete(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let reason = self.finish.ok_or_else(|| truncated(NO_REASON))?;
        let (reason, ends) = std::mem::take(&mut self.calls).ending(reason)?;
        events.extend(std::mem::take(&mut self.reasoning).into_iter().map(ModelEvent::Reasoning));
        events.extend(ends);
        events.extend(self.take_usage().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        Ok(())
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cache_read = usage.cache_read_input_tokens.unwrap_or(0);
        let cache_write = usage.cache_creation_input_tokens.unwrap_or(0);
        Self {
            input: usage.input_tokens.unwrap_or(0) + cache_read + cache_write,
            output: usage.output_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            cost: None,
        }
    }
}

/// An unknown reason may mean anything, so it is not a success.
fn finish_reason(reason: &str) -> Result<FinishReason, ModelFailure> {
    Ok(match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        other => {
            return Err(truncated(format!("the answer ended for an unknown reason: {other}")));
        }
    })
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
