use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, Stream};
use http_body::Body as _;
use onyx_types::{Cancel, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Client, Response, StatusCode};
use tokio::time::{Instant, Sleep, sleep_until};

use super::endpoint::{Endpoint, Pass};
use super::retry_after::{limit_headers, retry_after};
use super::tee::{RawCall, Tee};
use crate::connect::transport;
use crate::failure::{failure, is_last};
use crate::wire::{BodyForm, CalledModel, Decoder, ToolNames, Wire, http_failure};

/// Far more than any answer; a server that sends more is broken or hostile.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Roughly how many bytes of plain text make a token. A prompt rarely has fewer tokens than this
/// rule says.
const BYTES_A_TOKEN: usize = 4;

const MAX_ERROR_BYTES: usize = 64 * 1024;

const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);

/// How long a finished answer may take to end its HTTP body, so that the connection can be used
/// again. Servers end it at once; one that does not costs its connection, never a longer wait.
const TAIL: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    /// The longest time from sending the request to the first byte of the answer's body.
    pub(crate) first_byte: Duration,
    /// The longest time between two pieces of the body.
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
    /// How long a model that keeps failing is left alone at first; `None` is the default time.
    pub(crate) rest: Option<Duration>,
}

/// One request to a provider and its answer as events. Dropping the stream drops the connection.
pub(crate) struct Call {
    pub(crate) wire: Wire,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) client: Client,
    pub(crate) called: CalledModel,
    pub(crate) timeouts: Timeouts,
    pub(crate) cancel: Cancel,
    /// The request, if a client has written it itself.
    pub(crate) raw: Option<RawCall>,
}

impl Call {
    pub(crate) fn events(
        self,
        request: &ModelRequest,
    ) -> Result<BoxStream<'static, ModelEvent>, ModelFailure> {
        let (body, asked, tee) = match self.raw {
            Some(raw) => (raw.body, raw.headers, Some(Tee::new(raw.out))),
            None => {
                let headers = self.called.compat.request_headers.of(request);
                (self.wire.encode(request, &self.called)?.into(), headers, None)
            }
        };
        let start = Instant::now();
        let running = Box::new(Running {
            endpoint: self.endpoint,
            wire: self.wire,
            names: ToolNames::of(&request.tools),
            called: self.called,
            deadlines: Deadlines {
                cancelled: self.cancel.into_cancelled(),
                total: start + self.timeouts.total,
                next_byte: start + self.timeouts.first_byte,
                idle: self.timeouts.idle,
                alarm: None,
            },
            ready: VecDeque::new(),
            asked,
            tee,
            phase: Phase::Request { client: self.client, body },
        });
        Ok(Box::pin(CallStream { here: Some(running), busy: None }))
    }
}

struct Running {
    endpoint: Arc<Endpoint>,
    wire: Wire,
    called: CalledModel,
    names: ToolNames,
    deadlines: Deadlines,
    ready: VecDeque<ModelEvent>,
    /// The headers of this request: the client's own if the client wrote the request, else those
    /// that the provider's maker requires.
    asked: HeaderMap,
    tee: Option<Tee>,
    phase: Phase,
}

/// The limits by which this side can end a call.
struct Deadlines {
    cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
    total: Instant,
    /// The time by which the next byte must have come.
    next_byte: Instant,
    idle: Duration,
    /// The time of the alarm, which is never later than the limit. It is not reset for every byte,
    /// only when it rings.
    alarm: Option<Pin<Box<Sleep>>>,
}

enum Phase {
    Request {
        client: Client,
        body: Bytes,
    },
    Body(Box<OpenAnswer>),
    /// The answer is complete; its connection is drained so that it can be reused.
    Rest(Body),
    Over,
}

struct OpenAnswer {
    body: Body,
    decoder: Box<dyn Decoder>,
    received: usize,
}

/// One call as a stream. Pieces of an answer are read in `poll_next` itself: there are many, and
/// each costs little compared with a future of its own.
struct CallStream {
    here: Option<Box<Running>>,
    busy: Option<BoxFuture<'static, Box<Running>>>,
}

