//! Writes answers to raw sockets, so that a cut falls on exactly the byte that the script names.

use super::{ModelState, RecordedRequest, request};
use crate::model::answer::{Answer, Content, Encoding, Fault, Pieces};
use crate::model::wire::{Frame, Frames, Wire};
use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What happens to the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    KeepOpen,
    Close,
    Reset,
}

/// A reply ready to be written: head fields, and the body in frames.
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    content_type: &'static str,
    frames: Frames,
}

pub(super) async fn accept_all(listener: TcpListener, state: Arc<ModelState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A failed accept (out of descriptors) affects only one client.
                if let Ok((stream, _)) = accepted {
                    state.connections.fetch_add(1, Ordering::SeqCst);
                    connections.spawn(serve(stream, Arc::clone(&state)));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves a connection. An error means that the client went away, which is counted for tests.
async fn serve(mut stream: TcpStream, state: Arc<ModelState>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = BytesMut::new();
    while let Ok(Some(request)) = request::read(&mut stream, &mut buffer).await {
        match answer(&mut stream, &state, &request).await {
            Ok(After::KeepOpen) => {}
            Ok(After::Close) => return,
            Ok(After::Reset) => {
                let _ = stream.set_zero_linger();
                return;
            }
            Err(_) => {
                state.abandoned.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
    }
}

async fn answer(
    stream: &mut TcpStream,
    state: &ModelState,
    request: &RecordedRequest,
) -> io::Result<After> {
    // Answers to requests for speech, pictures and the like have only a status and a body.
    let media = is_media(request).then_some(Wire::OpenAiChat);
    let Some(wire) = Wire::of_path(request.route()).or(media) else {
        let reply = side_route(state, request);
        return Writer::plain(stream).write(&reply, Pieces::Whole).await;
    };
    let answer = state.answer(request);
    let _open = Counted::new(&state.answering);
    let mut writer = Writer::new(stream, &answer);
    if let Some(after) = writer.before_head(&answer).await? {
        return Ok(after);
    }
    let is_scripted_chat = matches!(answer.content, Content::Script(_));
    let reply = if is_scripted_chat && request.route().ends_with("/embeddings") {
        Reply::json(200, &embeddings(&request.body["input"]))
    } else {
        reply(wire, &answer, request)
    };
    writer.write(&reply, answer.delivery.pieces).await
}

/// Whether the route is one of a provider's beside its chat models. Embeddings have a route of
/// their own below.
fn is_media(request: &RecordedRequest) -> bool {
    const ENDS: [&str; 6] = [
        "/audio/speech",
        "/audio/transcriptions",
        "/audio/translations",
        "/images/generations",
        "/images/edits",
        "/moderations",
    ];
    let tokens = || {
        let input = &request.body["input"][0];
        request.route().ends_with("/embeddings") && (input.is_array() || input.is_number())
    };
    ENDS.iter().any(|end| request.route().ends_with(end)) || tokens()
}

/// Answers routes that are not the model itself: the list of models, and the record for standalone
/// use.
fn side_route(state: &ModelState, request: &RecordedRequest) -> Reply {
    if request.route().starts_with("/_") {
        return control(state, request);
    }
    let inner = state.inner();
    if request.route().ends_with("/models") {
        let data: Vec<Value> = inner
            .models
            .iter()
            .map(|id| json!({"id": id, "object": "model", "owned_by": "scripted"}))
            .collect();
        return Reply::json(200, &json!({"object": "list", "data": data}));
    }
    if request.route().ends_with("/embeddings") {
        return Reply::json(200, &embeddings(&request.body["input"]));
    }
    Reply::json(404, &json!({"error": {"message": "no such route", "code": null}}))
}

/// Answers other programs: with the record, and with how many answers there were and how many broke
/// off. The programs can also set another script.
fn control(state: &ModelState, request: &RecordedRequest) -> Reply {
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    match request.route() {
        "/_requests" => Reply::json(200, &json!(state.inner().requests)),
        "/_counts" => Reply::json(
            200,
            &json!({
                "received": count(&state.received),
                "answering": count(&state.answering),
                "abandoned": count(&state.abandoned),
            }),
        ),
        "/_script" => match serde_json::from_slice(&request.raw) {
            Ok(file) => {
                state.load(file);
                Reply::json(200, &json!({}))
            }
            Err(error) => Reply::json(400, &json!({"error": error.to_string()})),
        },
        _ => Reply::json(404, &json!({"error": "no such route"})),
    }
}

/// Vectors that encode the length of their texts.
fn embeddings(input: &Value) -> Value {
    let texts = input.as_array().map_or_else(|| vec![input.clone()], Clone::clone);
    let data = texts.iter().enumerate().map(|(index, text)| {
        let length = text.as_str().unwrap_or_default().len() as f64;
        json!({"object": "embedding", "index": index, "embedding": [1.0, 0.5, length]})
    });
    let data: Vec<Value> = data.collect();
    json!({"object": "list", "model": "scripted", "data": data, "usage": {"prompt_tokens": 2, "total_tokens": 2}})
}

fn reply(wire: Wire, answer: &Answer, request: &RecordedRequest) -> Reply {
    let body = &request.body;
    let mut reply = match &answer.content {
        Content::Error(error) => {
            let (status, body) = wire.error(error);
            Reply::json(status, &body)
        }
        Content::Status { code, body } => {
            Reply { content_type: "text/plain", ..Reply::whole(*code, body.clone().into()) }
        }
        Content::Script(script) if wire.wants_stream(request.route(), body) => {
            let frames = wire.stream(script, body).with_line_end(answer.delivery.line_end);
            Reply {
                content_type: wire.stream_content_type(),
                frames,
                ..Reply::whole(200, Bytes::new())
            }
        }
        Content::Script(script) => match script.error() {
            Some(error) => {
                let (status, body) = wire.error(error);
                Reply::json(status, &body)
            }
            None => Reply::json(200, &wire.complete(script, body)),
        },
    };
    reply.headers.clone_from(&answer.headers);
    match answer.delivery.encoding {
        Encoding::Identity => reply,
        Encoding::Gzip => reply.gzipped(),
    }
}

impl Reply {
    fn json(status: u16, body: &Value) -> Self {
        Self::whole(status, body.to_string().into())
    }

    fn whole(status: u16, body: Bytes) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content_type: "application/json",
            frames: Frames::of_body(body),
        }
    }

    fn gzipped(mut self) -> Self {
        self.headers.push(("content-encoding".into(), "gzip".into()));
        self.frames = self.frames.gzipped();
        self
    }

    fn head(&self) -> String {
        let mut head =
            format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", self.status);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            head.push_str(&format!("content-type: {}\r\n", self.content_type));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head
    }
}

struct Writer<'a> {
    stream: &'a mut TcpStream,
    delay: Duration,
    fault: Option<Fault>,
    written: usize,
}

impl<'a> Writer<'a> {
    fn new(stream: &'a mut TcpStream, answer: &Answer) -> Self {
        Self {
            stream,
            delay: Duration::from_millis(answer.delivery.delay_ms),
            fault: answer.fault,
            written: 0,
        }
    }

    fn plain(stream: &'a mut TcpStream) -> Self {
        Self { stream, delay: Duration::ZERO, fault: None, written: 0 }
    }

    async fn before_head(&mut self, answer: &Answer) -> io::Result<Option<After>> {
        self.pause(Duration::from_millis(answer.delivery.first_delay_ms)).await?;
        match self.fault {
            Some(Fault::HangBeforeHead) => Err(self.hang().await),
            Some(Fault::CloseBeforeHead) => Ok(Some(After::Close)),
            Some(
                Fault::CloseAt(_)
                | Fault::ResetAt(_)
                | Fault::EndAt(_)
                | Fault::HangAt(_)
                | Fault::HangAfterHead,
            )
            | None => Ok(None),
        }
    }

    async fn write(&mut self, reply: &Reply, pieces: Pieces) -> io::Result<After> {
        self.stream.write_all(reply.head().as_bytes()).await?;
        if self.fault == Some(Fault::HangAfterHead) {
            return Err(self.hang().await);
        }
        for frame in regroup(reply.frames.items(), pieces) {
            match frame {
                Frame::Bytes(bytes) => {
                    if let Some(after) = self.piece(&bytes).await? {
                        return Ok(after);
                    }
                }
                Frame::Pause(duration) => self.pause(duration).await?,
                Frame::Hang => return Err(self.hang().await),
            }
        }
        self.end().await
    }

    /// Writes one HTTP chunk, or the part of it before the fault.
    async fn piece(&mut self, bytes: &Bytes) -> io::Result<Option<After>> {
        let room = self.room();
        let (part, broken) = match room {
            Some(room) if bytes.len() >= room => (bytes.slice(..room), true),
            Some(_) | None => (bytes.clone(), false),
        };
        if !part.is_empty() {
            let mut chunk = BytesMut::with_capacity(part.len() + 16);
            chunk.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            chunk.extend_from_slice(&part);
            chunk.extend_from_slice(b"\r\n");
            self.stream.write_all(&chunk).await?;
            self.written += part.len();
        }
        if broken {
            return self.break_off().await.map(Some);
        }
        self.pause(self.delay).await?;
        Ok(None)
    }

    fn room(&self) -> Option<usize> {
        match self.fault? {
            Fault::CloseAt(byte)
            | Fault::ResetAt(byte)
            | Fault::EndAt(byte)
            | Fault::HangAt(byte) => Some(byte.saturating_sub(self.written)),
            Fault::HangBeforeHead | Fault::HangAfterHead | Fault::CloseBeforeHead => None,
        }
    }

    async fn break_off(&mut self) -> io::Result<After> {
        match self.fault {
            Some(Fault::ResetAt(_)) => Ok(After::Reset),
            Some(Fault::EndAt(_)) => self.end().await,
            Some(Fault::HangAt(_)) => Err(self.hang().await),
            Some(
                Fault::CloseAt(_)
                | Fault::CloseBeforeHead
                | Fault::HangBeforeHead
                | Fault::HangAfterHead,
            )
            | None => Ok(After::Close),
        }
    }

    async fn end(&mut self) -> io::Result<After> {
        self.stream.write_all(b"0\r\n\r\n").await?;
        Ok(After::KeepOpen)
    }

    /// Waits, and notices when the client goes away meanwhile.
    async fn pause(&mut self, duration: Duration) -> io::Result<()> {
        if duration.is_zero() {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(duration) => Ok(()),
            gone = client_gone(self.stream) => Err(gone),
        }
    }

    async fn hang(&mut self) -> io::Error {
        client_gone(self.stream).await
    }
}

/// A client that waits for an answer sends nothing, so anything readable is its end.
async fn client_gone(stream: &TcpStream) -> io::Error {
    let mut byte = [0];
    match stream.peek(&mut byte).await {
        Ok(0) => io::ErrorKind::UnexpectedEof.into(),
        Ok(_) => io::Error::other("the client sent more before its answer ended"),
        Err(error) => error,
    }
}

fn regroup(frames: &[Frame], pieces: Pieces) -> Vec<Frame> {
    let size = match pieces {
        Pieces::Frames => return frames.to_vec(),
        Pieces::Bytes(size) => size.max(1),
        Pieces::Whole => usize::MAX,
    };
    let mut regrouped = Vec::new();
    let mut gathered = BytesMut::new();
    let flush = |gathered: &mut BytesMut, regrouped: &mut Vec<Frame>| {
        let bytes = gathered.split().freeze();
        let mut start = 0;
        while start < bytes.len() {
            let end = start.saturating_add(size).min(bytes.len());
            regrouped.push(Frame::Bytes(bytes.slice(start..end)));
            start = end;
        }
    };
    for frame in frames {
        match frame {
            Frame::Bytes(bytes) => gathered.extend_from_slice(bytes),
            Frame::Pause(_) | Frame::Hang => {
                flush(&mut gathered, &mut regrouped);
                regrouped.push(frame.clone());
            }
        }
    }
    flush(&mut gathered, &mut regrouped);
    regrouped
}

/// Increases a counter while it exists.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
