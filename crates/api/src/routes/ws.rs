//! `/ws`: one connection for everything a live client needs. Runs belong to the server: a client
//! that goes away, or reads too slowly and is closed, leaves them at work.

mod answer;
mod command;
mod connection;
mod follow;
mod outbox;
mod sent;

use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use onyx_identity::Token;
use onyx_types::ErrorCode;

use crate::access::Route;
use crate::{Access, ApiState, AuthContext, MAX_BODY, Problem, Routes};
use sent::SentKeys;

/// Open to anybody, because a browser cannot send a header with it: it asks for the credential
/// itself and closes on whoever has none.
pub(super) fn routes() -> Routes {
    let route = Route { method: "GET", path: "/ws", access: Access::Public };
    let sent = Extension(Arc::new(SentKeys::default()));
    Routes::new().with(route, get(upgrade).layer(sent))
}

/// The credential comes with the upgrade (a cookie, or a header where the client can set one) or in
/// the first frame; never in the address, which ends up in logs.
async fn upgrade(
    State(state): State<ApiState>,
    Extension(sent): Extension<Arc<SentKeys>>,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    // A credential that is not good may be mended by one in the first frame.
    let caller = state.auth.authenticate(&parts).await.ok().flatten();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &state)
        .await
        .map_err(|rejection| Problem::field("Upgrade", rejection.body_text()))?;
    let upgrade = upgrade.max_message_size(MAX_BODY).max_frame_size(MAX_BODY);
    let door = Door { state, parts };
    Ok(upgrade.on_upgrade(move |socket| connection::serve(socket, door, sent, caller)))
}

/// The request that opened a connection: a token in a frame counts as if it had come with it.
struct Door {
    state: ApiState,
    parts: Parts,
}

impl Door {
    async fn admit(&self, token: &Token) -> Result<AuthContext, Problem> {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.as_str())).map_err(|_| {
            Problem::new(ErrorCode::Unauthenticated, "the token has characters that none has")
        })?;
        let mut parts = self.parts.clone();
        parts.headers.remove(header::COOKIE);
        parts.headers.insert(header::AUTHORIZATION, value);
        self.state
            .auth
            .authenticate(&parts)
            .await?
            .ok_or_else(|| Problem::new(ErrorCode::Unauthenticated, "the token is not known here"))
    }
}
