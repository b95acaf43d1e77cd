//! Connections: accepted from the loopback port and from the home's socket, bounded in their
//! slowness, ended in order.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

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

use crate::lanes::Lanes;
use crate::stalled::StallLimit;

/// From the first byte of a connection (or the end of its last answer) to the end of a head.
const HEAD_LIMIT: Duration = Duration::from_secs(60);

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
}

/// Serves until `stop`, then lets answers under way end and returns when the last has.
pub async fn serve<A: Accept>(mut listener: A, router: Router, lanes: Lanes, stop: Cancel) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, stop, lane) = (router.clone(), stop.clone(), lanes.quietest());
                let task = async move {
                    match A::at_home_here(stream) {
                        Ok(stream) => connection(stream, peer, router, stop).await,
                        Err(error) => tracing::warn!(%error, "a connection could not be taken up"),
                    }
                };
                lane.spawn(&connections, task);
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

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    router: Router,
    stop: Cancel,
) {
    let service = service_fn(move |request| answer(router.clone(), peer, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .serve_connection(TokioIo::new(StallLimit::new(stream)), service)
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
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Body>, Infallible> {
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(peer);
    router.oneshot(request).await
}
