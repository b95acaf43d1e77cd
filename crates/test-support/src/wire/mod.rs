//! One encoder per wire format: script steps in, frames of bytes out.

mod openai_chat;

use crate::answer::LineEnd;
use crate::script::{Script, ScriptedError, Step};
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;

/// The wire formats the scripted server speaks. A new one is a variant and a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAiChat,
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
    /// The wire a request path belongs to.
    pub fn of_path(path: &str) -> Option<Self> {
        path.ends_with("/chat/completions").then_some(Self::OpenAiChat)
    }

    pub fn stream_content_type(self) -> &'static str {
        match self {
            Self::OpenAiChat => "text/event-stream",
        }
    }

    /// Whether the request asks for a stream.
    pub fn wants_stream(self, body: &Value) -> bool {
        match self {
            Self::OpenAiChat => body["stream"] == true,
        }
    }

    /// The script as this wire streams it. `request` supplies what the wire echoes (the model).
    pub fn stream(self, script: &Script, request: &Value) -> Frames {
        match self {
            Self::OpenAiChat => openai_chat::stream(script, request),
        }
    }

    /// The script as one body.
    pub fn complete(self, script: &Script, request: &Value) -> Value {
        match self {
            Self::OpenAiChat => openai_chat::complete(script, request),
        }
    }

    /// Status and body of an error before any content.
    pub fn error(self, error: &ScriptedError) -> (u16, Value) {
        match self {
            Self::OpenAiChat => openai_chat::error(error),
        }
    }
}

impl Frames {
    pub fn items(&self) -> &[Frame] {
        &self.items
    }

    /// All bytes of the stream, pauses left out.
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces().flatten().copied().collect()
    }

    /// Offset after each frame.
    pub fn boundaries(&self) -> Vec<usize> {
        self.pieces()
            .scan(0, |offset, piece| {
                *offset += piece.len();
                Some(*offset)
            })
            .collect()
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
