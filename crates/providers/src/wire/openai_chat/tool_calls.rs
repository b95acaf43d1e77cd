//! Tool calls while their pieces arrive. A call becomes executable only in `finish`.

use onyx_types::{ModelEvent, ToolUseId};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Bounds memory against a server that numbers its calls wildly.
const MAX_CALLS: usize = 256;

#[derive(Debug, Deserialize)]
pub(super) struct CallDelta {
    index: Option<u32>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Debug, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    calls: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    index: u32,
    id: String,
    name: String,
    arguments: String,
    started: bool,
}

/// Why calls cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    #[error("the model asked for more than {MAX_CALLS} tool calls at once")]
    TooMany,
    #[error("a tool call has no name")]
    Nameless,
    #[error("the arguments of a tool call are not whole JSON")]
    Arguments,
}

impl ToolCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn push(
        &mut self,
        delta: CallDelta,
        response_id: &str,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), CallError> {
        let position = self.position(&delta)?;
        let call = &mut self.calls[position];
        let (name, arguments) = match delta.function {
            Some(function) => (function.name, function.arguments.unwrap_or_default()),
            None => (None, String::new()),
        };
        // Some servers repeat id and name with each piece; the first ones count.
        if let Some(id) = delta.id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
        events.extend(call.announce(response_id, arguments));
        Ok(())
    }

    /// The executable calls, all or none.
    pub(super) fn finish(self) -> Result<Vec<ModelEvent>, CallError> {
        self.calls.into_iter().map(OpenCall::finish).collect()
    }

    /// Without an index, a new id begins a call and anything else continues the last one.
    fn position(&mut self, delta: &CallDelta) -> Result<usize, CallError> {
        let known = match delta.index {
            Some(index) => self.calls.iter().position(|call| call.index == index),
            None => {
                let continues = |call: &OpenCall| {
                    delta.id.as_ref().is_none_or(|id| *id == call.id || id.is_empty())
                };
                self.calls.iter().rposition(continues)
            }
        };
        if let Some(position) = known {
            return Ok(position);
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(CallError::TooMany);
        }
        let next = self.calls.iter().map(|call| call.index.saturating_add(1)).max().unwrap_or(0);
        self.calls.push(OpenCall {
            index: delta.index.unwrap_or(next),
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
            started: false,
        });
        Ok(self.calls.len() - 1)
    }
}

impl OpenCall {
    fn announce(&mut self, response_id: &str, arguments: String) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        if !self.started && !self.name.is_empty() {
            if self.id.is_empty() {
                // The history pairs calls and results by id, so a call without one gets one.
                self.id = format!("call_{response_id}_{}", self.index);
            }
            self.started = true;
            events.push(ModelEvent::ToolCallStart {
                index: self.index,
                id: ToolUseId(self.id.clone()),
                name: self.name.clone(),
            });
        }
        if self.started && !arguments.is_empty() {
            events.push(ModelEvent::ToolCallDelta { index: self.index, arguments });
        }
        events
    }

    fn finish(self) -> Result<ModelEvent, CallError> {
        if !self.started {
            return Err(CallError::Nameless);
        }
        let arguments = if self.arguments.trim().is_empty() {
            // How many servers write a call without arguments.
            Value::Object(Map::new())
        } else {
            serde_json::from_str(&self.arguments).map_err(|_| CallError::Arguments)?
        };
        Ok(ModelEvent::ToolCallEnd {
            index: self.index,
            id: ToolUseId(self.id),
            name: self.name,
            arguments,
            provider_data: None,
        })
    }
}
