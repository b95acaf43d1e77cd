//! `/mcp`: an agent for other programs, over MCP's streamable HTTP. `onyx_mcp::serving` speaks the
//! protocol; this module offers the agent's tools, the person's files and conversations as
//! resources, and their actions as prompts. Every call goes through the gate. An approval is asked
//! for in the client where it can ask its person; otherwise the call becomes a draft, and the
//! answer says so.

mod approval;
mod prompts;
mod resources;
mod service;

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use onyx_mcp::serving::{Headers, HttpReply, Service as _};
use onyx_types::AgentId;
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::RawBody;
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};
use service::AgentService;

pub(super) fn routes() -> Routes {
    use Access::Chat;
    let rows = [
        Route::post("/mcp", Chat, post)
            .summary("Use an agent as an MCP server: one JSON-RPC message per request")
            .query::<WhichAgent>()
            .body::<JsonRpc>()
            .answers_json_as(any_object),
        Route::get("/mcp", Chat, listen)
            .summary("Refused (405): this MCP server sends no notifications of changes")
            .query::<WhichAgent>()
            .answers_events_as(any_object),
        Route::delete("/mcp", Chat, end).summary("End an MCP client's session").answers_nothing(),
    ];
    Routes::tagged("mcp", rows)
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"type": "object"})
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WhichAgent {
    /// The agent whose tools are offered; without it, the default agent.
    agent: Option<AgentId>,
}

/// A message of JSON-RPC 2.0.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used: a wrong message gets an answer of JSON-RPC")]
pub(crate) struct JsonRpc {
    jsonrpc: String,
    id: Option<Value>,
    method: String,
    params: Option<Map<String, Value>>,
}

async fn post(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(which): QueryOf<WhichAgent>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    let endpoint = Arc::clone(&state.extensions.mcp_endpoint);
    let person = caller.person.clone();
    let service = AgentService::new(state, caller, which.agent.as_ref())?;
    let answer = endpoint.post(Arc::new(service), &person, &known(&headers), &body).await;
    Ok(mcp_response(answer))
}

async fn listen(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(which): QueryOf<WhichAgent>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let endpoint = Arc::clone(&state.extensions.mcp_endpoint);
    let person = caller.person.clone();
    let service = AgentService::new(state, caller, which.agent.as_ref())?;
    Ok(mcp_response(endpoint.listen(&service.offer(), &person, &known(&headers)).await))
}

async fn end(State(state): State<ApiState>, caller: AuthContext, headers: HeaderMap) -> Response {
    let endpoint = &state.extensions.mcp_endpoint;
    mcp_response(endpoint.end(&caller.person, &known(&headers)).await)
}

fn known(headers: &HeaderMap) -> Headers {
    Headers::read(|name| headers.get(name).and_then(|value| value.to_str().ok()))
}

/// Turns a reply of the protocol into an HTTP response.
pub fn mcp_response(answer: HttpReply) -> Response {
    let status = |number: u16| StatusCode::from_u16(number).unwrap_or(StatusCode::BAD_REQUEST);
    match answer {
        HttpReply::Empty { status: number } => status(number).into_response(),
        HttpReply::Json { status: number, session, body } => {
            let response = (status(number), axum::Json(body));
            match session {
                Some(session) => ([("mcp-session-id", session)], response).into_response(),
                None => response.into_response(),
            }
        }
        HttpReply::Events(events) => {
            let headers =
                [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
            let events = stream::unfold(events, |mut events| async {
                let event = events.next().await?;
                Some((Ok::<_, Infallible>(event), events))
            });
            (headers, Body::from_stream(events)).into_response()
        }
    }
}
