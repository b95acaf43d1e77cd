//! Tool calls of an answer while it is read. A call becomes executable only in `ending`.

use onyx_types::{FinishReason, ModelEvent, ModelFailure, ToolUseId};
use serde_json::{Map, Value};

use super::reader::{garbage, truncated};

/// Bounds memory against a server that numbers its calls wildly.
pub(super) const MAX_CALLS: usize = 256;

/// Why calls cannot be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    #[error("the model asked for more than {MAX_CALLS} tool calls at once")]
    TooMany,
    #[error("a tool call has no name")]
    Nameless,
    #[error("the arguments of a tool call are not whole JSON")]
    Arguments,
    #[error("a tool call was not finished")]
    Open,
}

/// Calls of a wire that marks where each begins and ends.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    index: u32,
    id: String,
    name: String,
    arguments: String,
    provider_data: Option<Value>,
    closed: bool,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn has(&self, index: u32) -> bool {
        self.calls.iter().any(|call| call.index == index)
    }

    pub fn open(
        &mut self,
        index: u32,
        id: String,
        name: String,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        if self.calls.len() >= MAX_CALLS {
            return Err(garbage(CallError::TooMany.to_string()));
        }
        if name.is_empty() {
            return Err(truncated(CallError::Nameless.to_string()));
        }
        let start =
            ModelEvent::ToolCallStart { index, id: ToolUseId(id.clone()), name: name.clone() };
        events.push(start);
        let (arguments, provider_data) = (String::new(), None);
        self.calls.push(Call { index, id, name, arguments, provider_data, closed: false });
        Ok(())
    }

    /// A piece of a call that is not open is ignored.
    pub fn piece(&mut self, index: u32, arguments: &str, events: &mut Vec<ModelEvent>) {
        let Some(call) = self.calls.iter_mut().find(|call| call.index == index) else { return };
        if !arguments.is_empty() {
            call.arguments.push_str(arguments);
            events.push(ModelEvent::ToolCallDelta { index, arguments: arguments.to_owned() });
        }
    }

    /// Ends a call. Wires that repeat the complete arguments pass them here, and these are used.
    pub fn close(&mut self, index: u32, arguments: Option<&str>, events: &mut Vec<ModelEvent>) {
        if let Some(whole) = arguments
            && let Some(call) = self.calls.iter().find(|call| call.index == index)
            && call.arguments.is_empty()
        {
            self.piece(index, whole, events);
        }
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.closed = true;
            if let Some(whole) = arguments {
                whole.clone_into(&mut call.arguments);
            }
        }
    }

    /// A call that came in one piece.
    pub(super) fn whole(
        &mut self,
        call: WholeCall,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.open(index, call.id, call.name, events)?;
        self.close(index, Some(&call.arguments.to_string()), events);
        if let Some(open) = self.calls.last_mut() {
            open.provider_data = call.provider_data;
        }
        Ok(())
    }

    /// The corrected finish reason, and the executable calls: all or none.
    pub fn ending(
        self,
        reason: FinishReason,
    ) -> Result<(FinishReason, Vec<ModelEvent>), ModelFailure> {
        let reason = settled(reason, self.len());
        let ends = match reason {
            FinishReason::Stop | FinishReason::ToolCalls => self
                .calls
                .into_iter()
                .map(Call::end)
                .collect::<Result<_, _>>()
                .map_err(|error| truncated(error.to_string()))?,
            // The answer was stopped half-way, so its calls may be incomplete.
            FinishReason::Length | FinishReason::ContentFilter => Vec::new(),
        };
        Ok((reason, ends))
    }
}

#[derive(Debug)]
pub(super) struct WholeCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) provider_data: Option<Value>,
}

impl Call {
    fn end(self) -> Result<ModelEvent, CallError> {
        if !self.closed {
            return Err(CallError::Open);
        }
        Ok(ModelEvent::ToolCallEnd {
            index: self.index,
            id: ToolUseId(self.id),
            name: self.name,
            arguments: arguments(&self.arguments)?,
            provider_data: self.provider_data,
        })
    }
}

/// Several servers say `stop` when they mean tool calls.
pub(super) fn settled(reason: FinishReason, calls: usize) -> FinishReason {
    match reason {
        FinishReason::Stop if calls > 0 => FinishReason::ToolCalls,
        FinishReason::Stop
        | FinishReason::ToolCalls
        | FinishReason::Length
        | FinishReason::ContentFilter => reason,
    }
}

pub(super) fn arguments(text: &str) -> Result<Value, CallError> {
    if text.trim().is_empty() {
        // How many servers write a call without arguments.
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text).map_err(|_| CallError::Arguments)
}
