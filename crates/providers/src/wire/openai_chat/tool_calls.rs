//! Tool calls while their pieces arrive. A call becomes executable only in `finish`.

use onyx_types::{FinishReason, ModelEvent, ModelFailure, ToolUseId};
use serde::Deserialize;

use crate::wire::calls::{CallError, MAX_CALLS, arguments, settled};
use crate::wire::reader::truncated;

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

impl ToolCalls {
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

    /// The corrected finish reason, and the executable calls: all or none.
    pub(super) fn ending(
        self,
        reason: FinishReason,
    ) -> Result<(FinishReason, Vec<ModelEvent>), ModelFailure> {
        let reason = settled(reason, self.calls.len());
        let ends = match reason {
            FinishReason::Stop | FinishReason::ToolCalls => {
                let ends: Result<_, _> = self.calls.into_iter().map(OpenCall::finish).collect();
                ends.map_err(|error| truncated(error.to_string()))?
            }
            // The answer was stopped half-way, so its calls may be incomplete.
            FinishReason::Length | FinishReason::ContentFilter => Vec::new(),
        };
        Ok((reason, ends))
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
        Ok(ModelEvent::ToolCallEnd {
            index: self.index,
            id: ToolUseId(self.id),
            name: self.name,
            arguments: arguments(&self.arguments)?,
            provider_data: None,
        })
    }
}
