//! Finds tool calls in a model's text. A call is never shown to a person as a part of the answer:
//! text that may be a call is held back until that is decided. `forms.rs` knows the forms of calls.

#[cfg(test)]
mod corpus;
mod forms;
mod literal;

use onyx_providers::wire::Calls;
use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass};

use forms::{Reading, WrittenCall, beginning_of_mark, candidate, read};

/// Separates words from calls while they arrive.
#[derive(Debug)]
pub(super) struct Words {
    /// The text that is not decided yet: a call, or text that may become one.
    held: String,
    /// Whether the held text starts at the beginning of a line.
    fresh: bool,
    /// Whether no words have come since the last call.
    after_call: bool,
    calls: Calls,
    count: u32,
    /// Makes the ids of this answer's calls differ from those of others.
    seed: usize,
    /// The tools that the model was offered; `None` if calls are not looked for.
    offered: Option<Vec<String>>,
}

impl Words {
    /// Reads the answer of a model that was offered these tools.
    pub(super) fn with_calls(seed: usize, offered: Vec<String>) -> Self {
        let offered = Some(offered);
        let (held, fresh, calls) = (String::new(), true, Calls::default());
        Self { held, fresh, after_call: false, calls, count: 0, seed, offered }
    }

    pub(super) fn only() -> Self {
        Self { offered: None, ..Self::with_calls(0, Vec::new()) }
    }

    pub(super) fn piece(
        &mut self,
        text: &str,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        if self.offered.is_none() {
            say(text, events);
            return Ok(());
        }
        self.held.push_str(text);
        self.decide(None, events)
    }

    /// Emits the words and calls that are certain. `end` is the reason why the text is complete, if
    /// it is.
    fn decide(
        &mut self,
        end: Option<FinishReason>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        let offered = self.offered.clone().unwrap_or_default();
        loop {
            let Some(at) = candidate(&self.held, self.fresh) else {
                let open =
                    if end.is_some() { 0 } else { beginning_of_mark(&self.held, self.fresh) };
                let certain = self.held.len() - open;
                self.say_before(certain, events);
                return Ok(());
            };
            match read(&self.held[at..], &offered, end.is_some()) {
                Reading::Unfinished if end.is_none() => {
                    // The space before a possible call is not part of the answer yet.
                    let before = self.held[..at].trim_end().len();
                    self.say_before(before, events);
                    return Ok(());
                }
                Reading::Calls(calls, length) => {
                    let before = self.held[..at].trim_end().to_owned();
                    say(&before, events);
                    self.held.drain(..at + length);
                    (self.fresh, self.after_call) = (true, true);
                    for call in calls {
                        self.call(call, events)?;
                    }
                }
                Reading::Mark(length) => {
                    self.say_before(at, events);
                    self.held.drain(..length);
                    self.fresh = true;
                }
                Reading::Words(length) => self.say_before(at + length.max(1), events),
                // A call that the length limit cut off is neither executed nor shown.
                Reading::Broken | Reading::Unfinished if end == Some(FinishReason::Length) => {
                    let before = self.held[..at].trim_end().to_owned();
                    say(&before, events);
                    self.held.clear();
                    return Ok(());
                }
                Reading::Broken | Reading::Unfinished => {
                    return Err(ModelFailure::new(
                        ModelFailureClass::Truncated,
                        "the model wrote a tool call that does not parse",
                    ));
                }
            }
        }
    }

    fn say_before(&mut self, end: usize, events: &mut Vec<ModelEvent>) {
        let mut end = end.min(self.held.len());
        while !self.held.is_char_boundary(end) {
            end += 1;
        }
        let words: String = self.held.drain(..end).collect();
        let separates = |letter: char| letter.is_whitespace() || matches!(letter, ';' | ',');
        if self.after_call && words.chars().all(separates) {
            // Text between two calls, or after the last, is not part of the answer.
            return;
        }
        self.after_call = false;
        let line = words.rsplit('\n').next().unwrap_or_default();
        let begun = !line.trim().is_empty();
        self.fresh = !begun && (self.fresh || words.contains('\n'));
        say(&words, events);
    }

    fn call(
        &mut self,
        call: WrittenCall,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        let index = self.count;
        self.count += 1;
        let id = format!("call_{}_{index}", self.seed);
        self.calls.open(index, id, call.name, events)?;
        self.calls.close(index, Some(&call.arguments.to_string()), events);
        Ok(())
    }

    /// The text that was held back, and the calls that may run.
    pub(super) fn end(
        mut self,
        reason: FinishReason,
        events: &mut Vec<ModelEvent>,
    ) -> Result<FinishReason, ModelFailure> {
        if self.offered.is_some() {
            self.decide(Some(reason), events)?;
        }
        let (reason, ends) = self.calls.ending(reason)?;
        events.extend(ends);
        Ok(reason)
    }
}

fn say(text: &str, events: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        events.push(ModelEvent::TextDelta(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use onyx_types::ToolUseId;
    use serde_json::json;

    use super::*;

    pub(super) fn read(
        pieces: &[&str],
        reason: FinishReason,
    ) -> (Result<FinishReason, ModelFailure>, Vec<ModelEvent>) {
        let offered = ["read", "list_folder", "write_file", "search"].map(str::to_owned);
        let (mut words, mut events) = (Words::with_calls(7, offered.into()), Vec::new());
        for piece in pieces {
            if let Err(failure) = words.piece(piece, &mut events) {
                return (Err(failure), events);
            }
        }
        (words.end(reason, &mut events), events)
    }

    pub(super) fn said(events: &[ModelEvent]) -> String {
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

    #[test]
    fn words_without_marks_are_said_as_they_come() {
        let offered = vec!["read".to_owned()];
        let (mut words, mut events) = (Words::with_calls(0, offered), Vec::new());
        words.piece("Hello there, ", &mut events).unwrap();
        assert_eq!(said(&events), "Hello there, ");
        words.piece("friend.", &mut events).unwrap();
        assert_eq!(said(&events), "Hello there, friend.");
    }
}
