//! Changing sessions: naming, archiving, removing, forking.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_agent::{ForkPoint, SessionPatch};
use onyx_storage::SessionStatus;
use onyx_types::{AgentId, Fault, LaneOrder, TurnId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{SessionView, session_id};
use crate::wire::Json;
use crate::{ApiState, AuthContext, JsonBody, Problem};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Patch {
    #[schemars(regex(pattern = r"\S"), length(max = 200))]
    title: Option<String>,
    status: Option<SessionStatus>,
    #[schemars(length(min = 1, max = 8), extend("uniqueItems" = true))]
    agents: Option<Vec<AgentId>>,
    mode: Option<LaneOrder>,
    /// Kept at the top of the list, with its forks.
    pinned: Option<bool>,
}

pub(in crate::routes) async fn patch(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(patch): JsonBody<Patch>,
) -> Result<Json<SessionView>, Problem> {
    let id = session_id(&id)?;
    // What is not there has no fields that could be wrong.
    state.agent.sessions.meta(&caller.person, id).await?;
    let Patch { title, status, agents, mode, pinned } = patch;
    let patch = SessionPatch { title, status, agents, mode, pinned };
    patch.check(&state.agent.roster()).map_err(Fault::from)?;
    let meta = state.agent.sessions.patch(&caller.person, id, patch).await?;
    Ok(Json(meta.into()))
}

pub(in crate::routes) async fn delete(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    state.agent.sessions.delete(&caller.person, session_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(in crate::routes) async fn read(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id = session_id(&id)?;
    state.agent.sessions.meta(&caller.person, id).await?;
    state.agent.sessions.mark_read(&caller.person, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Fork {
    turn_id: TurnId,
    /// Leave the turn itself out: for saying it differently.
    #[serde(default)]
    before: bool,
}

pub(in crate::routes) async fn fork(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(fork): JsonBody<Fork>,
) -> Result<(StatusCode, Json<SessionView>), Problem> {
    let point = if fork.before {
        ForkPoint::Before(fork.turn_id)
    } else {
        ForkPoint::Through(fork.turn_id)
    };
    let fresh = state.agent.sessions.fork(&caller.person, session_id(&id)?, point).await?;
    let meta = state.agent.sessions.meta(&caller.person, fresh).await?;
    Ok((StatusCode::CREATED, Json(meta.into())))
}
