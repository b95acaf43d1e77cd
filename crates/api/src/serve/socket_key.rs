//! The key that the home's socket requires in addition to the same user: it is in a file that only
//! a program with access to the home can read. A command of an agent runs as the same user, but in
//! a sandbox that shows it nothing of the home, so it could not use the socket even if it could
//! connect.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderName;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use onyx_types::{ErrorCode, Fault, Hash};

use crate::Problem;

/// The header that carries the key of a request over the socket.
pub const SOCKET_KEY: HeaderName = HeaderName::from_static("x-onyx-socket-key");

/// The key's hash: comparing hashes takes a time that reveals nothing about the key.
#[derive(Clone, Copy, Debug)]
pub struct SocketKey(Hash);

impl SocketKey {
    pub fn new(key: &str) -> Self {
        Self(Hash::of(key.as_bytes()))
    }

    /// Serves the routes only to requests with the key.
    pub fn guard(self, router: Router) -> Router {
        router.layer(from_fn_with_state(self, check))
    }

    fn is_in(self, request: &Request) -> bool {
        let sent = request.headers().get(SOCKET_KEY);
        sent.is_some_and(|sent| Hash::of(sent.as_bytes()) == self.0)
    }
}

async fn check(State(key): State<SocketKey>, request: Request, next: Next) -> Response {
    if key.is_in(&request) {
        return next.run(request).await;
    }
    let fault = Fault::new(
        ErrorCode::Unauthenticated,
        "The home's socket requires the key that is kept beside it.",
    )
    .with_hint(
        "Use the `onyx` command, or send the content of onyx.sock.key as x-onyx-socket-key.",
    );
    Problem::from(fault).into_response()
}
