//! `/api/spaces`: a person's spaces and their contents. The files hold the contents; these routes
//! read and write them.

mod attached;
mod capture;
mod entities;
pub(super) mod removal;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_storage::{Change, Channels, Expect, Space, SpaceChange, Spaces};
use onyx_types::{
    AgentId, Author, ErrorCode, Fault, Hash, Origin, Scope, SessionId, SpaceId, Tier, Timestamp,
    slug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::routing::PathValue;
use crate::wire::{Json, etag, expected};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, Route, Routes};
use attached::AttachedConversations;
use capture::CaptureRequest;
use entities::{EntitiesQuery, EntityList, EntityPatch, EntityView, NewEntity};

const LONGEST_NAME: usize = 120;
/// The most spaces whose names give the same id.
const MOST_NAMESAKES: usize = 99;

const KIND: PathValue = PathValue::OneOf(&["pages", "tasks", "refs", "projects"]);

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/spaces", Read, list).summary("List spaces").answers_json::<SpaceList>(),
        Route::post("/api/spaces", Write, create)
            .summary("Create a space")
            .body::<NewSpace>()
            .answers_created::<SpaceView>(),
        Route::get("/api/spaces/{id}", Read, show)
            .summary("Get a space")
            .answers_json::<SpaceView>(),
        Route::patch("/api/spaces/{id}", Write, patch)
            .summary("Change a space's name or agent")
            .body::<SpacePatch>()
            .answers_json::<SpaceView>(),
        Route::delete("/api/spaces/{id}", Write, remove)
            .summary("Delete a space with its contents; versions are kept")
            .answers_nothing(),
        Route::post("/api/spaces/{id}/capture", Write, capture::capture)
            .summary("Save an address, text or file as a ref")
            .body::<CaptureRequest>()
            .answers_created::<EntityView>(),
    ];
    Routes::tagged("spaces", rows).merge(entity_routes())
}

