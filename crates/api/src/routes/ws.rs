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
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use axum::routing::get;

use crate::access::Route;
use crate::auth::address_of;
use crate::serve::Peer;
use crate::{Access, ApiState, AuthContext, MAX_BODY, Problem, Routes};
use sent::SentKeys;

pub(super) fn routes() -> Routes {
    let route = Route { method: "GET", path: "/ws", access: Access::FirstFrame };
    let sent = Extension(Arc::new(SentKeys::default()));
    Routes::new().with(route, get(upgrade).layer(sent))
}

/// The credential comes with the upgrade (a cookie, or a header where the client can set one) or in
/// the first frame; never in the address, which ends up in logs.
async fn upgrade(
    State(state): State<ApiState>,
    Extension(sent): Extension<Arc<SentKeys>>,
    peer: Option<Extension<Peer>>,
    caller: Option<AuthContext>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|rejection| Problem::field("Upgrade", rejection.body_text()))?;
    let upgrade = upgrade.max_message_size(MAX_BODY).max_frame_size(MAX_BODY);
    let from = address_of(peer.as_ref().map(|Extension(peer)| peer));
    Ok(upgrade.on_upgrade(move |socket| connection::serve(socket, state, sent, caller, from)))
}
