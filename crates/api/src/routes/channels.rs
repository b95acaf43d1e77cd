//! `/api/channels` and `/api/threads`: channels in which coworkers answer.

pub(super) mod coworkers;
pub(super) mod events;
pub(super) mod messages;
pub(super) mod threads;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_storage::{Channel, ChannelCard, Channels, Expect};
use onyx_types::{ChannelId, ErrorCode, Fault, Hash, SpaceId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spaces::{by, candidates, checked_name, find as find_space, removal};
use crate::wire::{Json, etag, expected};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};

const LONGEST_PURPOSE: usize = 4_000;

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/channels", Read, list)
            .summary("List channels")
            .query::<ChannelsQuery>()
            .answers_json::<ChannelList>(),
        Route::post("/api/channels", Write, create)
            .summary("Create a channel")
            .body::<NewChannel>()
            .answers_created::<ChannelView>(),
        Route::get("/api/channels/{id}", Read, show)
            .summary("Get a channel")
            .answers_json::<ChannelView>(),
        Route::patch("/api/channels/{id}", Write, patch)
            .summary("Change a channel's name or purpose")
            .body::<ChannelPatch>()
            .answers_json::<ChannelView>(),
        Route::delete("/api/channels/{id}", Write, remove)
            .summary("Delete a channel with its threads and sources")
            .answers_nothing(),
    ];
    Routes::tagged("channels", rows)
        .merge(coworkers::routes())
        .merge(threads::routes())
        .merge(messages::routes())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ChannelsQuery {
    /// Only channels of this space.
    space: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelList {
    channels: Vec<ChannelView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelView {
    id: String,
    space: String,
    name: String,
    purpose: String,
    coworkers: Vec<coworkers::CoworkerView>,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
}

impl From<&Channel> for ChannelView {
    fn from(channel: &Channel) -> Self {
        Self {
            id: channel.id.to_string(),
            space: channel.space.to_string(),
            name: channel.card.name.clone(),
            purpose: channel.card.purpose.clone(),
            coworkers: coworkers::views_of(&channel.card),
            threads: channel.card.threads.len(),
            created_at: channel.card.created,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewChannel {
    space: String,
    #[schemars(regex(pattern = r"\S"), length(max = 120))]
    name: String,
    #[serde(default)]
    #[schemars(length(max = 4000))]
    purpose: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ChannelPatch {
    #[schemars(regex(pattern = r"\S"), length(max = 120))]
    name: Option<String>,
    purpose: Option<String>,
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<ChannelsQuery>,
) -> Result<Json<ChannelList>, Problem> {
    let space = match query.space {
        Some(space) => Some(find_space(&state, &caller, &space).await?.id),
        None => None,
    };
    let all = channels(&state, &caller)?.list(space.as_ref()).await.map_err(Fault::from)?;
    Ok(Json(ChannelList { channels: all.iter().map(ChannelView::from).collect() }))
}

pub(super) async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<NewChannel>,
) -> Result<Response, Problem> {
    let space = named_space(&state, &caller, &request.space).await?;
    let name = checked_name(&request.name)?;
    let purpose = checked_purpose(&request.purpose)?;
    let channels = channels(&state, &caller)?;
    let by = by(&state, &caller);
    let card = ChannelCard::new(name, purpose, by.ts);
    let id = free_id(&channels, &card.name).await?;
    let made = channels.create(&space, &id, &card, by).await.map_err(Fault::from)?;
    let location = [(header::LOCATION, format!("/api/channels/{id}"))];
    Ok((StatusCode::CREATED, location, answer(&made)).into_response())
}

pub(super) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(answer(&find(&state, &caller, &id).await?))
}

pub(super) async fn patch(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<ChannelPatch>,
) -> Result<Response, Problem> {
    let name = request.name.as_deref().map(checked_name).transpose()?;
    let purpose = request.purpose.as_deref().map(checked_purpose).transpose()?;
    let changed = change(&state, &caller, &id, version_seen(&headers)?, |card| {
        card.name = name.clone().unwrap_or(std::mem::take(&mut card.name));
        card.purpose = purpose.clone().unwrap_or(std::mem::take(&mut card.purpose));
    });
    Ok(answer(&changed.await?))
}

/// Deletes the channel with its threads and all attached sources; the content of its file is kept
/// in the history.
pub(super) async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let channel = find(&state, &caller, &id).await?;
    removal::close(&state, &caller, removal::sessions_of(&channel)).await?;
    let scopes: Vec<_> = removal::scopes_of(&channel).collect();
    removal::detach(&state, &caller, &scopes).await?;
    let channels = channels(&state, &caller)?;
    channels.remove(&channel, by(&state, &caller)).await.map_err(Fault::from)?;
    for thread in &channel.card.threads {
        channels.sweep_thread(&channel.space, &thread.id).await.map_err(Fault::from)?;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn answer(channel: &Channel) -> Response {
    ([etag(&channel.version)], Json(ChannelView::from(channel))).into_response()
}

fn channels(state: &ApiState, caller: &AuthContext) -> Result<Channels, Problem> {
    Ok(Channels::new(&*state.store.files, &caller.person).map_err(Fault::from)?)
}

async fn find(state: &ApiState, caller: &AuthContext, id: &str) -> Result<Channel, Problem> {
    let found = match id.parse::<ChannelId>() {
        Ok(id) => channels(state, caller)?.get(&id).await.map_err(Fault::from)?,
        Err(_) => None,
    };
    found.ok_or_else(|| no_channel(id))
}

fn no_channel(id: &str) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("There is no channel {id:?}."))
}

async fn change(
    state: &ApiState,
    caller: &AuthContext,
    id: &str,
    seen: Option<Hash>,
    change: impl Fn(&mut ChannelCard) + Send,
) -> Result<Channel, Problem> {
    let id: ChannelId = id.parse().map_err(|_| no_channel(id))?;
    let by = by(state, caller);
    let changed = channels(state, caller)?.change(&id, seen, by, change).await;
    changed.map_err(|error| match error {
        onyx_storage::StoreError::NotFound => no_channel(id.as_str()),
        other => Fault::from(other).into(),
    })
}

fn version_seen(headers: &HeaderMap) -> Result<Option<Hash>, Problem> {
    match expected(headers)? {
        Expect::Is(hash) => Ok(Some(hash)),
        Expect::Anything => Ok(None),
        Expect::Absent => Err(Fault::plain(ErrorCode::VersionConflict).into()),
    }
}

/// A body that names no space of the person is wrong in that field.
async fn named_space(state: &ApiState, caller: &AuthContext, id: &str) -> Result<SpaceId, Problem> {
    let found = find_space(state, caller, id).await;
    let space = found.map_err(|problem| match problem.fault().code {
        ErrorCode::NotFound => Problem::unknown("space", "there is no such space"),
        _ => problem,
    })?;
    Ok(space.id)
}

fn checked_purpose(purpose: &str) -> Result<String, Problem> {
    if purpose.len() > LONGEST_PURPOSE {
        return Err(Problem::field("purpose", format!("it has more than {LONGEST_PURPOSE} bytes")));
    }
    Ok(purpose.trim().to_owned())
}

/// The id is unique across all spaces, because threads and sources name a channel by it alone.
async fn free_id(channels: &Channels, name: &str) -> Result<ChannelId, Problem> {
    for id in candidates(name, "channel") {
        let id: ChannelId = id.parse().map_err(|error| Problem::field("name", error))?;
        if channels.get(&id).await.map_err(Fault::from)?.is_none() {
            return Ok(id);
        }
    }
    Err(Problem::field("name", "too many channels have this name; choose another"))
}
