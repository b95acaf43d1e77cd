use onyx_types::{Fault, ToolUseId, Usage};
use serde_json::Value;

use super::parts::{AnswerPart, Finish};

/// An answer in one piece.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeAnswer {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<(ToolUseId, String, Value)>,
    pub finish: Finish,
    pub usage: Usage,
}

/// Gathers parts until the last.
#[derive(Debug, Default)]
pub struct WholeFold {
    text: String,
    reasoning: String,
    calls: Vec<(ToolUseId, String, Value)>,
}

impl WholeFold {
    /// Adds a part. After the last one, returns the answer, or why there is none.
    pub fn add(&mut self, part: AnswerPart) -> Option<Result<WholeAnswer, Fault>> {
        match part {
            AnswerPart::Begin => {}
            AnswerPart::Text(text) => self.text.push_str(&text),
            AnswerPart::Reasoning(text) => self.reasoning.push_str(&text),
            AnswerPart::Call { id, name, arguments } => self.calls.push((id, name, arguments)),
            AnswerPart::End { finish, usage } => {
                let Self { text, reasoning, calls } = std::mem::take(self);
                return Some(Ok(WholeAnswer { text, reasoning, calls, finish, usage }));
            }
            AnswerPart::Failed(fault) => return Some(Err(fault)),
        }
        None
    }
}
