//! The coworkers of a channel, and which of them answers messages that name none.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_storage::{ChannelCard, Coworker};
use onyx_types::{AgentId, ErrorCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{change, find};
use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, Route, Routes};

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/channels/{id}/coworkers", Read, list)
            .summary("List the coworkers of a channel")
            .answers_json::<CoworkerList>(),
        Route::post("/api/channels/{id}/coworkers", Write, assign)
            .summary("Assign an agent to a channel")
            .body::<NewCoworker>()
            .answers_created::<CoworkerList>(),
        Route::patch("/api/channels/{id}/coworkers/{agent}", Write, patch)
            .summary("Set the primary coworker of a channel")
            .body::<PatchCoworker>()
            .answers_json::<CoworkerList>(),
        Route::delete("/api/channels/{id}/coworkers/{agent}", Write, remove)
            .summary("Remove a coworker from a channel")
            .answers_nothing(),
    ];
    Routes::tagged("channels", rows)
}

const MOST: usize = 32;

#[derive(Serialize, JsonSchema)]
pub(crate) struct CoworkerList {
    coworkers: Vec<CoworkerView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CoworkerView {
    agent: String,
    /// Answers messages that name no coworker: the marked one, or the one assigned first.
    primary: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewCoworker {
    agent: String,
    #[serde(default)]
    primary: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PatchCoworker {
    primary: bool,
}

pub(super) fn views_of(card: &ChannelCard) -> Vec<CoworkerView> {
    let primary = card.primary();
    let view = |coworker: &Coworker| CoworkerView {
        agent: coworker.agent.to_string(),
        primary: primary == Some(&coworker.agent),
    };
    card.coworkers.iter().map(view).collect()
}

fn listed(card: &ChannelCard) -> CoworkerList {
    CoworkerList { coworkers: views_of(card) }
}

pub(in crate::routes) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<CoworkerList>, Problem> {
    Ok(Json(listed(&find(&state, &caller, &id).await?.card)))
}

/// Assigning an agent that is already a coworker changes only whether it is the primary.
pub(in crate::routes) async fn assign(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<NewCoworker>,
) -> Result<(StatusCode, Json<CoworkerList>), Problem> {
    let channel = find(&state, &caller, &id).await?;
    let agent = known_agent(&state, &request.agent)?;
    if channel.card.coworkers.len() >= MOST {
        return Err(Problem::field(
            "agent",
            format!("a channel can have at most {MOST} coworkers"),
        ));
    }
    let changed = change(&state, &caller, &id, None, |card| {
        if !card.coworkers.iter().any(|coworker| coworker.agent == agent) {
            card.coworkers.push(Coworker { agent: agent.clone(), primary: false });
        }
        if request.primary {
            mark(card, &agent, true);
        }
    });
    Ok((StatusCode::CREATED, Json(listed(&changed.await?.card))))
}

pub(in crate::routes) async fn patch(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, agent)): Path<(String, String)>,
    JsonBody(request): JsonBody<PatchCoworker>,
) -> Result<Json<CoworkerList>, Problem> {
    let agent = assigned(&state, &caller, &id, &agent).await?;
    let changed =
        change(&state, &caller, &id, None, |card| mark(card, &agent, request.primary)).await?;
    Ok(Json(listed(&changed.card)))
}

pub(in crate::routes) async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, agent)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let agent = assigned(&state, &caller, &id, &agent).await?;
    change(&state, &caller, &id, None, |card| {
        card.coworkers.retain(|coworker| coworker.agent != agent);
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A channel has exactly one primary.
fn mark(card: &mut ChannelCard, agent: &AgentId, primary: bool) {
    for coworker in &mut card.coworkers {
        if coworker.agent == *agent {
            coworker.primary = primary;
        } else {
            coworker.primary &= !primary;
        }
    }
}

async fn assigned(
    state: &ApiState,
    caller: &AuthContext,
    id: &str,
    agent: &str,
) -> Result<AgentId, Problem> {
    let card = find(state, caller, id).await?.card;
    let found = card.coworkers.into_iter().find(|coworker| coworker.agent.as_str() == agent);
    found.map(|coworker| coworker.agent).ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, format!("{agent:?} is not a coworker of this channel."))
    })
}

fn known_agent(state: &ApiState, id: &str) -> Result<AgentId, Problem> {
    let roster = state.agent.roster();
    let found = id.parse().ok().filter(|id| roster.get(id).is_some());
    found.ok_or_else(|| Problem::unknown("agent", format!("there is no agent {id:?}")))
}
