//! The queue of frames for one connection: bounded, and closed with a code when its client does not
//! read.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::stream::SplitSink;
use futures::{SinkExt, StreamExt as _};
use onyx_types::Cancel;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Frames that may wait for a slow client.
const QUEUE: usize = 64;
/// A client whose queue stays full this long counts as not reading.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a client that does not read may take to read the close frame.
const FAREWELL: Duration = Duration::from_secs(60);
/// The time between two pings, which also keep proxies from closing a quiet connection.
const PING_EVERY: Duration = Duration::from_secs(20);

/// Why the server closes a connection; 4000 and up are ours to define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseReason {
    Unauthenticated,
    SlowReader,
    Silent,
    Binary,
}

impl CloseReason {
    fn frame(self) -> CloseFrame {
        let (code, reason) = match self {
            Self::Binary => (1003, "frames are JSON text"),
            Self::Unauthenticated => (4401, "unauthenticated"),
            Self::Silent => (4408, "the client was silent for too long"),
            Self::SlowReader => (4429, "slow reader"),
        };
        CloseFrame { code, reason: reason.into() }
    }
}

/// The sending end, shared by everything that sends to this client.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    queue: mpsc::Sender<Message>,
    /// Set when nothing more can reach the client.
    pub(super) ended: Cancel,
    slow: Cancel,
}

impl Outbox {
    pub(super) fn open(sink: SplitSink<WebSocket, Message>) -> (Self, impl Future<Output = ()>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let outbox = Self { queue, ended: Cancel::new(), slow: Cancel::new() };
        let writer = write(sink, waiting, outbox.ended.clone(), outbox.slow.clone());
        (outbox, writer)
    }

    /// Waits for room, except for a client that does not read.
    pub(super) async fn tell(&self, text: String) {
        self.put(Message::text(text)).await;
    }

    pub(super) async fn close(&self, reason: CloseReason) {
        self.put(Message::Close(Some(reason.frame()))).await;
    }

    async fn put(&self, message: Message) {
        if self.slow.is_cancelled() {
            return;
        }
        if timeout(PATIENCE, self.queue.send(message)).await.is_err() {
            tracing::info!("closing the connection of a client that reads too slowly");
            self.slow.cancel();
        }
    }
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut waiting: mpsc::Receiver<Message>,
    ended: Cancel,
    slow: Cancel,
) {
    let mut ping = interval(PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ping.reset();
    loop {
        let message = tokio::select! {
            biased;
            () = slow.cancelled() => Message::Close(Some(CloseReason::SlowReader.frame())),
            message = waiting.recv() => match message {
                Some(message) => message,
                None => break,
            },
            _ = ping.tick() => Message::Ping(bytes::Bytes::new()),
        };
        let last = matches!(message, Message::Close(_));
        // A blocked write ends when the client reads, leaves, or exceeds its time.
        let sent = tokio::select! {
            sent = sink.send(message) => sent.is_ok(),
            () = overdue(&slow) => false,
        };
        if last || !sent {
            break;
        }
    }
    ended.cancel();
}

async fn overdue(slow: &Cancel) {
    slow.cancelled().await;
    tokio::time::sleep(FAREWELL).await;
}

/// The next text; `None` when the client is gone or the server closed it.
pub(super) async fn receive(
    source: &mut futures::stream::SplitStream<WebSocket>,
    outbox: &Outbox,
    silence: Duration,
) -> Option<String> {
    loop {
        let message = tokio::select! {
            message = timeout(silence, source.next()) => message,
            () = outbox.ended.cancelled() => return None,
        };
        match message {
            Err(_) => {
                outbox.close(CloseReason::Silent).await;
                return None;
            }
            Ok(Some(Ok(Message::Text(text)))) => return Some(text.as_str().to_owned()),
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Ok(Some(Ok(Message::Binary(_)))) => {
                outbox.close(CloseReason::Binary).await;
                return None;
            }
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return None,
        }
    }
}
