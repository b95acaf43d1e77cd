//! Events of the service into ours. A pure fold.

use aws_sdk_bedrockruntime::types::{
    ContentBlockDelta, ContentBlockStart, ConverseStreamOutput, ReasoningContentBlockDelta,
    StopReason, TokenUsage,
};
use aws_smithy_types::base64;
use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass, ToolUseId, Usage};
use serde_json::{Value, json};

use crate::failure::failure;

/// Complete with `messageStop` and the end of the stream; usage stands between the two.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    calls: Vec<Call>,
    thought: Thought,
    reasoning: Vec<Value>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

#[derive(Debug)]
struct Call {
    index: u32,
    id: String,
    name: String,
    arguments: String,
    closed: bool,
}

#[derive(Debug, Default)]
struct Thought {
    text: String,
    signature: String,
    redacted: Vec<u8>,
}

impl Answer {
    pub(crate) fn event(&mut self, event: ConverseStreamOutput, events: &mut Vec<ModelEvent>) {
        match event {
            ConverseStreamOutput::ContentBlockStart(start) => {
                if let Some(ContentBlockStart::ToolUse(call)) = start.start {
                    self.open(
                        number(start.content_block_index),
                        call.tool_use_id,
                        call.name,
                        events,
                    );
                }
            }
            ConverseStreamOutput::ContentBlockDelta(delta) => {
                if let Some(piece) = delta.delta {
                    self.delta(number(delta.content_block_index), piece, events);
                }
            }
            ConverseStreamOutput::ContentBlockStop(stop) => {
                self.close(number(stop.content_block_index));
            }
            ConverseStreamOutput::MessageStop(stop) => self.stop = Some(stop.stop_reason),
            ConverseStreamOutput::Metadata(metadata) => {
                self.usage = metadata.usage.as_ref().map(usage).or(self.usage.take());
            }
            // The start says nothing, and later versions may add what we do not know.
            _ => {}
        }
    }

    /// The stream ended properly: with a stop reason it is an answer, without it is none.
    pub(crate) fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let stop = self.stop.take();
        let stop = stop.ok_or_else(|| truncated("the answer ended without a stop reason"))?;
        let reason = finish_reason(&stop)?;
        let calls = std::mem::take(&mut self.calls);
        let reason = match reason {
            FinishReason::Stop if !calls.is_empty() => FinishReason::ToolCalls,
            FinishReason::Stop
            | FinishReason::ToolCalls
            | FinishReason::Length
            | FinishReason::ContentFilter => reason,
        };
        let ends: Vec<ModelEvent> = match reason {
            FinishReason::Stop | FinishReason::ToolCalls => {
                calls.into_iter().map(Call::end).collect::<Result<_, _>>()?
            }
            // The answer was stopped half-way, so whatever calls it holds may be half.
            FinishReason::Length | FinishReason::ContentFilter => Vec::new(),
        };
        events.extend(std::mem::take(&mut self.reasoning).into_iter().map(ModelEvent::Reasoning));
        events.extend(ends);
        events.extend(self.take_usage().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        Ok(())
    }

    /// What was counted was paid for, whatever came after.
    pub(crate) fn take_usage(&mut self) -> Option<Usage> {
        self.usage.take()
    }

    fn open(&mut self, index: u32, id: String, name: String, events: &mut Vec<ModelEvent>) {
        let start =
            ModelEvent::ToolCallStart { index, id: ToolUseId(id.clone()), name: name.clone() };
        events.push(start);
        self.calls.push(Call { index, id, name, arguments: String::new(), closed: false });
    }

    fn delta(&mut self, index: u32, delta: ContentBlockDelta, events: &mut Vec<ModelEvent>) {
        match delta {
            ContentBlockDelta::Text(text) if !text.is_empty() => {
                events.push(ModelEvent::TextDelta(text));
            }
            ContentBlockDelta::ToolUse(piece) if !piece.input.is_empty() => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
                    call.arguments.push_str(&piece.input);
                    events.push(ModelEvent::ToolCallDelta { index, arguments: piece.input });
                }
            }
            ContentBlockDelta::ReasoningContent(piece) => self.think(piece, events),
            _ => {}
        }
    }

    fn think(&mut self, piece: ReasoningContentBlockDelta, events: &mut Vec<ModelEvent>) {
        match piece {
            ReasoningContentBlockDelta::Text(text) => {
                self.thought.text.push_str(&text);
                events.push(ModelEvent::ReasoningDelta(text));
            }
            ReasoningContentBlockDelta::Signature(signature) => {
                self.thought.signature.push_str(&signature);
            }
            ReasoningContentBlockDelta::RedactedContent(bytes) => {
                self.thought.redacted.extend_from_slice(bytes.as_ref());
            }
            _ => {}
        }
    }

    /// Blocks come one after the other, so what was thought belongs to the one that ends.
    fn close(&mut self, index: u32) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.closed = true;
        }
        let thought = std::mem::take(&mut self.thought);
        if !thought.redacted.is_empty() {
            self.reasoning.push(json!({"redactedContent": base64::encode(thought.redacted)}));
        }
        // Without its signature the service would refuse it, so it is not kept.
        if !thought.signature.is_empty() {
            self.reasoning.push(json!({"text": thought.text, "signature": thought.signature}));
        }
    }
}

impl Call {
    fn end(self) -> Result<ModelEvent, ModelFailure> {
        if !self.closed {
            return Err(truncated("a tool call was not brought to its end"));
        }
        let text = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        let arguments = serde_json::from_str(text)
            .map_err(|_| truncated("the arguments of a tool call are not whole JSON"))?;
        Ok(ModelEvent::ToolCallEnd {
            index: self.index,
            id: ToolUseId(self.id),
            name: self.name,
            arguments,
            provider_data: None,
        })
    }
}

/// An unknown reason may mean anything, so it is no success.
fn finish_reason(stop: &StopReason) -> Result<FinishReason, ModelFailure> {
    Ok(match stop {
        StopReason::EndTurn | StopReason::StopSequence => FinishReason::Stop,
        StopReason::ToolUse => FinishReason::ToolCalls,
        StopReason::MaxTokens | StopReason::ModelContextWindowExceeded => FinishReason::Length,
        StopReason::ContentFiltered | StopReason::GuardrailIntervened => {
            FinishReason::ContentFilter
        }
        other => {
            let message = format!("the answer ended for an unknown reason: {}", other.as_str());
            return Err(truncated(message));
        }
    })
}

/// Cached tokens are counted beside the others.
fn usage(usage: &TokenUsage) -> Usage {
    let count = |tokens: i32| u64::try_from(tokens).unwrap_or(0);
    let cache_read = count(usage.cache_read_input_tokens.unwrap_or(0));
    let cache_write = count(usage.cache_write_input_tokens.unwrap_or(0));
    Usage {
        input: count(usage.input_tokens) + cache_read + cache_write,
        output: count(usage.output_tokens),
        cache_read,
        cache_write,
        cost: None,
    }
}

fn number(index: i32) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn truncated(message: impl Into<String>) -> ModelFailure {
    failure(ModelFailureClass::Truncated, message)
}
