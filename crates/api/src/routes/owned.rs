//! A run that belongs to its client: when the client goes away, the run is stopped.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use onyx_agent::{RunRequest, Runs};
use onyx_surface::Encoder;
use onyx_types::{Envelope, RunId, SessionId};

use crate::Problem;

/// Events that are there already share a chunk up to this size; none waits for another.
const CHUNK: usize = 16 * 1024;

/// Dropping it before its last event stops the run.
pub(crate) struct OwnedRun(onyx_agent::OwnedRun);

impl OwnedRun {
    pub(super) async fn start(runs: &Runs, request: RunRequest) -> Result<Self, Problem> {
        Ok(Self(runs.start_owned(request).await?))
    }

    pub(super) async fn next(&mut self) -> Option<Arc<Envelope>> {
        self.0.next().await
    }

    pub(super) fn run_id(&self) -> RunId {
        self.0.run_id()
    }

    pub(super) fn session_id(&self) -> SessionId {
        self.0.session_id()
    }

    /// The run in a surface's format.
    pub(super) fn into_body<E>(self, encoder: E) -> Body
    where
        E: Encoder<Frame = Bytes> + Send + 'static,
    {
        let frames = Box::new(Frames { run: self, encoder });
        Body::from_stream(stream::unfold(frames, Frames::next_chunk))
    }

    /// The same once its first frame is there, so that the answer's head goes out with it. For
    /// formats that tell the run's start, which no model keeps waiting.
    pub(super) async fn into_begun_body<E>(self, encoder: E) -> Body
    where
        E: Encoder<Frame = Bytes> + Send + 'static,
    {
        let frames = Box::new(Frames { run: self, encoder });
        match frames.next_chunk().await {
            Some((first, frames)) => {
                let rest = stream::unfold(frames, Frames::next_chunk);
                Body::from_stream(stream::iter([first]).chain(rest))
            }
            None => Body::empty(),
        }
    }
}

/// In a box: it is moved for every chunk.
struct Frames<E> {
    run: OwnedRun,
    encoder: E,
}

impl<E: Encoder<Frame = Bytes>> Frames<E> {
    async fn next_chunk(mut self: Box<Self>) -> Option<(Result<Bytes, Infallible>, Box<Self>)> {
        if self.run.0.has_ended() {
            return None;
        }
        let mut chunk = BytesMut::new();
        while chunk.is_empty() && !self.run.0.has_ended() {
            let envelope = self.run.next().await;
            self.add(&mut chunk, envelope);
        }
        while chunk.len() < CHUNK && !self.run.0.has_ended() {
            let Poll::Ready(envelope) = self.run.0.next_now() else { break };
            self.add(&mut chunk, envelope);
        }
        (!chunk.is_empty()).then(|| (Ok(chunk.freeze()), self))
    }

    fn add(&mut self, chunk: &mut BytesMut, envelope: Option<Arc<Envelope>>) {
        let frames = match envelope {
            Some(envelope) => self.encoder.encode(&envelope),
            None => self.encoder.finish(),
        };
        for frame in frames {
            chunk.extend_from_slice(&frame);
        }
    }
}
