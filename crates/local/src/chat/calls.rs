//! Tool calls in a model's words: `<tool_call>{"name": …, "arguments": …}</tool_call>`, as Qwen,
//! Hermes and most of those that learned from them write.

use onyx_providers::wire::Calls;
use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass};
use serde::Deserialize;
use serde_json::Value;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// Tells words from calls while they come.
#[derive(Debug)]
pub(super) struct Words {
    /// Not decided yet: a call, or what may become the mark of one.
    held: String,
    calls: Calls,
    count: u32,
    /// Makes the ids of this answer's calls differ from those of others.
    seed: usize,
    tools: bool,
}

#[derive(Deserialize)]
struct Written {
    name: String,
    #[serde(default, alias = "parameters")]
    arguments: Value,
}

impl Words {
    /// For a model that was offered tools.
    pub(super) fn with_calls(seed: usize) -> Self {
        Self { held: String::new(), calls: Calls::default(), count: 0, seed, tools: true }
    }

    pub(super) fn only() -> Self {
        Self { tools: false, ..Self::with_calls(0) }
    }

    pub(super) fn piece(
        &mut self,
        text: &str,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        if !self.tools {
            return say(text, events);
        }
        self.held.push_str(text);
        loop {
            let Some(at) = self.held.find(OPEN) else {
                let certain = self.held.len() - beginning_of_mark(&self.held);
                say(&self.held[..certain], events)?;
                self.held.drain(..certain);
                return Ok(());
            };
            let Some(end) = self.held[at..].find(CLOSE) else { return Ok(()) };
            let (before, call) =
                (self.held[..at].to_owned(), &self.held[at + OPEN.len()..at + end]);
            let call = call.trim().to_owned();
            self.held.drain(..at + end + CLOSE.len());
            say(before.trim_end(), events)?;
            self.call(&call, events)?;
        }
    }

    fn call(&mut self, text: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let written: Written = serde_json::from_str(text).map_err(|error| ModelFailure {
            class: ModelFailureClass::Truncated,
            message: format!("the model wrote a tool call that does not parse: {error}"),
        })?;
        let index = self.count;
        let arguments = match written.arguments {
            // Some write the arguments as text, as OpenAI does.
            Value::String(text) => text,
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        };
        self.count += 1;
        let id = format!("call_{}_{index}", self.seed);
        self.calls.open(index, id, written.name, events)?;
        self.calls.close(index, Some(&arguments), events);
        Ok(())
    }

    /// What was held back, and the calls that may run.
    pub(super) fn end(
        mut self,
        reason: FinishReason,
        events: &mut Vec<ModelEvent>,
    ) -> Result<FinishReason, ModelFailure> {
        let held = std::mem::take(&mut self.held);
        if let Some(rest) = held.trim_start().strip_prefix(OPEN) {
            // Stopped by its end mark instead of the call's: whole if it parses.
            if reason == FinishReason::Stop {
                self.call(rest.trim(), events)?;
            }
        } else if !(self.count > 0 && held.trim().is_empty()) {
            say(&held, events)?;
        }
        let (reason, ends) = self.calls.ending(reason)?;
        events.extend(ends);
        Ok(reason)
    }
}

fn say(text: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
    if !text.is_empty() {
        events.push(ModelEvent::TextDelta(text.to_owned()));
    }
    Ok(())
}

/// The length of the longest end of a text that a mark could begin with.
fn beginning_of_mark(text: &str) -> usize {
    let longest = OPEN.len().min(text.len());
    let fits = |length: &usize| {
        text.is_char_boundary(text.len() - length) && OPEN.starts_with(&text[text.len() - length..])
    };
    (1..=longest).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use onyx_types::ToolUseId;
    use serde_json::json;

    use super::*;

    fn read(
        pieces: &[&str],
        reason: FinishReason,
    ) -> (Result<FinishReason, ModelFailure>, Vec<ModelEvent>) {
        let (mut words, mut events) = (Words::with_calls(7), Vec::new());
        for piece in pieces {
            if let Err(failure) = words.piece(piece, &mut events) {
                return (Err(failure), events);
            }
        }
        (words.end(reason, &mut events), events)
    }

    fn said(events: &[ModelEvent]) -> String {
        let text = |event: &ModelEvent| match event {
            ModelEvent::TextDelta(text) => Some(text.clone()),
            _ => None,
        };
        events.iter().filter_map(text).collect()
    }

    const ANSWER: &str = "Let me look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": \
                          {\"path\": \"a\"}}\n</tool_call>";

    fn read_a() -> ModelEvent {
        ModelEvent::ToolCallEnd {
            index: 0,
            id: ToolUseId("call_7_0".to_owned()),
            name: "read".to_owned(),
            arguments: json!({"path": "a"}),
            provider_data: None,
        }
    }

    #[test]
    fn a_call_is_found_however_the_words_are_cut() {
        for cut in 0..=ANSWER.len() {
            let (reason, events) = read(&[&ANSWER[..cut], &ANSWER[cut..]], FinishReason::Stop);
            assert_eq!(reason.unwrap(), FinishReason::ToolCalls, "cut at {cut}");
            assert_eq!(said(&events).trim_end(), "Let me look.", "cut at {cut}");
            assert_eq!(events.last(), Some(&read_a()), "cut at {cut}");
        }
    }

    #[test]
    fn words_that_look_like_the_mark_are_said() {
        let (reason, events) = read(&["a <", "tool", "box> and <tool_"], FinishReason::Stop);
        assert_eq!(reason.unwrap(), FinishReason::Stop);
        assert_eq!(said(&events), "a <toolbox> and <tool_");
    }

    #[test]
    fn a_call_cut_by_the_length_limit_does_not_run() {
        let (reason, events) = read(&[&ANSWER[..40]], FinishReason::Length);
        assert_eq!(reason.unwrap(), FinishReason::Length);
        assert!(!events.iter().any(|event| matches!(event, ModelEvent::ToolCallEnd { .. })));
    }

    #[test]
    fn a_call_that_does_not_parse_is_an_error_and_no_call() {
        let (reason, events) = read(&["<tool_call>{\"name\": </tool_call>"], FinishReason::Stop);
        assert_eq!(reason.unwrap_err().class, ModelFailureClass::Truncated);
        assert_eq!(events, []);
    }
}
