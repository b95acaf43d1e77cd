//! A run that belongs to its client: it is stopped when the client disconnects.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use onyx_agent::{RunRequest, Runs};
use onyx_surface::Encoder;
use onyx_types::{Envelope, ErrorCode, Event, Fault, RunId, RunStatus, SessionId};

use crate::Problem;

/// The most bytes of a chunk. Events that are ready are sent in one chunk; none waits for another.
const CHUNK: usize = 16 * 1024;

/// Dropping it before its last event stops the run.
pub(crate) struct OwnedRun {
    run: onyx_agent::OwnedRun,
    /// Events that were read ahead of sending them.
    ahead: VecDeque<Arc<Envelope>>,
}

impl OwnedRun {
    pub(super) async fn start(runs: &Runs, request: RunRequest) -> Result<Self, Problem> {
        let run = runs.start_owned(request).await?;
        Ok(Self { run, ahead: VecDeque::new() })
    }

    pub(super) async fn next(&mut self) -> Option<Arc<Envelope>> {
        match self.ahead.pop_front() {
            Some(envelope) => Some(envelope),
            None => self.run.next().await,
        }
    }

    fn next_now(&mut self) -> Poll<Option<Arc<Envelope>>> {
        match self.ahead.pop_front() {
            Some(envelope) => Poll::Ready(Some(envelope)),
            None => self.run.next_now(),
        }
    }

    fn has_ended(&self) -> bool {
        self.run.has_ended() && self.ahead.is_empty()
    }

    /// Waits for the run's first output. `Some` if the run failed before that, so that the request
    /// can still be answered with a status.
    pub(super) async fn early_failure(&mut self) -> Option<Fault> {
        let mut fault = None;
        while let Some(envelope) = self.run.next().await {
            let settled = match &envelope.event {
                Event::Error { code, message, hint, retry_after_seconds } => {
                    let mut failed = Fault::new(*code, message.clone()).with_hint(hint.clone());
                    failed.retry_after = retry_after_seconds.map(Duration::from_secs);
                    // An answer that reached its length limit counts as an answer, even an empty
                    // one.
                    fault = Some(failed).filter(|fault| fault.code != ErrorCode::LimitOutput);
                    false
                }
                Event::Done { status: RunStatus::Error, .. } if fault.is_some() => return fault,
                Event::Start { .. }
                | Event::Status { .. }
                | Event::Context { .. }
                | Event::Usage { .. } => false,
                Event::TextDelta { .. }
                | Event::TextComplete { .. }
                | Event::ReasoningDelta { .. }
                | Event::ToolCall { .. }
                | Event::ToolOutput { .. }
                | Event::ToolResult { .. }
                | Event::Draft { .. }
                | Event::Confirm { .. }
                | Event::Done { .. } => true,
            };
            self.ahead.push_back(envelope);
            if settled {
                break;
            }
        }
        None
    }

    pub(super) fn run_id(&self) -> RunId {
        self.run.run_id()
    }

    pub(super) fn session_id(&self) -> SessionId {
        self.run.session_id()
    }

    /// The response body: the run in a surface's format.
    pub(super) fn into_body<E>(self, encoder: E) -> Body
    where
        E: Encoder<Frame = Bytes> + Send + 'static,
    {
        let frames = Box::new(Frames { run: self, encoder });
        Body::from_stream(stream::unfold(frames, Frames::next_chunk))
    }

    /// Makes the body once the first frame exists, so that the head of the response is sent
    /// together with it. This is for formats that report the start of the run, which does not wait
    /// for a model.
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

/// The frames of a body. They are boxed, because the value is moved for every chunk.
struct Frames<E> {
    run: OwnedRun,
    encoder: E,
}

impl<E: Encoder<Frame = Bytes>> Frames<E> {
    async fn next_chunk(mut self: Box<Self>) -> Option<(Result<Bytes, Infallible>, Box<Self>)> {
        if self.run.has_ended() {
            return None;
        }
        let mut chunk = BytesMut::new();
        while chunk.is_empty() && !self.run.has_ended() {
            let envelope = self.run.next().await;
            self.add(&mut chunk, envelope);
        }
        while chunk.len() < CHUNK && !self.run.has_ended() {
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
