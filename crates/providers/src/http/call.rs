use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_types::{Cancel, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use tokio::time::{Instant, Sleep, sleep_until};

use super::client::{Endpoint, Pass};
use super::obstacle::transport;
use super::retry_after::retry_after;
use super::tee::{RawCall, Tee};
use crate::failure::{failure, is_last};
use crate::wire::{BodyForm, Decoder, Target, ToolNames, Wire, http_failure};

/// Far more than any answer; a server that sends more is broken or hostile.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

const MAX_ERROR_BYTES: usize = 64 * 1024;

const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);

/// How long a finished answer may take to end its HTTP body, so that the connection can be used
/// again. Servers end it at once; one that does not costs its connection, never a longer wait.
const TAIL: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    /// From sending the request to the first byte of the answer's body.
    pub(crate) first_byte: Duration,
    /// Between two pieces of the body.
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
    /// How long a model that keeps failing is left alone at first; none is as usual.
    pub(crate) rest: Option<Duration>,
}

/// One request to a provider and its answer as events. Dropping the stream drops the connection.
pub(crate) struct Call {
    pub(crate) wire: Wire,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) client: Client,
    pub(crate) target: Target,
    pub(crate) timeouts: Timeouts,
    pub(crate) cancel: Cancel,
    /// Set for a request that a client has written itself.
    pub(crate) raw: Option<RawCall>,
}

impl Call {
    pub(crate) fn events(
        self,
        request: &ModelRequest,
    ) -> Result<BoxStream<'static, ModelEvent>, ModelFailure> {
        let (body, tee) = match self.raw {
            Some(raw) => (raw.body, Some(Tee::new(raw.out))),
            None => (self.wire.encode(request, &self.target)?.into(), None),
        };
        let start = Instant::now();
        // In a box, as its parts: each piece of an answer moves all of it.
        let running = Running {
            endpoint: self.endpoint,
            wire: self.wire,
            names: ToolNames::of(&request.tools),
            target: self.target,
            deadlines: Deadlines {
                cancelled: self.cancel.into_cancelled(),
                total: start + self.timeouts.total,
                next_byte: start + self.timeouts.first_byte,
                idle: self.timeouts.idle,
                alarm: None,
            },
            ready: VecDeque::new(),
            tee,
            phase: Phase::Request { client: self.client, body },
        };
        Ok(unfold(Box::new(running), Running::next).boxed())
    }
}

struct Running {
    endpoint: Arc<Endpoint>,
    wire: Wire,
    target: Target,
    names: ToolNames,
    deadlines: Deadlines,
    ready: VecDeque<ModelEvent>,
    tee: Option<Tee>,
    phase: Phase,
}

/// Everything that can end a call from this side.
struct Deadlines {
    cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
    total: Instant,
    /// When the next byte must have come.
    next_byte: Instant,
    idle: Duration,
    /// Never later than the limit. It is not set anew for every byte, but when it rings.
    alarm: Option<Pin<Box<Sleep>>>,
}

enum Phase {
    Request { client: Client, body: Bytes },
    Body(Box<Answering>),
    Over,
}

struct Answering {
    response: Response,
    decoder: Box<dyn Decoder>,
    received: usize,
}

