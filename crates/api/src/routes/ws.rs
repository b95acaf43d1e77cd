//! `/ws`: one connection for everything a live client needs. Runs belong to the server: they
//! continue when a client leaves, or is closed because it reads too slowly.

mod command;
mod connection;
mod follow;
mod outbox;
mod result;
mod sent;
mod sign_in;
mod tail;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::access::{address_of, cookie};
use crate::serve::{ConnectionSlot, RequestSender};
use crate::{Access, ApiState, AuthContext, MAX_BODY, Problem, Route, Routes};
use sign_in::Sender;

/// Each connection keeps this buffer as long as it is open; most frames are shorter.
const READ_BUFFER: usize = 8 * 1024;
/// The most that is read from a client before it has authenticated.
const FIRST_FRAME: usize = 16 * 1024;

pub(super) fn routes() -> Routes {
    let row = Route::get_with("/ws", Access::FirstFrame, get(upgrade))
        .summary("Open a WebSocket: commands in, events out")
        .switches_protocols();
    Routes::tagged("ws", [row])
}

/// Tells the client what to do instead, in HTTP's form.
fn no_upgrade(rejection: &WebSocketUpgradeRejection) -> Response {
    let mut response = Problem::field("Upgrade", rejection.body_text())
        .with_status(StatusCode::UPGRADE_REQUIRED)
        .into_response();
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    response
}

/// The credential comes with the upgrade (where the client can set a header) or in the first frame
/// (a token, or the page's key to the browser's cookie); never in the address, which ends up in
/// logs.
async fn upgrade(
    State(state): State<ApiState>,
    request_sender: Option<Extension<RequestSender>>,
    slot: Option<Extension<Arc<ConnectionSlot>>>,
    caller: Option<AuthContext>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return Ok(no_upgrade(&rejection)),
    };
    let upgrade =
        upgrade.max_message_size(MAX_BODY).max_frame_size(MAX_BODY).read_buffer_size(READ_BUFFER);
    let from = address_of(request_sender.as_ref().map(|Extension(request_sender)| request_sender));
    let slot = slot.map(|Extension(slot)| slot);
    if let Some(slot) = slot.as_ref().filter(|_| caller.is_none()) {
        slot.allow(FIRST_FRAME);
    }
    let sender = Sender { cookie: cookie::session(&headers), from, slot };
    Ok(upgrade.on_upgrade(move |socket| connection::serve(socket, state, caller, sender)))
}