fn entity_routes() -> Routes {
    use Access::{Read, Write};
    let (all, one) = ("/api/spaces/{id}/{kind}", "/api/spaces/{id}/{kind}/{entity}");
    let about = "/api/spaces/{id}/{kind}/{entity}/conversations";
    let rows = [
        Route::get(all, Read, entities::list)
            .summary("List the entities of one kind in a space")
            .path_value("kind", KIND)
            .query::<EntitiesQuery>()
            .answers_json::<EntityList>(),
        Route::post(all, Write, entities::create)
            .summary("Create an entity in a space")
            .path_value("kind", KIND)
            .body::<NewEntity>()
            .answers_created::<EntityView>(),
        Route::get(one, Read, entities::show)
            .summary("Get an entity of a space")
            .path_value("kind", KIND)
            .answers_json::<EntityView>(),
        Route::patch(one, Write, entities::patch)
            .summary("Change an entity of a space")
            .path_value("kind", KIND)
            .body::<EntityPatch>()
            .answers_json::<EntityView>(),
        Route::get(about, Read, attached::list)
            .summary("List the conversations attached to an entity, newest first")
            .path_value("kind", KIND)
            .answers_json::<AttachedConversations>(),
        Route::delete(one, Write, entities::remove)
            .summary("Delete an entity of a space; its last version is kept")
            .path_value("kind", KIND)
            .answers_nothing(),
    ];
    Routes::tagged("spaces", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SpaceList {
    spaces: Vec<SpaceView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SpaceView {
    id: String,
    name: String,
    /// Absent: the general default agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_agent: Option<String>,
    /// The session of the space's companion, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    companion: Option<SessionId>,
    /// Only models of this machine may be used in its conversations.
    local_only: bool,
    /// The highest tier of agents in the space, even if their own is higher.
    tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    /// Why its `space.json` cannot be read; the contents of the space are not affected.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<Space> for SpaceView {
    fn from(space: Space) -> Self {
        Self {
            id: space.id.to_string(),
            name: space.name,
            default_agent: space.default_agent.map(|agent| agent.to_string()),
            companion: space.companion,
            local_only: space.local_only,
            tier: space.tier,
            created_at: space.created,
            error: space.damage,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewSpace {
    #[schemars(regex(pattern = r"\S"), length(max = 120))]
    name: String,
    /// Made from the name if it is absent.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9_-]{0,63}$"))]
    id: Option<String>,
    default_agent: Option<String>,
    /// Only models of this machine may be used in its conversations.
    local_only: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SpacePatch {
    #[schemars(regex(pattern = r"\S"), length(max = 120))]
    name: Option<String>,
    /// `null`: no default agent of the space.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    default_agent: Option<Option<String>>,
    /// Only models of this machine may be used in its conversations.
    local_only: Option<bool>,
    tier: Option<Tier>,
}

/// Distinguishes an absent field from one that is `null`.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<SpaceList>, Problem> {
    let spaces = spaces(&state, &caller)?.list().await.map_err(Fault::from)?;
    Ok(Json(SpaceList { spaces: spaces.into_iter().map(SpaceView::from).collect() }))
}

pub(super) async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<NewSpace>,
) -> Result<Response, Problem> {
    let name = checked_name(&request.name)?;
    let default_agent =
        request.default_agent.map(|agent| known_agent(&state, &agent)).transpose()?;
    let spaces = spaces(&state, &caller)?;
    let id = match request.id {
        Some(id) => {
            let id: SpaceId = id.parse().map_err(|error| Problem::field("id", error))?;
            if spaces.get(&id).await.map_err(Fault::from)?.is_some() {
                let there = Problem::field("id", "a space with this id already exists");
                return Err(there.with_status(StatusCode::CONFLICT));
            }
            id
        }
        None => free_id(&spaces, &name).await?,
    };
    let change = SpaceChange {
        name: Some(name),
        default_agent: default_agent.map(Some),
        local_only: request.local_only,
        ..SpaceChange::default()
    };
    let made = spaces.put(&id, &change, None, by(&state, &caller)).await.map_err(Fault::from)?;
    let location = [(header::LOCATION, format!("/api/spaces/{id}"))];
    Ok((StatusCode::CREATED, location, answer(made)).into_response())
}

pub(super) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(answer(find(&state, &caller, &id).await?))
}

pub(super) async fn patch(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SpacePatch>,
) -> Result<Response, Problem> {
    let space = find(&state, &caller, &id).await?;
    check_seen(&headers, space.version)?;
    onyx_agent::check_card(&space)?;
    let default_agent = match request.default_agent {
        Some(Some(agent)) => Some(Some(known_agent(&state, &agent)?)),
        Some(None) => Some(None),
        None => None,
    };
    let change = SpaceChange {
        name: request.name.as_deref().map(checked_name).transpose()?,
        default_agent,
        local_only: request.local_only,
        tier: request.tier,
        ..SpaceChange::default()
    };
    let spaces = spaces(&state, &caller)?;
    let changed = spaces.put(&space.id, &change, space.version, by(&state, &caller)).await;
    Ok(answer(changed.map_err(Fault::from)?))
}

/// Deletes its conversations and sources permanently; its pages, tasks, refs and projects are kept
/// in the history.
pub(super) async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let space = find(&state, &caller, &id).await?;
    check_seen(&headers, space.version)?;
    let channels = Channels::new(&*state.store.files, &caller.person).map_err(Fault::from)?;
    let channels = channels.list(Some(&space.id)).await.map_err(Fault::from)?;
    let mut scopes = vec![Scope::Space(space.id.clone())];
    removal::close(&state, &caller, space.companion).await?;
    for channel in &channels {
        removal::close(&state, &caller, removal::sessions_of(channel)).await?;
        scopes.extend(removal::scopes_of(channel));
    }
    removal::detach(&state, &caller, &scopes).await?;
    let spaces = spaces(&state, &caller)?;
    spaces.remove(&space.id, by(&state, &caller)).await.map_err(Fault::from)?;
    Ok(StatusCode::NO_CONTENT)
}

fn answer(space: Space) -> Response {
    let tag = space.version.as_ref().map(etag);
    let mut response = Json(SpaceView::from(space)).into_response();
    response.headers_mut().extend(tag);
    response
}

pub(super) fn spaces(state: &ApiState, caller: &AuthContext) -> Result<Spaces, Problem> {
    Ok(Spaces::new(&*state.store.files, &caller.person).map_err(Fault::from)?)
}

/// A text that is not an id names no space, so it is not found either.
pub(super) async fn find(
    state: &ApiState,
    caller: &AuthContext,
    id: &str,
) -> Result<Space, Problem> {
    let found = match id.parse::<SpaceId>() {
        Ok(id) => spaces(state, caller)?.get(&id).await.map_err(Fault::from)?,
        Err(_) => None,
    };
    found.ok_or_else(|| Problem::new(ErrorCode::NotFound, format!("There is no space {id:?}.")))
}

/// The record of a change that the person made.
pub(super) fn by(state: &ApiState, caller: &AuthContext) -> Change {
    Change {
        ts: state.agent.now(),
        author: Author::Person(caller.person.clone()),
        origin: Origin::Person,
        run: None,
        tool: "spaces".to_owned(),
    }
}

/// Checks `If-Match` against the current version.
pub(super) fn check_seen(headers: &HeaderMap, current: Option<Hash>) -> Result<(), Problem> {
    let is_so = match expected(headers)? {
        Expect::Anything => true,
        Expect::Absent => current.is_none(),
        Expect::Is(seen) => current == Some(seen),
    };
    if is_so { Ok(()) } else { Err(Fault::plain(ErrorCode::VersionConflict).into()) }
}

pub(super) fn checked_name(name: &str) -> Result<String, Problem> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    match name.chars().count() {
        0 => Err(Problem::field("name", "it is empty")),
        length if length > LONGEST_NAME => Err(Problem::field(
            "name",
            format!("it has {length} characters; {LONGEST_NAME} are allowed"),
        )),
        _ => Ok(name),
    }
}

pub(super) fn known_agent(state: &ApiState, id: &str) -> Result<AgentId, Problem> {
    let roster = state.agent.roster();
    let found = id.parse().ok().filter(|id| roster.get(id).is_some());
    found.ok_or_else(|| {
        let known: Vec<_> = roster.agents().map(|agent| agent.id.as_str()).collect();
        let why = format!("there is no agent {id:?}; agents: {}", known.join(", "));
        Problem::unknown("default_agent", why)
    })
}

async fn free_id(spaces: &Spaces, name: &str) -> Result<SpaceId, Problem> {
    for id in candidates(name, "space") {
        let id: SpaceId = id.parse().map_err(|error| Problem::field("name", error))?;
        if spaces.get(&id).await.map_err(Fault::from)?.is_none() {
            return Ok(id);
        }
    }
    Err(Problem::field(
        "name",
        format!("{MOST_NAMESAKES} spaces have this name already; choose another"),
    ))
}

/// The possible ids of a name, numbered after the first. Ids are plain ASCII: a name without any
/// ASCII letters or digits gets the fallback.
pub(super) fn candidates(name: &str, fallback: &str) -> impl Iterator<Item = String> {
    const LONGEST: usize = 48;
    let ascii: String = name.chars().map(|c| if c.is_ascii() { c } else { ' ' }).collect();
    let mut id = slug(&ascii);
    id.truncate(LONGEST);
    let id = match id.trim_matches('-') {
        "" => fallback.to_owned(),
        id => id.to_owned(),
    };
    (1..=MOST_NAMESAKES).map(move |n| if n == 1 { id.clone() } else { format!("{id}-{n}") })
}
