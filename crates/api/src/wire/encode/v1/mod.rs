//! The formats of other makers' clients: one answer in parts, and a writer per format.

mod chat;
mod messages;
mod parts;
mod responses;
mod whole_answer;

pub use chat::ChatChunks;
pub use messages::MessageEvents;
pub use parts::{AnswerFold, AnswerPart, Finish, ModelFold};
pub use responses::ResponseEvents;
pub use whole_answer::{WholeAnswer, WholeFold};

use bytes::Bytes;
use onyx_surface::Encoder;
use onyx_types::{Envelope, Usage};
use serde_json::{Map, Value};

pub use crate::wire::{ToolForm, ToolForms};

/// The fields of an answer beside its content, the same in every format.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerHead {
    /// The bare id; each format adds its own prefix.
    pub id: String,
    /// The model as the client named it.
    pub model: String,
    /// Seconds since the epoch.
    pub created: i64,
    /// The session of the conversation; none for requests that pass through.
    pub session: Option<String>,
    pub usage: StreamUsage,
    /// The fields of the request that the answer repeats, in formats that do.
    pub echo: Map<String, Value>,
    /// Tools whose calls are not written as functions.
    pub forms: ToolForms,
}

/// Whether a stream of chat chunks ends with a chunk that holds the usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamUsage {
    Told,
    #[default]
    Silent,
}

/// Writes the steps of one answer.
pub trait AnswerWriter: Send {
    fn write(&mut self, part: &AnswerPart) -> Vec<Bytes>;
}

impl<W: AnswerWriter + ?Sized> AnswerWriter for Box<W> {
    fn write(&mut self, part: &AnswerPart) -> Vec<Bytes> {
        (**self).write(part)
    }
}

/// A run in another maker's format.
pub struct StreamedRun<W> {
    fold: AnswerFold,
    writer: W,
}

impl<W: AnswerWriter> StreamedRun<W> {
    pub fn new(fold: AnswerFold, writer: W) -> Self {
        Self { fold, writer }
    }
}

impl<W: AnswerWriter> Encoder for StreamedRun<W> {
    type Frame = Bytes;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        let parts = self.fold.event(envelope);
        parts.iter().flat_map(|part| self.writer.write(part)).collect()
    }

    fn finish(&mut self) -> Vec<Bytes> {
        let parts = self.fold.finish();
        parts.iter().flat_map(|part| self.writer.write(part)).collect()
    }
}

/// All tokens of the prompt, including the cached ones, as OpenAI counts them.
fn openai_total(usage: &Usage) -> u64 {
    usage.input + usage.output
}

fn data_frame(body: &Value) -> Bytes {
    format!("data: {body}\n\n").into()
}

/// An event whose name is the `type` of its body.
fn named_frame(body: &Value) -> Bytes {
    format!("event: {}\ndata: {body}\n\n", body["type"].as_str().unwrap_or_default()).into()
}
