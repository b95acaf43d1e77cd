use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_connectors::PeerView;
use onyx_storage::{AccountKey, Expect, PeerKind, PeerState};
use onyx_types::{AgentId, ErrorCode, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key;
use crate::wire::Json;
use crate::{ApiState, AuthContext, ConfigChange, JsonBody, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct PeerList {
    peers: Vec<PeerJson>,
}

/// A person or group that the account talks to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PeerJson {
    network: String,
    account: String,
    /// The network's own id.
    id: String,
    kind: PeerKind,
    name: String,
    state: PeerState,
    /// Whether it talks to the caller's own agents.
    is_mine: bool,
    /// The agent that answers the peer.
    agent: String,
    /// The pairing code of the peer while it waits for approval.
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
    /// The person whose agents the peer talks to; the owner if it is absent.
    member: Option<PersonId>,
}

async fn json(state: &ApiState, peer: PeerView, caller: &PersonId) -> Result<PeerJson, Problem> {
    let agent = state.connectors.answering(&peer).await?.to_string();
    Ok(PeerJson {
        agent,
        network: peer.key.account.network,
        account: peer.key.account.account,
        id: peer.key.peer,
        kind: peer.kind,
        name: peer.name,
        state: peer.state,
        is_mine: peer.person.as_ref() == Some(caller),
        code: peer.code.map(|code| code.code),
        last_seen: peer.last_seen,
    })
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((network, account)): Path<(String, String)>,
) -> Result<Json<PeerList>, Problem> {
    let peers = state.connectors.peers(&key(network, account)?).await?;
    let mut shown = Vec::new();
    for peer in peers {
        shown.push(json(&state, peer, &caller.person).await?);
    }
    Ok(Json(PeerList { peers: shown }))
}

pub(crate) async fn pair(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(PairCode { code }): JsonBody<PairCode>,
) -> Result<Json<PeerJson>, Problem> {
    let peer = state.connectors.approve_code(&code, caller.person.clone()).await?;
    json(&state, peer, &caller.person).await.map(Json)
}

pub(crate) async fn approve(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((network, account, id)): Path<(String, String, String)>,
    JsonBody(ApprovePeer { member }): JsonBody<ApprovePeer>,
) -> Result<Json<PeerJson>, Problem> {
    let person = match member {
        None => caller.person.clone(),
        Some(member) => known(&state, member)?,
    };
    let peer = state.connectors.approve_peer(&key(network, account)?, &id, person).await?;
    json(&state, peer, &caller.person).await.map(Json)
}

fn known(state: &ApiState, person: PersonId) -> Result<PersonId, Problem> {
    if state.auth.identity().people().iter().any(|known| known.id == person) {
        return Ok(person);
    }
    Err(Problem::new(ErrorCode::NotFound, format!("There is no person {person} here.")))
}

pub(crate) async fn block(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((network, account, id)): Path<(String, String, String)>,
) -> Result<Json<PeerJson>, Problem> {
    let peer = state.connectors.block_peer(&key(network, account)?, &id).await?;
    json(&state, peer, &caller.person).await.map(Json)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BindPeer {
    /// The agent that answers from now on; `null` leaves it to the other bindings.
    agent: Option<AgentId>,
}

pub(crate) async fn bind(
    State(state): State<ApiState>,
    Path((network, account, id)): Path<(String, String, String)>,
    JsonBody(BindPeer { agent }): JsonBody<BindPeer>,
) -> Result<StatusCode, Problem> {
    write_binding(&state, network, account, Some(id), agent).await
}

pub(crate) async fn bind_account(
    State(state): State<ApiState>,
    Path((network, account)): Path<(String, String)>,
    JsonBody(BindPeer { agent }): JsonBody<BindPeer>,
) -> Result<StatusCode, Problem> {
    write_binding(&state, network, account, None, agent).await
}

async fn write_binding(
    state: &ApiState,
    network: String,
    account: String,
    peer: Option<String>,
    agent: Option<AgentId>,
) -> Result<StatusCode, Problem> {
    let AccountKey { network, account } = key(network, account)?;
    let change = ConfigChange::BindPeer { network, account, peer, agent };
    state.configuration.change(change, Expect::Anything).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path((network, account, id)): Path<(String, String, String)>,
) -> Result<StatusCode, Problem> {
    state.connectors.remove_peer(&key(network, account)?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
