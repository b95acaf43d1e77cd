//! One answer of the model while the CLI streams it. A pure fold over the Messages API's events.

use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass, ToolUseId};
use serde_json::Value;

use super::protocol::TOOL_PREFIX;
use super::tools::Call;
use crate::failure::failure;
use crate::wire::anthropic::AnthropicAnswer;
use crate::wire::reader::{AnswerReader, Flow};
use crate::wire::sse::SseEvent;

/// The model's last message, by which a conversation is recognised.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LastMessage {
    pub(super) text: String,
    pub(super) calls: Vec<ToolUseId>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    /// The message is complete and asks for tools, and the CLI waits for their results.
    WantsTools,
}

#[derive(Debug, Default)]
pub(super) struct Turn {
    answer: Option<AnthropicAnswer>,
    pub(super) last_message: LastMessage,
    /// The calls as the CLI names them.
    pub(super) calls: Vec<Call>,
    /// The finish reason of a complete message; the CLI has not reported yet whether the turn
    /// succeeded.
    pub(super) finished: Option<FinishReason>,
}

impl Turn {
    pub(super) fn event(
        &mut self,
        event: &Value,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Progress, ModelFailure> {
        if event.get("type").and_then(Value::as_str) == Some("message_start") {
            self.begin()?;
        }
        let Some(answer) = &mut self.answer else { return Ok(Progress::More) };
        let frame = SseEvent { name: None, data: event.to_string() };
        let mut new = Vec::new();
        let flow = answer.frame(&frame, &mut new)?;
        for event in new {
            if let Some(event) = self.note(event) {
                events.push(event);
            }
        }
        if flow == Flow::More {
            return Ok(Progress::More);
        }
        self.answer = None;
        if self.finished == Some(FinishReason::ToolCalls) {
            return Ok(Progress::WantsTools);
        }
        Ok(Progress::More)
    }

    /// The CLI asks the API again when an answer breaks off. Text that was shown cannot be taken
    /// back, so the turn fails: otherwise an answer would begin twice.
    fn begin(&mut self) -> Result<(), ModelFailure> {
        if self.answer.is_some() && !self.last_message.text.is_empty() {
            let message = "the answer broke off and was begun again";
            return Err(failure(ModelFailureClass::Truncated, message));
        }
        self.answer = Some(AnthropicAnswer::default());
        Ok(())
    }

    /// The event with our name for the tool. The finish event is held back until the CLI has
    /// confirmed it.
    fn note(&mut self, mut event: ModelEvent) -> Option<ModelEvent> {
        match &mut event {
            ModelEvent::TextDelta(text) => self.last_message.text.push_str(text),
            ModelEvent::ToolCallStart { name, .. } => strip(name),
            ModelEvent::ToolCallEnd { id, name, arguments, .. } => {
                strip(name);
                self.last_message.calls.push(id.clone());
                let (id, name, arguments) = (id.clone(), name.clone(), arguments.clone());
                self.calls.push(Call { id, name, arguments });
            }
            ModelEvent::Finish(reason) => {
                self.finished = Some(*reason);
                return None;
            }
            ModelEvent::ReasoningDelta(_)
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Notice { .. }
            | ModelEvent::AnsweredBy { .. }
            | ModelEvent::Failed(_) => {}
            // The reasoning stays with the CLI's process and must not be shown elsewhere.
            ModelEvent::Reasoning(_) => return None,
        }
        Some(event)
    }

    /// The usage counted so far, which was charged even if the rest of the answer fails.
    pub(super) fn take_usage(&mut self) -> Option<ModelEvent> {
        self.answer.as_mut()?.take_usage().map(ModelEvent::Usage)
    }
}

fn strip(name: &mut String) {
    if let Some(ours) = name.strip_prefix(TOOL_PREFIX) {
        *name = ours.to_owned();
    }
}
