//! Connections: accepted from the network and from the home's socket, bounded in number and slowness,
//! ended in order. Who may stay is decided in [`admission`].
//!
//! The binary opens listeners and hands them in with the router. Nothing here knows a route or who
//! a caller is; only that somebody has signed in on a connection is told to its slot.

mod admission;
mod lanes;
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
pub use lanes::Lanes;
pub use limits::{ConnectionLimits, ConnectionSettings};
pub(crate) use reserve::spare_the_reserve;
pub(crate) use slot::ConnectionSlot;
pub use socket_key::{SOCKET_KEY, SocketKey};
pub use traffic::Traffic;
pub(crate) use traffic::followed;

use slot::OpenSlot;
use stream::GuardedStream;

/// Whoever sent the request has shown who they are without a credential of a person: another gateway. Its connection is
/// no stranger's from now on.
pub fn know_sender(extensions: &axum::http::Extensions) -> Result<(), crate::Problem> {
    match extensions.get::<Arc<ConnectionSlot>>() {
        Some(slot) => slot.sign_in(),
        None => Ok(()),
    }
}

/// From the first byte of a connection (or the end of its last answer) to the end of a head, for
/// people who have signed in. Others have `gateway.connections.headSeconds`.
const HEAD_LIMIT: Duration = Duration::from_secs(60);

/// The longest head of a request. Clients stay far below it, and until its end nobody knows who asks.
const LONGEST_HEAD: usize = 32 * 1024;

/// How often slow guests are looked for.
const SWEEP: Duration = Duration::from_millis(500);

/// After a failed accept (no descriptors left, usually): others may end meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where a request came from, in its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Network {
        from: SocketAddr,
        /// This machine's end of the connection.
        at: SocketAddr,
    },
    /// The same user of this machine, as the kernel says. The router that is served on the home's
    /// socket asks for more ([`crate::SocketKey`]): an agent's commands are that user too.
    LocalUser,
}

/// A source of connections.
pub trait Accept: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection that may speak.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, Peer)>> + Send;

    /// The same connection, woken by the runtime that this is called in.
    fn at_home_here(stream: Self::Stream) -> io::Result<Self::Stream>;

    /// Waits for the first byte, or for the end.
    fn readable(stream: &Self::Stream) -> impl Future<Output = io::Result<()>> + Send;
}

impl Accept for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, Peer)> {
        let (stream, address) = TcpListener::accept(self).await?;
        // Every event is flushed at once; waiting to fill a packet would hold it back.
        stream.set_nodelay(true)?;
        let at = stream.local_addr()?;
        Ok((stream, Peer::Network { from: address, at }))
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

    async fn accept(&mut self) -> io::Result<(UnixStream, Peer)> {
        loop {
            let (stream, _) = UnixListener::accept(self).await?;
            let user = stream.peer_cred()?.uid();
            let own = rustix::process::geteuid();
            if user == own.as_raw() || user == 0 {
                return Ok((stream, Peer::LocalUser));
            }
            tracing::warn!(user, "another user tried the home's socket; the connection is closed");
        }
    }

    fn at_home_here(stream: UnixStream) -> io::Result<UnixStream> {
        UnixStream::from_std(stream.into_std()?)
    }

    async fn readable(stream: &UnixStream) -> io::Result<()> {
        stream.readable().await
    }
}

/// Serves until `stop`, then lets answers under way end and returns when the last has.
pub async fn serve<A: Accept>(
    mut listener: A,
    router: Router,
    lanes: Lanes,
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
            Ok((stream, peer)) => {
                let slot = admission.admit(&peer);
                let (router, stop, lane) = (router.clone(), stop.clone(), lanes.quietest());
                lane.spawn(&connections, take_up::<A>(stream, slot, peer, router, stop));
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

/// Nothing is set up for a connection before it says something: one that is silent costs little.
async fn take_up<A: Accept>(
    stream: A::Stream,
    slot: OpenSlot,
    peer: Peer,
    router: Router,
    stop: Cancel,
) {
    let stream = match A::at_home_here(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, "a connection could not be taken up"),
    };
    // After one turn of the runtime, what a client sent together with its connection was heard.
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
    Box::pin(connection(stream, slot, peer, router, stop)).await;
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    slot: OpenSlot,
    peer: Peer,
    router: Router,
    stop: Cancel,
) {
    let shared = slot.share();
    let service =
        service_fn(move |request| answer(router.clone(), peer, Arc::clone(&shared), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_header_size(if onyx_types::off("head.size") { 1 << 20 } else { LONGEST_HEAD })
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
        // Clients come and go; only somebody who looks for it wants to see that.
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(
    router: Router,
    peer: Peer,
    slot: Arc<ConnectionSlot>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Body>, Infallible> {
    slot.answering();
    slot.settle();
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(peer);
    request.extensions_mut().insert(Arc::clone(&slot));
    let response = router.oneshot(request).await;
    // What a guest is told is whole by now; no public route streams.
    slot.waiting();
    response
}
