mod admin;
mod agent;
mod health;
mod runs;
mod sessions;
mod ws;

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use onyx_types::ErrorCode;
use tower_http::catch_panic::CatchPanicLayer;

use crate::guard::check_host_and_origin;
use crate::{Access, ApiState, Problem, Routes};

/// Every route of the server, each with what it asks of its caller.
pub fn routes() -> Routes {
    use Access::{Chat, Owner, Public, Read, Write};
    Routes::new()
        .get("/health", Public, health::health)
        .get("/ready", Public, health::ready)
        .post("/api/agent/chat-stream", Chat, agent::chat_stream)
        .post("/api/agent/chat", Chat, agent::chat)
        .post("/api/agent/stop", Chat, agent::stop)
        .post("/api/agent/session/clear", Write, agent::clear)
        .get("/api/agent/session/history", Read, agent::history)
        .get("/v1/sessions", Read, sessions::list)
        .get("/v1/sessions/{id}", Read, sessions::show)
        .patch("/v1/sessions/{id}", Write, sessions::patch)
        .delete("/v1/sessions/{id}", Write, sessions::delete)
        .post("/v1/sessions/{id}/fork", Write, sessions::fork)
        .get("/v1/sessions/{id}/turns", Read, sessions::turns)
        .get("/v1/sessions/{id}/export", Read, sessions::export)
        .get("/api/runs/{id}/events", Read, runs::events)
        .post("/api/runs/{id}/cancel", Chat, runs::cancel)
        .post("/api/runs/{id}/undo", Write, runs::undo)
        .post("/api/admin/reindex", Owner, admin::reindex)
        .merge(ws::routes())
}

pub fn router(state: ApiState) -> Router {
    routes()
        .into_router(&state)
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state)
        .layer(from_fn(check_host_and_origin))
        .layer(CatchPanicLayer::custom(panicked))
}

/// What no route serves is the web app's, or nothing.
async fn no_route(method: Method, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    crate::ui::answer(&method, uri.path(), &headers).ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, format!("there is no route {}", uri.path()))
    })
}

async fn wrong_method(uri: Uri) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, format!("{} does not take this method", uri.path()))
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// The panic itself is logged by the process's hook; the client only learns that it was ours.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::new(ErrorCode::Internal, ErrorCode::Internal.sentence()).into_response()
}