impl Running {
    async fn next(mut self: Box<Self>) -> Option<(ModelEvent, Box<Self>)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            let phase = std::mem::replace(&mut self.phase, Phase::Over);
            let advanced = match phase {
                Phase::Request { client, body } => Box::pin(self.request(&client, body)).await,
                Phase::Body(answering) => self.read(answering).await,
                Phase::Over => return None,
            };
            // On failure the phase stays `Over`: response and connection are dropped by now.
            match advanced {
                Ok(phase) => self.phase = phase,
                Err(failure) => {
                    self.ready.push_back(ModelEvent::Failed(self.endpoint.mask(failure)));
                }
            }
        }
    }

    async fn request(&mut self, client: &Client, body: Bytes) -> Result<Phase, ModelFailure> {
        let pass = self.deadlines.in_time(self.endpoint.pass()).await??;
        let mut response = self.send(client, body.clone(), &pass).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(next) = self.deadlines.in_time(self.endpoint.pass_after(&pass)).await??
        {
            response = self.send(client, body, &next).await?;
        }
        let status = response.status();
        if !status.is_success() {
            let wait = retry_after(response.headers());
            let body = self.error_body(response).await?;
            return Err(http_failure(status.as_u16(), wait, &body));
        }
        let form = body_form(&response)?;
        if let Some(tee) = &mut self.tee {
            tee.begin(form, response.headers());
        }
        let decoder = self.wire.decoder(form, &self.target);
        Ok(Phase::Body(Box::new(Answering { response, decoder, received: 0 })))
    }

    async fn send(
        &mut self,
        client: &Client,
        body: Bytes,
        pass: &Pass,
    ) -> Result<Response, ModelFailure> {
        let request = client
            .post(self.wire.url(&self.endpoint.url, &self.target))
            .headers(self.headers())
            .headers(pass.headers.clone())
            .body(body)
            .send();
        self.deadlines.in_time(request).await?.map_err(transport)
    }

    /// The wire's own headers yield to those a person has configured.
    fn headers(&self) -> HeaderMap {
        let mut headers = self.endpoint.headers.clone();
        for (name, value) in self.wire.headers() {
            headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
        }
        headers
    }

    async fn read(&mut self, mut answering: Box<Answering>) -> Result<Phase, ModelFailure> {
        let Answering { response, decoder, received } = &mut *answering;
        let Some(bytes) = self.deadlines.in_time(response.chunk()).await?.map_err(transport)?
        else {
            let events = match &mut self.tee {
                Some(tee) => tee.end(decoder.as_mut()).await,
                None => decoder.end(),
            };
            self.take(events);
            return Ok(Phase::Over);
        };
        *received += bytes.len();
        if *received > MAX_BODY_BYTES {
            let message = format!("the answer is longer than {MAX_BODY_BYTES} bytes");
            return Err(failure(ModelFailureClass::Transport, message));
        }
        self.deadlines.next_byte = Instant::now() + self.deadlines.idle;
        let events = match &mut self.tee {
            Some(tee) => tee.push(&bytes, decoder.as_mut()).await,
            None => decoder.push(&bytes),
        };
        let over = events.iter().any(is_last);
        self.take(events);
        if over {
            let _ = Box::pin(tokio::time::timeout(TAIL, drain(answering.response))).await;
            return Ok(Phase::Over);
        }
        Ok(Phase::Body(answering))
    }

    /// The status is known already, so a body that breaks off or does not end costs its words
    /// and not the class.
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

    fn take(&mut self, events: Vec<ModelEvent>) {
        self.ready.extend(events.into_iter().map(|event| match event {
            ModelEvent::Failed(failure) => ModelEvent::Failed(self.endpoint.mask(failure)),
            other => self.names.restore(other),
        }));
    }
}

impl Deadlines {
    async fn in_time<T>(&mut self, work: impl Future<Output = T>) -> Result<T, ModelFailure> {
        let limit = self.total.min(self.next_byte);
        let mut work = std::pin::pin!(work);
        loop {
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(limit)));
            if alarm.deadline() > limit {
                alarm.as_mut().reset(limit);
            }
            tokio::select! {
                biased;
                () = &mut self.cancelled => {
                    return Err(failure(ModelFailureClass::Cancelled, "the call was cancelled"));
                }
                value = &mut work => return Ok(value),
                () = alarm => {
                    self.alarm = None;
                    if Instant::now() >= limit {
                        return Err(failure(ModelFailureClass::Timeout, self.too_late(limit)));
                    }
                }
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

async fn drain(mut response: Response) {
    while let Ok(Some(_)) = response.chunk().await {}
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
        // Servers name streams in many ways; the decoder sees whether it is one.
        _ => Ok(BodyForm::Stream),
    }
}
