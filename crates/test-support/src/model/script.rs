//! The content of a scripted answer, independent of the wire format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One answer of the model as a list of steps; every wire encodes the same script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub steps: Vec<Step>,
    #[serde(default)]
    pub terminator: Terminator,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Text(String),
    Reasoning(String),
    /// The calls of one response. A wire that numbers its calls interleaves their pieces.
    ToolCalls(Vec<ScriptedCall>),
    Usage(ScriptedUsage),
    Finish(Finish),
    /// An error frame inside a stream that began with status 200.
    Error(ScriptedError),
    /// Bytes that are sent unchanged: garbage, comments, frames that no encoder would make.
    Raw(String),
    PauseMs(u64),
    /// Sends nothing more and keeps the connection open.
    Hang,
}

/// Whether the wire's last frame (such as `[DONE]`) follows the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminator {
    #[default]
    Sent,
    Withheld,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    pub id: String,
    pub name: String,
    /// The arguments as they are sent, piece by piece; together they need not be valid JSON.
    pub pieces: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedUsage {
    /// All tokens of the prompt, including cached ones.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    pub kind: ErrorKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    RateLimited,
    Overloaded,
    Auth,
    ContextLength,
    InvalidRequest,
    ContentFilter,
    Server,
}

impl Script {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), terminator: Terminator::Sent }
    }

    /// A normal answer: the text as one piece, usage, `stop`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::text_pieces([text.into()])
    }

    /// A normal answer whose text comes in these pieces.
    pub fn text_pieces<T: Into<String>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let steps = pieces.into_iter().map(|piece| Step::Text(piece.into()));
        Self::new(steps).ended(Finish::Stop)
    }

    /// A normal answer that asks for tools.
    pub fn tool_calls(calls: impl IntoIterator<Item = ScriptedCall>) -> Self {
        let step = Step::ToolCalls(calls.into_iter().collect());
        Self::new([step]).ended(Finish::ToolCalls)
    }

    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds usage and the finish reason.
    #[must_use]
    pub fn ended(self, finish: Finish) -> Self {
        self.then(Step::Usage(ScriptedUsage { input: 10, output: 5, ..ScriptedUsage::default() }))
            .then(Step::Finish(finish))
    }

    #[must_use]
    pub fn without_terminator(mut self) -> Self {
        self.terminator = Terminator::Withheld;
        self
    }

    /// The last usage of this script.
    pub fn usage(&self) -> Option<ScriptedUsage> {
        self.steps
            .iter()
            .rev()
            .find_map(|step| if let Step::Usage(usage) = step { Some(*usage) } else { None })
    }

    pub fn finish(&self) -> Option<Finish> {
        self.steps
            .iter()
            .rev()
            .find_map(|step| if let Step::Finish(finish) = step { Some(*finish) } else { None })
    }

    pub fn calls(&self) -> impl Iterator<Item = &ScriptedCall> {
        self.steps
            .iter()
            .flat_map(|step| if let Step::ToolCalls(calls) = step { calls.as_slice() } else { &[] })
    }

    pub fn whole_text(&self) -> String {
        let texts = self.steps.iter().filter_map(|step| {
            if let Step::Text(text) = step { Some(text.as_str()) } else { None }
        });
        texts.collect()
    }

    pub fn whole_reasoning(&self) -> String {
        let texts = self.steps.iter().filter_map(|step| {
            if let Step::Reasoning(text) = step { Some(text.as_str()) } else { None }
        });
        texts.collect()
    }

    /// The error frame of this script, if it has one.
    pub fn error(&self) -> Option<&ScriptedError> {
        self.steps
            .iter()
            .find_map(|step| if let Step::Error(error) = step { Some(error) } else { None })
    }
}

impl ScriptedCall {
    /// A call whose arguments arrive in one piece.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self { id: id.into(), name: name.into(), pieces: vec![arguments.to_string()] }
    }

    /// The call with its arguments cut into pieces of `size` characters.
    #[must_use]
    pub fn split(mut self, size: usize) -> Self {
        let characters: Vec<char> = self.pieces.concat().chars().collect();
        self.pieces = characters.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect();
        self
    }

    pub fn arguments(&self) -> String {
        self.pieces.concat()
    }

    /// The arguments for a wire that writes them as an object and so cannot send a part of one.
    pub fn json_arguments(&self) -> Value {
        serde_json::from_str(&self.arguments()).expect("this wire sends whole arguments only")
    }
}

impl ScriptedError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
