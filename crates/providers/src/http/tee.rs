//! Copies an answer's bytes beside its events, for clients that speak the provider's own wire.

use bytes::{Bytes, BytesMut};
use onyx_types::ModelEvent;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::sync::mpsc;

use super::retry_after::limit_headers;
use crate::decorators::is_content;
use crate::wire::{BodyForm, Decoder};

/// How many pieces wait for a slow client before the provider has to wait.
pub(crate) const PIECES: usize = 32;

const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;

/// A request as its client wrote it, and where its answer is sent.
#[derive(Clone)]
pub(crate) struct RawCall {
    pub(crate) body: Bytes,
    /// The headers that the client sent for the maker's wire.
    pub(crate) headers: HeaderMap,
    pub(crate) out: mpsc::Sender<RawPiece>,
}

/// Part of an answer as the provider sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawPiece {
    Head { content_type: String, limits: Vec<(String, String)> },
    Bytes(Bytes),
}

/// Passes an answer on once it has content or has finished: until then, the request can be
/// repeated. Only whole frames are passed on, and never one with an error, which may hold a key;
/// the last event reports the failure.
pub(super) struct Tee {
    out: mpsc::Sender<RawPiece>,
    form: BodyForm,
    head: Option<(String, Vec<(String, String)>)>,
    /// The bytes of a frame that is not complete yet.
    partial: BytesMut,
    /// Good frames that have not been sent yet.
    held: BytesMut,
}

impl Tee {
    pub(super) fn new(out: mpsc::Sender<RawPiece>) -> Self {
        let (partial, held) = (BytesMut::new(), BytesMut::new());
        Self { out, form: BodyForm::Stream, head: None, partial, held }
    }

    pub(super) fn begin(&mut self, form: BodyForm, headers: &HeaderMap) {
        let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        self.form = form;
        let content_type = content_type.unwrap_or("application/json").to_owned();
        self.head = Some((content_type, limit_headers(headers)));
    }

    pub(super) async fn push(
        &mut self,
        bytes: &[u8],
        decoder: &mut dyn Decoder,
    ) -> Vec<ModelEvent> {
        if self.form == BodyForm::Whole {
            self.held.extend_from_slice(bytes);
            return decoder.push(bytes);
        }
        self.partial.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = frame_end(&self.partial) {
            let frame = self.partial.split_to(end);
            let more = decoder.push(&frame);
            let failed = more.iter().any(|event| matches!(event, ModelEvent::Failed(_)));
            events.extend(more);
            if failed {
                break;
            }
            self.held.extend_from_slice(&frame);
        }
        if self.partial.len() > MAX_FRAME_BYTES {
            // The decoder reports that a frame of this size is wrong.
            events.extend(decoder.push(&self.partial.split()));
        }
        self.release(&events).await;
        events
    }

    pub(super) async fn end(&mut self, decoder: &mut dyn Decoder) -> Vec<ModelEvent> {
        let rest = self.partial.split();
        let mut events = decoder.push(&rest);
        events.extend(decoder.end());
        if !events.iter().any(|event| matches!(event, ModelEvent::Failed(_))) {
            self.held.extend_from_slice(&rest);
        }
        self.release(&events).await;
        events
    }

    async fn release(&mut self, events: &[ModelEvent]) {
        let answers =
            |event: &ModelEvent| is_content(event) || matches!(event, ModelEvent::Finish(_));
        if self.head.is_some() && !events.iter().any(answers) {
            return;
        }
        // Sending fails only if the client went away. The call is then dropped with it, so the
        // failure is ignored.
        if let Some((content_type, limits)) = self.head.take() {
            let _ = self.out.send(RawPiece::Head { content_type, limits }).await;
        }
        if !self.held.is_empty() {
            let _ = self.out.send(RawPiece::Bytes(self.held.split().freeze())).await;
        }
    }
}

/// The end of the first whole frame: after an empty line, for any kind of line end.
fn frame_end(bytes: &[u8]) -> Option<usize> {
    (1..bytes.len()).find_map(|index| match (bytes[index - 1], bytes[index]) {
        (b'\n', b'\n') | (b'\r', b'\r') => Some(index + 1),
        (b'\n', b'\r') if bytes.get(index + 1) == Some(&b'\n') => Some(index + 2),
        _ => None,
    })
}
