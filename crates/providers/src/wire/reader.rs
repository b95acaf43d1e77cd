//! The common part of every decoder: it turns bytes into frames and frames into an answer, and ends
//! with one last event.

use onyx_types::{ModelEvent, ModelFailure, ModelFailureClass, Usage};
use serde_json::Value;

use super::sse::{SseError, SseEvent, SseSplitter};
use super::{BodyForm, Decoder};
use crate::failure::failure;

/// The limit for a single frame of a stream, and for a whole answer.
const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;

/// Turns one wire's frames into an answer. No call becomes executable before the wire's finish
/// marker was read.
pub trait AnswerReader: Send {
    const FRAMING: Framing;

    /// One frame of the stream.
    fn frame(
        &mut self,
        frame: &SseEvent,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure>;

    /// A body that is not a stream.
    fn whole(&mut self, body: &str, events: &mut Vec<ModelEvent>) -> Result<Flow, ModelFailure> {
        let frame = SseEvent { name: None, data: body.to_owned() };
        // A body that is cut off is not a frame, so it has no content.
        if Self::is_whole(&frame) { self.frame(&frame, events) } else { Ok(Flow::More) }
    }

    /// Whether the last frame is complete although the stream ended without closing it.
    fn is_whole(frame: &SseEvent) -> bool {
        serde_json::from_str::<Value>(&frame.data).is_ok()
    }

    /// Called when the body ended properly and no frame was the last: the answer is complete or
    /// truncated.
    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure>;

    /// The usage counted so far, which was charged even if the rest of the answer fails.
    fn take_usage(&mut self) -> Option<Usage>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Sse,
    /// One JSON value a line.
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    More,
    /// The last event of the answer was emitted.
    Over,
}

/// Reads the answer `A` from bytes.
#[derive(Debug)]
pub struct Reader<A> {
    input: Input,
    answer: A,
    over: bool,
}

#[derive(Debug)]
enum Input {
    Sse(SseSplitter),
    Lines(Vec<u8>),
    Whole(Vec<u8>),
}

impl<A: AnswerReader + Default> Reader<A> {
    pub fn new(form: BodyForm) -> Self {
        Self::with(form, A::default())
    }
}

impl<A: AnswerReader> Reader<A> {
    pub(super) fn with(form: BodyForm, answer: A) -> Self {
        let input = match (form, A::FRAMING) {
            (BodyForm::Stream, Framing::Sse) => Input::Sse(SseSplitter::new(MAX_FRAME_BYTES)),
            (BodyForm::Stream, Framing::Lines) => Input::Lines(Vec::new()),
            (BodyForm::Whole, Framing::Sse | Framing::Lines) => Input::Whole(Vec::new()),
        };
        Self { input, answer, over: false }
    }

    fn try_push(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        for frame in &self.input.push(bytes)? {
            if self.over {
                break;
            }
            self.over = self.answer.frame(frame, events)? == Flow::Over;
        }
        Ok(())
    }

    fn try_end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let flow = match self.input.end()? {
            // A frame without its closing line counts if its data is complete; otherwise it is
            // ignored.
            BodyRest::Frame(frame) if A::is_whole(&frame) => self.answer.frame(&frame, events)?,
            BodyRest::Body(body) => self.answer.whole(&body, events)?,
            BodyRest::Frame(_) | BodyRest::Nothing => Flow::More,
        };
        match flow {
            Flow::Over => Ok(()),
            Flow::More => self.answer.end(events),
        }
    }

    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self, &mut Vec<ModelEvent>) -> Result<(), ModelFailure>,
    ) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        if self.over {
            return events;
        }
        if let Err(error) = work(self, &mut events) {
            self.over = true;
            events.extend(self.answer.take_usage().map(ModelEvent::Usage));
            events.push(ModelEvent::Failed(error));
        }
        events
    }
}

impl<A: AnswerReader> Decoder for Reader<A> {
    fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent> {
        self.guarded(|reader, events| reader.try_push(bytes, events))
    }

    fn end(&mut self) -> Vec<ModelEvent> {
        let events = self.guarded(Self::try_end);
        self.over = true;
        events
    }
}

enum BodyRest {
    Nothing,
    Frame(SseEvent),
    Body(String),
}

impl Input {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, ModelFailure> {
        match self {
            Self::Sse(splitter) => splitter.push(bytes).map_err(|error| garbage(error.to_string())),
            Self::Lines(rest) => {
                let lines = lines(rest, bytes);
                bounded(rest)?;
                lines
            }
            Self::Whole(body) => {
                body.extend_from_slice(bytes);
                bounded(body)?;
                Ok(Vec::new())
            }
        }
    }

    fn end(&mut self) -> Result<BodyRest, ModelFailure> {
        Ok(match self {
            // A line that is not valid text was cut; the text before it decides.
            Self::Sse(splitter) => {
                splitter.end().unwrap_or_default().map_or(BodyRest::Nothing, BodyRest::Frame)
            }
            Self::Lines(rest) => match String::from_utf8(std::mem::take(rest)) {
                Ok(data) if !data.trim().is_empty() => {
                    BodyRest::Frame(SseEvent { name: None, data })
                }
                Ok(_) | Err(_) => BodyRest::Nothing,
            },
            Self::Whole(body) => match String::from_utf8(std::mem::take(body)) {
                Ok(body) => BodyRest::Body(body),
                Err(error) if error.utf8_error().error_len().is_none() => BodyRest::Nothing,
                Err(error) => return Err(garbage(error.to_string())),
            },
        })
    }
}

/// The lines that `bytes` complete; what is left of them stays in `rest`. A line is decoded only
/// when whole, so characters split between two chunks do no harm.
fn lines(rest: &mut Vec<u8>, bytes: &[u8]) -> Result<Vec<SseEvent>, ModelFailure> {
    let mut whole = Vec::new();
    let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
    while let Some(piece) = pieces.next() {
        rest.extend_from_slice(piece);
        if pieces.peek().is_none() {
            break;
        }
        let line = String::from_utf8(std::mem::take(rest))
            .map_err(|_| garbage(SseError::NotUtf8.to_string()))?;
        let data = line.trim();
        if !data.is_empty() {
            whole.push(SseEvent { name: None, data: data.to_owned() });
        }
    }
    Ok(whole)
}

fn bounded(held: &[u8]) -> Result<(), ModelFailure> {
    if held.len() <= MAX_FRAME_BYTES {
        return Ok(());
    }
    Err(garbage(format!("the answer is longer than {MAX_FRAME_BYTES} bytes in one piece")))
}

/// The failure for content that does not belong to the wire.
pub(super) fn garbage(message: impl Into<String>) -> ModelFailure {
    failure(ModelFailureClass::Transport, message)
}

pub(super) fn truncated(message: impl Into<String>) -> ModelFailure {
    failure(ModelFailureClass::Truncated, message)
}

/// Parses a frame as JSON of the wire.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Result<T, ModelFailure> {
    serde_json::from_str(data)
        .map_err(|error| garbage(format!("a frame is not what the wire has: {error}")))
}
