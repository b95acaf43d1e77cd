//! Turns events of the service into ours. It is a pure fold.

use aws_sdk_bedrockruntime::types::{
    ContentBlockDelta, ContentBlockStart, ConverseStreamOutput, ReasoningContentBlockDelta,
    StopReason, TokenUsage,
};
use aws_smithy_types::base64;
use onyx_providers::wire::{Calls, failure};
use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass, Usage};
use serde_json::{Value, json};

/// An answer that is complete with `messageStop` and the end of the stream; the usage comes between
/// the two.
#[derive(Debug, Default)]
pub(crate) struct ConverseAnswer {
    calls: Calls,
    /// The failure if the stream contained something invalid; it is reported when the stream ends.
    broken: Option<ModelFailure>,
    thought: Thought,
    reasoning: Vec<Value>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

#[derive(Debug, Default)]
struct Thought {
    text: String,
    signature: String,
    redacted: Vec<u8>,
}

impl ConverseAnswer {
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
                self.close(number(stop.content_block_index), events);
            }
            ConverseStreamOutput::MessageStop(stop) => self.stop = Some(stop.stop_reason),
            ConverseStreamOutput::Metadata(metadata) => {
                self.usage = metadata.usage.as_ref().map(usage).or(self.usage.take());
            }
            // The start has no content, and later versions may add unknown events.
            _ => {}
        }
    }

    /// Called when the stream ended properly: with a stop reason the answer is complete, without
    /// one it is truncated.
    pub(crate) fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let stop = self.stop.take();
        let stop = stop.ok_or_else(|| truncated("the answer ended without a stop reason"))?;
        let reason = finish_reason(&stop)?;
        if let Some(broken) = self.broken.take() {
            return Err(broken);
        }
        let (reason, ends) = std::mem::take(&mut self.calls).ending(reason)?;
        events.extend(std::mem::take(&mut self.reasoning).into_iter().map(ModelEvent::Reasoning));
        events.extend(ends);
        events.extend(self.take_usage().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        Ok(())
    }

    /// The usage counted so far, which was charged even if the rest of the answer fails.
    pub(crate) fn take_usage(&mut self) -> Option<Usage> {
        self.usage.take()
    }

    fn open(&mut self, index: u32, id: String, name: String, events: &mut Vec<ModelEvent>) {
        if let Err(failure) = self.calls.open(index, id, name, events) {
            self.broken.get_or_insert(failure);
        }
    }

    fn delta(&mut self, index: u32, delta: ContentBlockDelta, events: &mut Vec<ModelEvent>) {
        match delta {
            ContentBlockDelta::Text(text) if !text.is_empty() => {
                events.push(ModelEvent::TextDelta(text));
            }
            ContentBlockDelta::ToolUse(piece) => self.calls.piece(index, &piece.input, events),
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

    /// Blocks come one after the other, so the collected reasoning belongs to the block that ends.
    fn close(&mut self, index: u32, events: &mut Vec<ModelEvent>) {
        self.calls.close(index, None, events);
        let thought = std::mem::take(&mut self.thought);
        if !thought.redacted.is_empty() {
            self.reasoning.push(json!({"redactedContent": base64::encode(thought.redacted)}));
        }
        // The service would refuse reasoning without its signature, so unsigned reasoning is
        // dropped.
        if !thought.signature.is_empty() {
            self.reasoning.push(json!({"text": thought.text, "signature": thought.signature}));
        }
    }
}

/// An unknown reason may mean anything, so it is not a success.
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

/// The usage in our form. The service counts cached tokens beside the other input tokens.
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
