//! Answers requests when there is no room for one more guest: only `/health` and requests with a
//! valid credential are served.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use onyx_types::{ErrorCode, Fault};

use super::slot::ConnectionSlot;
use crate::{ApiState, Problem};

const HEALTH: &str = "/health";

/// A connection in the reserve serves one request.
pub(crate) async fn spare_the_reserve(
    state: &ApiState,
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let slot = request.extensions().get::<Arc<ConnectionSlot>>();
    let Some(slot) = slot.filter(|slot| slot.is_in_reserve()).cloned() else {
        return next(request).await;
    };
    let (parts, body) = request.into_parts();
    // A wrong credential is not tried again by the route, because it would count twice.
    if parts.uri.path() != HEALTH {
        let caller = state.auth.authenticate(&parts).await;
        if !matches!(caller, Ok(Some(_))) || slot.sign_in().is_err() {
            return for_one_request(no_room().into_response());
        }
    }
    let response = next(Request::from_parts(parts, body)).await;
    if slot.is_known() { response } else { for_one_request(response) }
}

fn for_one_request(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn no_room() -> Problem {
    Fault::new(ErrorCode::Overloaded, "there are too many connections without sign-in")
        .with_hint(
            "Try again after the time in Retry-After, or send a credential with the request.",
        )
        .into()
}
