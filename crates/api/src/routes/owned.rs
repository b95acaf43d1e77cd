//! A run that belongs to its client: when the client goes away, the run is stopped.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use onyx_agent::{RunHandle, RunManager, RunRequest};
use onyx_surface::Encoder;
use onyx_types::{Envelope, ErrorCode, RunId, SessionId};

use crate::Problem;

/// Events that are there already share a chunk up to this size; none waits for another.
const CHUNK: usize = 16 * 1024;

/// Dropping it before its last event stops the run.
pub(crate) struct OwnedRun {
    handle: RunHandle,
    ended: bool,
}

impl OwnedRun {
    /// Starting takes several steps that must not be torn apart, and a request may be dropped at
    /// any of them: so they happen in a task, whose result stops the run if nobody takes it.
    pub(super) async fn start(runs: &RunManager, request: RunRequest) -> Result<Self, Problem> {
        let runs = runs.clone();
        // In a box: a task's future is moved several times.
        let begun = tokio::spawn(Box::pin(async move {
            let handle = runs.start(request).await?;
            Ok(Self { handle, ended: false })
        }));
        match begun.await {
            Ok(result) => result,
            Err(_) => Err(Problem::new(ErrorCode::Internal, "the run could not be started")),
        }
    }

    pub(super) async fn next(&mut self) -> Option<Arc<Envelope>> {
        let next = self.handle.events.next().await;
        self.ended |= next.is_none();
        next
    }

    /// As `next`, without waiting.
    fn next_now(&mut self) -> Poll<Option<Arc<Envelope>>> {
        let next = self.handle.events.next_now();
        self.ended |= matches!(next, Poll::Ready(None));
        next
    }

    pub(super) fn run_id(&self) -> RunId {
        self.handle.run_id
    }

    pub(super) fn session_id(&self) -> SessionId {
        self.handle.session_id
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

impl Drop for OwnedRun {
    fn drop(&mut self) {
        if !self.ended {
            self.handle.canceller().cancel();
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
        if self.run.ended {
            return None;
        }
        let mut chunk = BytesMut::new();
        while chunk.is_empty() && !self.run.ended {
            let envelope = self.run.next().await;
            self.add(&mut chunk, envelope);
        }
        while chunk.len() < CHUNK && !self.run.ended {
            let Poll::Ready(envelope) = self.run.next_now() else { break };
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
