//! The handlers, each folder with the routes it declares; and the router that is built from them
//! all.

mod accounts;
mod admin;
mod agent;
mod agents;
mod artifacts;
mod audit;
mod auth;
mod channels;
mod connectors;
mod conversations;
mod docs;
mod health;
mod jobs;
mod linkedin;
mod logs;
mod mcp;
mod mcp_server;
mod members_changes;
mod memory;
mod metrics;
mod oauth;
mod owned;
mod pending_changes;
mod personas;
mod plugins;
mod runs;
mod secrets;
mod sessions;
mod skills;
mod sources;
mod spaces;
mod ui_chat;
mod v1;
mod ws;

use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures::FutureExt as _;
use onyx_types::ErrorCode;
use serde_json::Value;

use crate::access::check_host_and_origin;
use crate::openapi::document;
use crate::problem::in_the_clients_form;
use crate::serve::{followed, spare_the_reserve};
use crate::wire::{drained_unless_read, without_unused_body};
use crate::{ApiState, Problem, Routes};
pub use mcp_server::mcp_response;

/// Every route of the server. Each folder declares its own.
pub fn routes() -> Routes {
    Routes::new()
        .merge(health::routes())
        .merge(agent::routes())
        .merge(agents::routes())
        .merge(sessions::routes())
        .merge(runs::routes())
        .merge(members_changes::routes())
        .merge(jobs::routes())
        .merge(skills::routes())
        .merge(artifacts::routes())
        .merge(mcp::routes())
        .merge(mcp_server::routes())
        .merge(plugins::routes())
        .merge(connectors::routes())
        .merge(pending_changes::routes())
        .merge(audit::routes())
        .merge(admin::routes())
        .merge(logs::routes())
        .merge(metrics::routes())
        .merge(docs::routes())
        .merge(sources::routes())
        .merge(memory::routes())
        .merge(auth::routes())
        .merge(accounts::routes())
        .merge(secrets::routes())
        .merge(personas::routes())
        .merge(spaces::routes())
        .merge(conversations::routes())
        .merge(channels::routes())
        .merge(ui_chat::routes())
        .merge(v1::routes())
        .merge(ws::routes())
        .merge(oauth::routes())
        .merge(linkedin::routes())
}

/// The description of every route, as `/openapi.json` has it.
pub fn openapi() -> Value {
    document(&routes())
}

pub fn router(state: ApiState) -> Router {
    routes()
        .into_router(&state)
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state.clone())
        .layer(from_fn_with_state(state, on_the_way_in))
}

/// The steps around every route, from the outermost to the innermost. They are one layer, because
/// each layer of axum boxes a future and copies the routes once more.
async fn on_the_way_in(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let routed = async |request| match without_unused_body(request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let spared = async |request| spare_the_reserve(&state, request, routed).await;
    let signed_in = async |request| oauth::tell_where_to_sign_in(request, spared).await;
    let checked = async |request| check_host_and_origin(&state, request, signed_in).await;
    let caught = async |request| {
        AssertUnwindSafe(checked(request)).catch_unwind().await.unwrap_or_else(panicked)
    };
    let formed = async |request| in_the_clients_form(request, caught).await;
    followed(&state, drained_unless_read(request), formed).await
}

/// A path without a route may be a page or a file of the web app.
async fn no_route(method: Method, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    crate::web_app::answer(&method, uri.path(), &headers).ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, format!("there is no route {}", uri.path()))
    })
}

async fn wrong_method(uri: Uri) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, format!("{} does not take this method", uri.path()))
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// The panic itself is logged by the process's hook; the client only learns that it is an internal
/// error.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::new(ErrorCode::Internal, ErrorCode::Internal.sentence()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The document looks values up by these names, so a name that is not in the path would be
    /// ignored.
    #[test]
    fn what_is_declared_of_a_path_is_in_the_path_and_no_route_is_declared_twice() {
        let mut declared = BTreeSet::new();
        for route in routes().table() {
            assert!(declared.insert((route.method, route.path)), "{route:?} stands twice");
            let names: Vec<_> = route.path_names().collect();
            for (name, _) in &route.description.path_values {
                assert!(names.contains(name), "{} has no {name}", route.path);
            }
        }
    }
}
