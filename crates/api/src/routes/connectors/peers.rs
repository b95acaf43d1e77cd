use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_connectors::PeerView;
use onyx_storage::{PeerKind, PeerState};
use onyx_types::{ErrorCode, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key;
use crate::wire::Json;
use crate::{ApiState, AuthContext, JsonBody, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct PeerList {
    peers: Vec<PeerJson>,
}

/// Somebody that an account has met.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PeerJson {
    network: String,
    account: String,
    /// The network's own id.
    id: String,
    kind: PeerKind,
    name: String,
    state: PeerState,
    /// Whether it speaks to the caller's own agents.
    is_mine: bool,
    /// What it has to show, while it waits.
    code: Option<String>,
    #[schemars(with = "String")]
    last_seen: Timestamp,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PairCode {
    code: String,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ApprovePeer {
    /// Whose agents it talks to; the owner's where it is left out.
    member: Option<String>,
}

fn json(peer: PeerView, caller: &PersonId) -> PeerJson {
    PeerJson {
        network: peer.key.account.network,
        account: peer.key.account.account,
        id: peer.key.peer,
        kind: peer.kind,
        name: peer.name,
        state: peer.state,
        is_mine: peer.person.as_ref() == Some(caller),
        code: peer.code.map(|code| code.code),
        last_seen: peer.last_seen,
    }
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((network, account)): Path<(String, String)>,
) -> Result<Json<PeerList>, Problem> {
    let peers = state.connectors.peers(&key(network, account)).await?;
    Ok(Json(PeerList { peers: peers.into_iter().map(|peer| json(peer, &caller.person)).collect() }))
}

pub(crate) async fn pair(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(PairCode { code }): JsonBody<PairCode>,
) -> Result<Json<PeerJson>, Problem> {
    let peer = state.connectors.approve_code(&code, caller.person.clone()).await?;
    Ok(Json(json(peer, &caller.person)))
}

pub(crate) async fn approve(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((network, account, id)): Path<(String, String, String)>,
    JsonBody(ApprovePeer { member }): JsonBody<ApprovePeer>,
) -> Result<Json<PeerJson>, Problem> {
    let person = match member {
        None => caller.person.clone(),
        Some(name) => known(&state, &name)?,
    };
    let peer = state.connectors.approve_peer(&key(network, account), &id, person).await?;
    Ok(Json(json(peer, &caller.person)))
}

fn known(state: &ApiState, name: &str) -> Result<PersonId, Problem> {
    let person: PersonId =
        name.parse().map_err(|error| Problem::field("member", format!("{error}")))?;
    if state.auth.identity().people().iter().any(|known| known.id == person) {
        return Ok(person);
    }
    Err(Problem::new(ErrorCode::NotFound, format!("There is nobody called {person} here.")))
}

pub(crate) async fn block(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((network, account, id)): Path<(String, String, String)>,
) -> Result<Json<PeerJson>, Problem> {
    let peer = state.connectors.block_peer(&key(network, account), &id).await?;
    Ok(Json(json(peer, &caller.person)))
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path((network, account, id)): Path<(String, String, String)>,
) -> Result<StatusCode, Problem> {
    state.connectors.remove_peer(&key(network, account), &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
