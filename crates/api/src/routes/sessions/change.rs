//! Changes sessions: renames, archives, deletes and forks them.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_agent::{ForkPoint, SessionPatch};
use onyx_storage::{Entities, SessionStatus};
use onyx_types::{AgentId, EntityRef, ErrorCode, Fault, Feedback, LaneOrder, Rating, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

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
    /// Pinned to the top of the list, with its forks.
    pinned: Option<bool>,
    /// Replaces the tags, also those of its forks.
    #[schemars(length(max = 16), inner(regex(pattern = r"\S"), length(max = 40)))]
    tags: Option<Vec<String>>,
    /// The page, task, ref or project that it is attached to; `null` detaches it.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<EntityRef>")]
    attached: Option<Option<EntityRef>>,
}

/// Distinguishes a field that is `null` from an absent one.
fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<EntityRef>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

pub(in crate::routes) async fn patch(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(patch): JsonBody<Patch>,
) -> Result<Json<SessionView>, Problem> {
    let id = session_id(&id)?;
    // A session that does not exist is reported before wrong fields of the body.
    state.agent.sessions.meta(&caller.person, id).await?;
    let Patch { title, status, agents, mode, pinned, tags, attached } = patch;
    let patch = SessionPatch { title, status, agents, mode, pinned, tags, attached };
    patch.check(&state.agent.roster()).map_err(Fault::from)?;
    if let Some(Some(entity)) = &patch.attached {
        let entities = Entities::new(&*state.store.files, &caller.person).map_err(Fault::from)?;
        if entities.get(entity).await.map_err(Fault::from)?.is_none() {
            return Err(Fault::plain(ErrorCode::NotFound).into());
        }
    }
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
    /// Leave out the turn itself, to replace it with another message.
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

#[derive(Deserialize, JsonSchema)]
pub(crate) struct GivenFeedback {
    /// Absent or `null`: the earlier rating is withdrawn.
    rating: Option<Rating>,
    #[schemars(length(max = 4000))]
    note: Option<String>,
}

pub(in crate::routes) async fn rate(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, turn)): Path<(String, String)>,
    JsonBody(given): JsonBody<GivenFeedback>,
) -> Result<Json<Feedback>, Problem> {
    let about = turn.parse().map_err(|error| Problem::field("turn", error))?;
    let feedback = Feedback { about, rating: given.rating, note: given.note };
    let kept =
        state.agent.sessions.give_feedback(&caller.person, session_id(&id)?, feedback).await?;
    Ok(Json(kept))
}
