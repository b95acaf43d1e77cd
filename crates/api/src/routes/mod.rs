mod admin;
mod agent;
mod health;
mod runs;
mod sessions;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use onyx_types::ErrorCode;
use tower_http::catch_panic::CatchPanicLayer;

use crate::guard::check_host_and_origin;
use crate::{ApiState, Problem};

/// Every route of the server. Public are `/health` and `/ready`; all others take an `AuthContext`.
pub fn router(state: ApiState) -> Router {
    Router::new()
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/api/agent/chat-stream", post(agent::chat_stream))
        .route("/api/agent/chat", post(agent::chat))
        .route("/api/agent/stop", post(agent::stop))
        .route("/api/agent/session/clear", post(agent::clear))
        .route("/api/agent/session/history", get(agent::history))
        .route("/v1/sessions", get(sessions::list))
        .route(
            "/v1/sessions/{id}",
            get(sessions::show).patch(sessions::patch).delete(sessions::delete),
        )
        .route("/v1/sessions/{id}/fork", post(sessions::fork))
        .route("/api/runs/{id}/events", get(runs::events))
        .route("/api/runs/{id}/cancel", post(runs::cancel))
        .route("/api/runs/{id}/undo", post(runs::undo))
        .route("/v1/sessions/{id}/turns", get(sessions::turns))
        .route("/v1/sessions/{id}/export", get(sessions::export))
        .route("/api/admin/reindex", post(admin::reindex))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state)
        .layer(from_fn(check_host_and_origin))
        .layer(CatchPanicLayer::custom(panicked))
}

async fn no_route(uri: Uri) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("there is no route {}", uri.path()))
}

async fn wrong_method(uri: Uri) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, format!("{} does not take this method", uri.path()))
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// The panic itself is logged by the process's hook; the client only learns that it was ours.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::new(ErrorCode::Internal, ErrorCode::Internal.sentence()).into_response()
}
