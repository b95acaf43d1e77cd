//! Connections: accepted from the network and from the home's socket, limited in number and in
//! slowness, and closed in order. [`admission`] decides which may stay.
//!
//! The binary opens listeners and passes them in with the router. Nothing here knows a route or a
//! caller; a connection's slot only learns that a person has signed in on it.

mod admission;
mod connection_runtimes;
mod limits;
mod network;
mod reserve;
mod slot;
mod socket_key;
mod stream;
mod traffic;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use onyx_types::Cancel;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

pub use admission::Admission;
pub use connection_runtimes::ConnectionRuntimes;
pub use limits::{ConnectionLimits, ConnectionSettings};
pub(crate) use reserve::spare_the_reserve;
pub(crate) use slot::ConnectionSlot;
pub use socket_key::{SOCKET_KEY, SocketKey};
pub use traffic::Traffic;
pub(crate) use traffic::followed;

use slot::OpenSlot;
use stream::GuardedStream;

/// Marks the sender of a request as known without a person's credential: it is another gateway. Its
/// connection is not a guest's from now on.
pub fn know_sender(extensions: &axum::http::Extensions) -> Result<(), crate::Problem> {
    match extensions.get::<Arc<ConnectionSlot>>() {
        Some(slot) => slot.sign_in(),
        None => Ok(()),
    }
}

/// The time from the first byte of a connection (or the end of its last answer) to the end of a
/// head, with sign-in. Without it, `gateway.connections.headSeconds` applies.
const HEAD_LIMIT: Duration = Duration::from_secs(60);

/// The longest head of a request. Clients stay far below it, and before its end the caller is
/// unknown.
const LONGEST_HEAD: usize = 32 * 1024;

/// How often slow guests are looked for.
const SWEEP: Duration = Duration::from_millis(500);

/// The pause after a failed accept, usually because no descriptors are left: other connections may
/// end meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where a request comes from, in its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestSender {
    Network {
        from: SocketAddr,
        /// This machine's end of the connection.
        at: SocketAddr,
    },
    /// The same user of this machine, according to the kernel. The router on the home's socket also
    /// requires a key ([`crate::SocketKey`]), because an agent's commands run as the same user.
    LocalUser,
}

/// A source of connections.
pub trait Accept: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection that is allowed to speak.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, RequestSender)>> + Send;

    /// Registers the connection with the current runtime.
    fn at_home_here(stream: Self::Stream) -> io::Result<Self::Stream>;

    /// Waits for the first byte, or for the end.
    fn readable(stream: &Self::Stream) -> impl Future<Output = io::Result<()>> + Send;
}

impl Accept for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, RequestSender)> {
        let (stream, address) = TcpListener::accept(self).await?;
        // Every event is flushed at once; waiting to fill a packet would delay it.
        stream.set_nodelay(true)?;
        let at = stream.local_addr()?;
        Ok((stream, RequestSender::Network { from: address, at }))
    }

    fn at_home_here(stream: TcpStream) -> io::Result<TcpStream> {
        TcpStream::from_std(stream.into_std()?)
    }

    async fn readable(stream: &TcpStream) -> io::Result<()> {
        stream.readable().await
    }
}

impl Accept for UnixListener {
    type Stream = UnixStream;

    async fn accept(&mut self) -> io::Result<(UnixStream, RequestSender)> {
        loop {
            let (stream, _) = UnixListener::accept(self).await?;
            let user = stream.peer_cred()?.uid();
            let own = rustix::process::geteuid();
            if user == own.as_raw() || user == 0 {
                return Ok((stream, RequestSender::LocalUser));
            }
            tracing::warn!(user, "closing a connection of another user to the home's socket");
        }
    }

    fn at_home_here(stream: UnixStream) -> io::Result<UnixStream> {
        UnixStream::from_std(stream.into_std()?)
    }

    async fn readable(stream: &UnixStream) -> io::Result<()> {
        stream.readable().await
    }
}

/// Serves until `stop`, then lets answers in progress finish and returns after the last one.
pub async fn serve<A: Accept>(
    mut listener: A,
    router: Router,
    runtimes: ConnectionRuntimes,
    admission: Arc<Admission>,
    stop: Cancel,
) {
    let connections = TaskTracker::new();
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        admission.settle().await;
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = sweep.tick() => {
                admission.close_overdue(Instant::now());
                continue;
            }
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, sender)) => {
                let slot = admission.admit(&sender);
                let (router, stop, runtime) = (router.clone(), stop.clone(), runtimes.least_busy());
                runtime
                    .spawn(&connections, serve_connection::<A>(stream, slot, sender, router, stop));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// Serves one connection. Nothing is set up before its first bytes arrive, so a silent one costs
/// little.
async fn serve_connection<A: Accept>(
    stream: A::Stream,
    slot: OpenSlot,
    sender: RequestSender,
    router: Router,
    stop: Cancel,
) {
    let stream = match A::at_home_here(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, "a connection could not be set up"),
    };
    // One turn of the runtime is enough to receive what a client sent together with its connection.
    tokio::select! {
        biased;
        _ = A::readable(&stream) => {}
        () = tokio::task::yield_now() => slot.settle(),
    }
    tokio::select! {
        heard = A::readable(&stream) => if heard.is_err() { return },
        () = slot.closed() => return,
        () = stop.cancelled() => return,
    }
    Box::pin(connection(stream, slot, sender, router, stop)).await;
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    slot: OpenSlot,
    sender: RequestSender,
    router: Router,
    stop: Cancel,
) {
    let shared = slot.share();
    let service =
        service_fn(move |request| answer(router.clone(), sender, Arc::clone(&shared), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_header_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(GuardedStream::new(stream, slot)), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Clients disconnect all the time; this is of interest only for debugging.
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(
    router: Router,
    sender: RequestSender,
    slot: Arc<ConnectionSlot>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Body>, Infallible> {
    slot.answering();
    slot.settle();
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(sender);
    request.extensions_mut().insert(Arc::clone(&slot));
    let response = router.oneshot(request).await;
    // The answer to a guest is complete now; no public route streams.
    slot.waiting();
    response
}
