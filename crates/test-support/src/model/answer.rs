//! How one request is answered: the content, the pace, and where the answer breaks off.

use crate::model::script::{ErrorKind, Script, ScriptedCall, ScriptedError};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    #[serde(flatten)]
    pub content: Content,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub delivery: Delivery,
    #[serde(default)]
    pub fault: Option<Fault>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Status 200 and the script, as a stream if the request asked for one.
    Script(Script),
    /// An error before any content; status and body are those of the wire.
    Error(ScriptedError),
    /// Any status with any body, for answers that no wire defines (529, a proxy's HTML page).
    Status { code: u16, body: String },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delivery {
    pub pieces: Pieces,
    /// How long to wait before the first byte of the head.
    pub first_delay_ms: u64,
    /// How long to wait after each piece of the body.
    pub delay_ms: u64,
    pub line_end: LineEnd,
    pub encoding: Encoding,
}

/// The body's content encoding. Faults count the bytes that are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    #[default]
    Identity,
    Gzip,
}

/// How the body is divided into writes (each is one HTTP chunk).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pieces {
    #[default]
    Frames,
    Bytes(usize),
    Whole,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnd {
    #[default]
    Lf,
    Crlf,
    Cr,
}

/// Where the answer breaks off. Bytes are counted in the body, without HTTP's own framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Closes the connection with FIN after this many bytes, as a proxy does that shuts down.
    CloseAt(usize),
    /// Closes it with RST after this many bytes, as when a process dies.
    ResetAt(usize),
    /// Ends the HTTP body properly after this many bytes, as if the answer were complete.
    EndAt(usize),
    HangAt(usize),
    HangBeforeHead,
    HangAfterHead,
    CloseBeforeHead,
}

/// Makes a normal answer with this text.
impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl Answer {
    pub fn script(script: Script) -> Self {
        Self::of(Content::Script(script))
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::script(Script::text(text))
    }

    pub fn tool_calls(calls: impl IntoIterator<Item = ScriptedCall>) -> Self {
        Self::script(Script::tool_calls(calls))
    }

    pub fn error(kind: ErrorKind) -> Self {
        Self::of(Content::Error(ScriptedError::new(kind, "scripted error")))
    }

    pub fn status(code: u16, body: impl Into<String>) -> Self {
        let body = body.into();
        Self::of(Content::Status { code, body })
    }

    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    #[must_use]
    pub fn pieces(mut self, pieces: Pieces) -> Self {
        self.delivery.pieces = pieces;
        self
    }

    #[must_use]
    pub fn first_delay_ms(mut self, milliseconds: u64) -> Self {
        self.delivery.first_delay_ms = milliseconds;
        self
    }

    #[must_use]
    pub fn delay_ms(mut self, milliseconds: u64) -> Self {
        self.delivery.delay_ms = milliseconds;
        self
    }

    #[must_use]
    pub fn one_byte_a_second(self) -> Self {
        self.pieces(Pieces::Bytes(1)).delay_ms(1_000)
    }

    #[must_use]
    pub fn line_end(mut self, line_end: LineEnd) -> Self {
        self.delivery.line_end = line_end;
        self
    }

    #[must_use]
    pub fn gzipped(mut self) -> Self {
        self.delivery.encoding = Encoding::Gzip;
        self
    }

    fn of(content: Content) -> Self {
        Self { content, headers: Vec::new(), delivery: Delivery::default(), fault: None }
    }
}

impl From<Script> for Answer {
    fn from(script: Script) -> Self {
        Self::script(script)
    }
}
