//! The routes for other gateways. Other callers cannot tell that these routes exist.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures::stream;
use onyx_agent::{AgentServices, EventReader, RunOrder};
use onyx_types::{ErrorCode, Fault, PersonId, RunId, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::proof::{GatewayKey, PROOF, ProofClock};

pub(super) const ORDERS: &str = "/internal/gateways/orders";
pub(super) const GREETING: &str = "/internal/gateways/greeting";
pub(super) const EVENTS: &str = "/internal/gateways/events";

/// The most bytes of a request, which holds at most a message of a person.
const LARGEST: usize = 16 * 1024 * 1024;
/// An empty line at this interval shows the asking gateway that this one still works.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// What the routes need to answer other gateways.
pub(super) struct PeerServices {
    pub(super) id: String,
    pub(super) key: Arc<GatewayKey>,
    pub(super) clock: ProofClock,
    pub(super) agent: AgentServices,
}

#[derive(Serialize, Deserialize)]
pub(super) struct OrderBody {
    pub(super) person: PersonId,
    pub(super) order: RunOrder,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EventsBody {
    pub(super) person: PersonId,
    pub(super) run: RunId,
    pub(super) after: u64,
}

/// What a gateway reports about itself.
#[derive(Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) now: Timestamp,
}

pub(super) fn router(answering: PeerServices) -> Router {
    Router::new()
        .route(ORDERS, post(order))
        .route(EVENTS, post(events))
        .route(GREETING, post(greeting))
        .with_state(Arc::new(answering))
}

async fn order(State(answering): State<Arc<PeerServices>>, request: Request) -> Response {
    let Some((nonce, OrderBody { person, order })) = proven_body(&answering, request).await else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let done = answering.agent.runs.obey(&person, order).await;
    let response = match done {
        Ok(done) => Json(done).into_response(),
        Err(fault) => refused(&fault),
    };
    proven(response, &answering, &nonce)
}

async fn greeting(State(answering): State<Arc<PeerServices>>, request: Request) -> Response {
    let Some((nonce, ())) = proven_body(&answering, request).await else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let greeting = Greeting { version, now: answering.agent.now() };
    proven(Json(greeting).into_response(), &answering, &nonce)
}

async fn events(State(answering): State<Arc<PeerServices>>, request: Request) -> Response {
    let Some((nonce, EventsBody { person, run, after })) = proven_body(&answering, request).await
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let response = match answering.agent.runs.events_here(&person, run, after).await {
        Ok(Some(reader)) => Body::from_stream(lines(reader)).into_response(),
        Ok(None) => refused(&Fault::plain(ErrorCode::NotFound)),
        Err(fault) => refused(&fault),
    };
    proven(response, &answering, &nonce)
}

/// The body of a gateway's request, and its nonce.
async fn proven_body<T: DeserializeOwned>(
    answering: &PeerServices,
    request: Request,
) -> Option<(String, T)> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LARGEST).await.ok()?;
    let (now, path) = (answering.clock.now(), parts.uri.path());
    let nonce = answering.key.checked(&parts.headers, &answering.id, path, &body, now)?;
    // The connection may stay open for a stream, so it must not count as one without sign-in.
    onyx_api::know_sender(&parts.extensions).ok()?;
    Some((nonce, serde_json::from_slice(&body).ok()?))
}

fn proven(mut response: Response, answering: &PeerServices, nonce: &str) -> Response {
    if let Ok(value) = answering.key.answer(&answering.id, nonce).parse() {
        response.headers_mut().insert(PROOF, value);
    }
    response
}

fn refused(fault: &Fault) -> Response {
    let status = StatusCode::from_u16(fault.code.http_status());
    (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), Json(fault)).into_response()
}

/// The events as lines, one event each.
fn lines(reader: EventReader) -> impl futures::Stream<Item = Result<Bytes, serde_json::Error>> {
    stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match tokio::time::timeout(SIGN_OF_LIFE, reader.next()).await {
            Err(_) => Some((Ok(Bytes::from_static(b"\n")), Some(reader))),
            Ok(None) => None,
            Ok(Some(envelope)) => match serde_json::to_vec(&*envelope) {
                Ok(mut line) => {
                    line.push(b'\n');
                    Some((Ok(Bytes::from(line)), Some(reader)))
                }
                Err(error) => Some((Err(error), None)),
            },
        }
    })
}
