use onyx_types::{Fault, ToolUseId, Usage};
use serde_json::Value;

use super::steps::{Finish, Step};

/// An answer in one piece.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeAnswer {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<(ToolUseId, String, Value)>,
    pub finish: Finish,
    pub usage: Usage,
}

/// Gathers steps until the last.
#[derive(Debug, Default)]
pub struct WholeFold {
    text: String,
    reasoning: String,
    calls: Vec<(ToolUseId, String, Value)>,
}

impl WholeFold {
    /// The answer, or why there is none, at the last step.
    pub fn step(&mut self, step: Step) -> Option<Result<WholeAnswer, Fault>> {
        match step {
            Step::Begin => {}
            Step::Text(text) => self.text.push_str(&text),
            Step::Reasoning(text) => self.reasoning.push_str(&text),
            Step::Call { id, name, arguments } => self.calls.push((id, name, arguments)),
            Step::End { finish, usage } => {
                let Self { text, reasoning, calls } = std::mem::take(self);
                return Some(Ok(WholeAnswer { text, reasoning, calls, finish, usage }));
            }
            Step::Failed(fault) => return Some(Err(fault)),
        }
        None
    }
}