impl Stream for CallStream {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        loop {
            if let Some(work) = &mut self.busy {
                self.here = Some(ready!(work.as_mut().poll(cx)));
                self.busy = None;
            }
            let Some(running) = &mut self.here else { return Poll::Ready(None) };
            let rests = matches!(running.phase, Phase::Rest(_));
            if !rests && let Some(event) = running.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            match running.phase {
                Phase::Over => return Poll::Ready(None),
                Phase::Body(_) if running.tee.is_none() => ready!(running.poll_piece(cx)),
                Phase::Request { .. } | Phase::Body(_) | Phase::Rest(_) => {
                    self.busy = self.here.take().map(|running| running.advance().boxed());
                }
            }
        }
    }
}

impl Running {
    async fn advance(mut self: Box<Self>) -> Box<Self> {
        let advanced = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Request { client, body } => self.request(&client, body).await,
            Phase::Body(answering) => self.read(answering).await,
            Phase::Rest(body) => {
                // A body that does not end in time only costs the connection, so the result is
                // ignored.
                let _ = tokio::time::timeout(TAIL, drain(body)).await;
                Ok(Phase::Over)
            }
            Phase::Over => Ok(Phase::Over),
        };
        self.settle(advanced);
        self
    }

    /// After a failure the call is over: response and connection are dropped by then.
    fn settle(&mut self, advanced: Result<Phase, ModelFailure>) {
        self.phase = advanced.unwrap_or_else(|failure| {
            self.ready.push_back(ModelEvent::Failed(self.endpoint.mask(failure)));
            Phase::Over
        });
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Phase::Body(answering) = &mut self.phase else { return Poll::Ready(()) };
        let piece = ready!(answering.poll_bytes(cx, &mut self.deadlines));
        let Phase::Body(mut answering) = std::mem::replace(&mut self.phase, Phase::Over) else {
            return Poll::Ready(());
        };
        let advanced = piece.map(|bytes| {
            let events = match &bytes {
                Some(bytes) => answering.decoder.push(bytes),
                None => answering.decoder.end(),
            };
            self.take(events, bytes.is_some().then_some(answering))
        });
        self.settle(advanced);
        Poll::Ready(())
    }

    async fn request(&mut self, client: &Client, body: Bytes) -> Result<Phase, ModelFailure> {
        let pass = self.deadlines.in_time(self.endpoint.pass()).await??;
        let length = body.len();
        let mut response = self.send(client, body.clone(), &pass).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(next) = self.deadlines.in_time(self.endpoint.pass_after(&pass)).await??
        {
            response = self.send(client, body, &next).await?;
        }
        let status = response.status();
        if !status.is_success() {
            let wait = retry_after(response.headers());
            let limits = limit_headers(response.headers());
            let body = self.error_body(response).await?;
            let mut failure = http_failure(status.as_u16(), wait, &body);
            if failure.class == ModelFailureClass::InvalidRequest && self.is_too_long(length) {
                failure.class = ModelFailureClass::ContextLength;
            }
            if let Some(upstream) = &mut failure.upstream {
                upstream.headers = limits;
            }
            return Err(failure);
        }
        let form = body_form(&response)?;
        if let Some(tee) = &mut self.tee {
            tee.begin(form, response.headers());
        }
        let decoder = self.wire.decoder(form, &self.called);
        let body = Body::from(response);
        Ok(Phase::Body(Box::new(OpenAnswer { body, decoder, received: 0 })))
    }

    /// Whether the model's window is smaller than the request. Some wires have no error code for
    /// this and only say it in the message, so a refused request is classified by its length.
    fn is_too_long(&self, bytes: usize) -> bool {
        self.called.context_window.is_some_and(|window| bytes / BYTES_A_TOKEN > window as usize)
    }

    async fn send(
        &mut self,
        client: &Client,
        body: Bytes,
        pass: &Pass,
    ) -> Result<Response, ModelFailure> {
        let request = client
            .post(self.wire.url(&self.endpoint.url, &self.called))
            .headers(self.headers())
            .headers(pass.headers.clone())
            .body(body)
            .send();
        self.deadlines.in_time(request).await?.map_err(transport)
    }

    /// Headers that a person has configured take precedence over the wire's own.
    fn headers(&self) -> HeaderMap {
        let mut headers = self.endpoint.headers.clone();
        for (name, value) in &self.asked {
            headers.entry(name).or_insert_with(|| value.clone());
        }
        for (name, value) in self.wire.headers() {
            headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
        }
        headers
    }

    /// Reads the next bytes of an answer into events; a tee also passes the bytes on.
    async fn read(&mut self, mut answering: Box<OpenAnswer>) -> Result<Phase, ModelFailure> {
        let bytes = poll_fn(|cx| answering.poll_bytes(cx, &mut self.deadlines)).await?;
        let decoder = answering.decoder.as_mut();
        let events = match (&mut self.tee, &bytes) {
            (Some(tee), Some(bytes)) => tee.push(bytes, decoder).await,
            (Some(tee), None) => tee.end(decoder).await,
            (None, Some(bytes)) => decoder.push(bytes),
            (None, None) => decoder.end(),
        };
        Ok(self.take(events, bytes.is_some().then_some(answering)))
    }

    /// Reads the body of an error. If the body breaks off or does not end, only the provider's
    /// message is lost: the status already decides the class.
    async fn error_body(&mut self, mut response: Response) -> Result<Vec<u8>, ModelFailure> {
        let mut body = Vec::new();
        let limit = Instant::now() + ERROR_BODY_WAIT;
        while body.len() < MAX_ERROR_BYTES {
            let next = tokio::time::timeout_at(limit, response.chunk());
            match self.deadlines.in_time(next).await? {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        Ok(body)
    }

    /// Queues the events. An answer that neither ended nor failed is read on.
    fn take(&mut self, events: Vec<ModelEvent>, answering: Option<Box<OpenAnswer>>) -> Phase {
        let over = events.iter().any(is_last);
        self.ready.extend(events.into_iter().map(|event| match event {
            ModelEvent::Failed(failure) => ModelEvent::Failed(self.endpoint.mask(failure)),
            other => self.names.restore(other),
        }));
        match answering {
            Some(answering) if over => Phase::Rest(answering.body),
            Some(answering) => Phase::Body(answering),
            None => Phase::Over,
        }
    }
}

impl OpenAnswer {
    /// The next bytes; `None` at the end. While nothing comes, the deadlines and the cancellation
    /// are checked.
    fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
        deadlines: &mut Deadlines,
    ) -> Poll<Result<Option<Bytes>, ModelFailure>> {
        while let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let Some(frame) = frame.transpose().map_err(transport)? else {
                return Poll::Ready(Ok(None));
            };
            let Ok(bytes) = frame.into_data() else { continue };
            self.received += bytes.len();
            if self.received > MAX_BODY_BYTES {
                let message = format!("the answer is longer than {MAX_BODY_BYTES} bytes");
                return Poll::Ready(Err(failure(ModelFailureClass::Transport, message)));
            }
            deadlines.next_byte = Instant::now() + deadlines.idle;
            return Poll::Ready(Ok(Some(bytes)));
        }
        if let Poll::Ready(cancelled) = deadlines.poll_cancelled(cx) {
            return Poll::Ready(Err(cancelled));
        }
        deadlines.poll_late(cx).map(Err)
    }
}

