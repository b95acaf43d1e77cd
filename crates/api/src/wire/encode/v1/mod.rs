//! The formats of other makers' clients: one answer told in steps, and a writer per format.

mod chat;
mod messages;
mod responses;
mod steps;
mod whole;

pub use chat::ChatChunks;
pub use messages::MessageEvents;
pub use responses::ResponseEvents;
pub use steps::{AnswerFold, Finish, ModelFold, Step};
pub use whole::{WholeAnswer, WholeFold};

use bytes::Bytes;
use onyx_surface::Encoder;
use onyx_types::{Envelope, Usage};
use serde_json::{Map, Value};

/// What every format says of an answer beside its content.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerHead {
    /// Bare; each format puts its own prefix before it.
    pub id: String,
    /// As the client named it.
    pub model: String,
    /// Seconds since the epoch.
    pub created: i64,
    /// Where the conversation is kept; none for what passes through.
    pub session: Option<String>,
    pub usage: StreamUsage,
    /// What the request said and the answer repeats, in the formats that do.
    pub echo: Map<String, Value>,
}

/// Does a stream of chat chunks end with one that holds the usage?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamUsage {
    Told,
    #[default]
    Silent,
}

/// Writes the steps of one answer.
pub trait StepWriter: Send {
    fn write(&mut self, step: &Step) -> Vec<Bytes>;
}

impl<W: StepWriter + ?Sized> StepWriter for Box<W> {
    fn write(&mut self, step: &Step) -> Vec<Bytes> {
        (**self).write(step)
    }
}

/// A run in a foreign format.
pub struct Streamed<W> {
    fold: AnswerFold,
    writer: W,
}

impl<W: StepWriter> Streamed<W> {
    pub fn new(fold: AnswerFold, writer: W) -> Self {
        Self { fold, writer }
    }
}

impl<W: StepWriter> Encoder for Streamed<W> {
    type Frame = Bytes;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        let steps = self.fold.event(envelope);
        steps.iter().flat_map(|step| self.writer.write(step)).collect()
    }

    fn finish(&mut self) -> Vec<Bytes> {
        let steps = self.fold.finish();
        steps.iter().flat_map(|step| self.writer.write(step)).collect()
    }
}

/// Every token of the prompt, the cached ones included, as OpenAI counts them.
fn openai_total(usage: &Usage) -> u64 {
    usage.input + usage.output
}

fn data_frame(body: &Value) -> Bytes {
    format!("data: {body}\n\n").into()
}

/// An event under the name that its `type` has.
fn named_frame(body: &Value) -> Bytes {
    format!("event: {}\ndata: {body}\n\n", body["type"].as_str().unwrap_or_default()).into()
}
