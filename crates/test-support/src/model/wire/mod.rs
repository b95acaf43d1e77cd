//! One encoder for each wire format, which turns the steps of a script into frames of bytes.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use crate::model::answer::LineEnd;
use crate::model::script::{Script, ScriptedError, Step};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

/// The wire formats that the scripted server supports. A new one needs a variant and a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Ollama,
}

/// An encoded stream: frames, and the pauses between them.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    items: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Bytes(Bytes),
    Pause(Duration),
    Hang,
}

impl Wire {
    pub const ALL: [Self; 5] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// The wire that a request path belongs to.
    pub fn of_path(path: &str) -> Option<Self> {
        let method = path.rsplit(':').next().unwrap_or_default();
        if matches!(method, "streamGenerateContent" | "generateContent") {
            return Some(Self::Gemini);
        }
        let routes = [
            ("/chat/completions", Self::OpenAiChat),
            ("/responses", Self::OpenAiResponses),
            ("/messages", Self::Anthropic),
            ("/api/chat", Self::Ollama),
        ];
        routes.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| wire)
    }

    pub fn stream_content_type(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Gemini => {
                "text/event-stream"
            }
            Self::Ollama => "application/x-ndjson",
        }
    }

    /// Whether the request asks for a stream.
    pub fn wants_stream(self, path: &str, body: &Value) -> bool {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic => body["stream"] == true,
            Self::Gemini => path.ends_with(":streamGenerateContent"),
            Self::Ollama => body["stream"] != false,
        }
    }

    /// The script as a stream of this wire. `request` supplies the values that the wire echoes (the
    /// model).
    pub fn stream(self, script: &Script, request: &Value) -> Frames {
        match self {
            Self::OpenAiChat => openai_chat::stream(script, request),
            Self::OpenAiResponses => openai_responses::stream(script, request),
            Self::Anthropic => anthropic::stream(script, request),
            Self::Gemini => gemini::stream(script),
            Self::Ollama => ollama::stream(script, request),
        }
    }

    /// The script as one body.
    pub fn complete(self, script: &Script, request: &Value) -> Value {
        match self {
            Self::OpenAiChat => openai_chat::complete(script, request),
            Self::OpenAiResponses => openai_responses::complete(script, request),
            Self::Anthropic => anthropic::complete(script, request),
            Self::Gemini => gemini::complete(script),
            Self::Ollama => ollama::complete(script, request),
        }
    }

    /// Status and body of an error before any content.
    pub fn error(self, error: &ScriptedError) -> (u16, Value) {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => openai_chat::error(error),
            Self::Anthropic => anthropic::error(error),
            Self::Gemini => gemini::error(error),
            Self::Ollama => ollama::error(error),
        }
    }
}

/// An event whose name is its `type`.
fn named_event(body: &Value) -> String {
    format!("event: {}\ndata: {body}\n\n", body["type"].as_str().unwrap_or_default())
}

impl Frames {
    pub fn items(&self) -> &[Frame] {
        &self.items
    }

    /// All bytes of the stream, without the pauses.
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces().flatten().copied().collect()
    }

    /// The offset after each frame.
    pub fn boundaries(&self) -> Vec<usize> {
        self.pieces()
            .scan(0, |offset, piece| {
                *offset += piece.len();
                Some(*offset)
            })
            .collect()
    }

    /// The frames as one gzip stream, flushed after each so that each arrives by itself.
    #[must_use]
    pub fn gzipped(self) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut items: Vec<Frame> = Vec::new();
        for item in self.items {
            items.push(match item {
                Frame::Bytes(bytes) => {
                    encoder.write_all(&bytes).expect("memory takes what is written");
                    encoder.flush().expect("memory takes what is written");
                    Frame::Bytes(std::mem::take(encoder.get_mut()).into())
                }
                Frame::Pause(_) | Frame::Hang => item,
            });
        }
        let end = encoder.finish().expect("memory takes what is written");
        items.push(Frame::Bytes(end.into()));
        Self { items }
    }

    #[must_use]
    pub fn with_line_end(mut self, line_end: LineEnd) -> Self {
        let ending = match line_end {
            LineEnd::Lf => return self,
            LineEnd::Crlf => "\r\n",
            LineEnd::Cr => "\r",
        };
        for item in &mut self.items {
            if let Frame::Bytes(bytes) = item {
                let text = String::from_utf8(bytes.to_vec()).expect("frames are text");
                *bytes = Bytes::from(text.replace('\n', ending));
            }
        }
        self
    }

    fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.items.iter().filter_map(|item| match item {
            Frame::Bytes(bytes) => Some(bytes),
            Frame::Pause(_) | Frame::Hang => None,
        })
    }

    pub(crate) fn of_body(body: Bytes) -> Self {
        Self { items: vec![Frame::Bytes(body)] }
    }

    fn push(&mut self, frame: impl Into<Bytes>) {
        self.items.push(Frame::Bytes(frame.into()));
    }

    /// The steps that mean the same on every wire. Returns false for the others.
    fn push_common(&mut self, step: &Step) -> bool {
        match step {
            Step::Raw(text) => self.push(text.clone()),
            Step::PauseMs(milliseconds) => {
                self.items.push(Frame::Pause(Duration::from_millis(*milliseconds)))
            }
            Step::Hang => self.items.push(Frame::Hang),
            Step::Text(_)
            | Step::Reasoning(_)
            | Step::ToolCalls(_)
            | Step::Usage(_)
            | Step::Finish(_)
            | Step::Error(_) => return false,
        }
        true
    }
}