impl Deadlines {
    async fn in_time<T>(&mut self, work: impl Future<Output = T>) -> Result<T, ModelFailure> {
        let mut work = std::pin::pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(cancelled) = self.poll_cancelled(cx) {
                return Poll::Ready(Err(cancelled));
            }
            match work.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(Ok(value)),
                Poll::Pending => self.poll_late(cx).map(Err),
            }
        })
        .await
    }

    fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> Poll<ModelFailure> {
        ready!(self.cancelled.as_mut().poll(cx));
        Poll::Ready(failure(ModelFailureClass::Cancelled, "the call was cancelled"))
    }

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<ModelFailure> {
        let limit = self.total.min(self.next_byte);
        loop {
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(limit)));
            if alarm.deadline() > limit {
                alarm.as_mut().reset(limit);
            }
            ready!(alarm.as_mut().poll(cx));
            self.alarm = None;
            if Instant::now() >= limit {
                return Poll::Ready(failure(ModelFailureClass::Timeout, self.too_late(limit)));
            }
        }
    }

    fn too_late(&self, limit: Instant) -> &'static str {
        if limit == self.total {
            "the answer took longer than the provider's total timeout"
        } else {
            "the provider sent nothing for longer than its timeout"
        }
    }
}

async fn drain(mut body: Body) {
    while let Some(Ok(_)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {}
}

fn body_form(response: &Response) -> Result<BodyForm, ModelFailure> {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "application/json" => Ok(BodyForm::Whole),
        "text/html" => {
            let message = "the address answers with a web page, not with a model";
            Err(failure(ModelFailureClass::Transport, message))
        }
        // Servers name streams in many ways; the decoder notices whether the body is a stream.
        _ => Ok(BodyForm::Stream),
    }
}
