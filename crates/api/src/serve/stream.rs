//! The stream of one connection. Its peer may be slow to read, but not endlessly: bytes that it
//! does not take within the limit are an error, and its connection ends. The same holds for every
//! read and write once the connection must close, and for every byte beyond the limit without
//! sign-in.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::slot::OpenSlot;

/// The longest time from when the peer's buffers are full to when it takes the next byte.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct GuardedStream<S> {
    inner: S,
    slot: OpenSlot,
    /// The time limit of a write that waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> GuardedStream<S> {
    pub(crate) fn new(inner: S, slot: OpenSlot) -> Self {
        Self { inner, slot, waiting: None }
    }

    fn bounded<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            if self.waiting.take().is_some() {
                self.slot.set_writing(false);
            }
            return outcome;
        }
        if self.waiting.is_none() {
            self.slot.set_writing(true);
        }
        if self.slot.poll_closed(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(WRITE_LIMIT)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.slot.poll_closed(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if outcome.is_pending() {
            self.slot.settle();
        }
        ready!(outcome)?;
        if self.slot.spend(buffer.filled().len() - before) {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.bounded(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.bounded(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(cx);
        self.bounded(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.bounded(cx, outcome)
    }
}
