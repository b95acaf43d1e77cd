//! What the home's socket asks for beside the same user: a key from a file that only a program which
//! can read the home has. A command of an agent runs as the same user, but in a sandbox that shows
//! it nothing of the home, so the socket is no way in for it even if it could connect.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderName;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use onyx_types::{ErrorCode, Fault, Hash};

use crate::Problem;

/// Where a request over the socket carries the key.
pub const SOCKET_KEY: HeaderName = HeaderName::from_static("x-onyx-socket-key");

/// Known by its hash: comparing hashes takes a time that tells nothing of the key.
#[derive(Clone, Copy, Debug)]
pub struct SocketKey(Hash);

impl SocketKey {
    pub fn new(key: &str) -> Self {
        Self(Hash::of(key.as_bytes()))
    }

    /// The same routes for those who have the key, and nothing for others.
    pub fn guard(self, router: Router) -> Router {
        router.layer(from_fn_with_state(self, check))
    }

    fn is_in(self, request: &Request) -> bool {
        let sent = request.headers().get(SOCKET_KEY);
        sent.is_some_and(|sent| Hash::of(sent.as_bytes()) == self.0)
    }
}

async fn check(State(key): State<SocketKey>, request: Request, next: Next) -> Response {
    if key.is_in(&request) || onyx_types::off("socket.key") {
        return next.run(request).await;
    }
    let fault = Fault::new(
        ErrorCode::Unauthenticated,
        "The home's socket asks for the key that lies beside it.",
    )
    .with_hint(
        "Use the `onyx` command, or send the content of onyx.sock.key as x-onyx-socket-key.",
    );
    Problem::from(fault).into_response()
}
