//! `/api/spaces`: a person's spaces and what is in them. Files are the truth; these routes read and
//! write them.

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
pub(super) use entities::check_entity;
use entities::{EntitiesQuery, EntityList, EntityPatch, EntityView, NewEntity};

const LONGEST_NAME: usize = 120;
/// Spaces whose names make the same id.
const MOST_NAMESAKES: usize = 99;

const KIND: PathValue = PathValue::OneOf(&["pages", "tasks", "refs", "projects"]);

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/spaces", Read, list)
            .summary("The person's spaces")
            .answers_json::<SpaceList>(),
        Route::post("/api/spaces", Write, create)
            .summary("Makes one")
            .body::<NewSpace>()
            .answers_created::<SpaceView>(),
        Route::get("/api/spaces/{id}", Read, show).summary("One space").answers_json::<SpaceView>(),
        Route::patch("/api/spaces/{id}", Write, patch)
            .summary("Changes its name or agent")
            .body::<SpacePatch>()
            .answers_json::<SpaceView>(),
        Route::delete("/api/spaces/{id}", Write, remove)
            .summary("Removes it with all in it; versions are kept")
            .answers_nothing(),
        Route::post("/api/spaces/{id}/capture", Write, capture::capture)
            .summary("An address, text or file becomes a ref")
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
            .summary("What it holds of a kind")
            .path_value("kind", KIND)
            .query::<EntitiesQuery>()
            .answers_json::<EntityList>(),
        Route::post(all, Write, entities::create)
            .summary("Makes one")
            .path_value("kind", KIND)
            .body::<NewEntity>()
            .answers_created::<EntityView>(),
        Route::get(one, Read, entities::show)
            .summary("One of them, whole")
            .path_value("kind", KIND)
            .answers_json::<EntityView>(),
        Route::patch(one, Write, entities::patch)
            .summary("Changes some of it")
            .path_value("kind", KIND)
            .body::<EntityPatch>()
            .answers_json::<EntityView>(),
        Route::get(about, Read, attached::list)
            .summary("The conversations that are attached to it, newest first")
            .path_value("kind", KIND)
            .answers_json::<AttachedConversations>(),
        Route::delete(one, Write, entities::remove)
            .summary("Removes it; what it held is kept")
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
    /// Absent: the agent that answers where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_agent: Option<String>,
    /// The session of its companion, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    companion: Option<SessionId>,
    /// Its conversations are for models of this machine only.
    local_only: bool,
    /// How far agents may go in it, whatever their own tier allows.
    tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    /// Why its `space.json` cannot be read; what is in the space is not harmed.
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
    /// Made from the name unless it is given.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9_-]{0,63}$"))]
    id: Option<String>,
    default_agent: Option<String>,
    /// Its conversations are for models of this machine only.
    local_only: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SpacePatch {
    #[schemars(regex(pattern = r"\S"), length(max = 120))]
    name: Option<String>,
    /// `null`: nobody in particular.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    default_agent: Option<Option<String>>,
    /// Its conversations are for models of this machine only.
    local_only: Option<bool>,
    tier: Option<Tier>,
}

/// Tells what was left out from what was given as null.
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
                let there = Problem::field("id", "there is such a space already");
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

/// Its conversations and sources go for good; its pages, tasks, refs and projects are kept in the
/// history.
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

/// A text that is no id names no space, so that is not found either.
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

/// A person's own change.
pub(super) fn by(state: &ApiState, caller: &AuthContext) -> Change {
    Change {
        ts: state.agent.now(),
        author: Author::Person(caller.person.clone()),
        origin: Origin::Person,
        run: None,
        tool: "spaces".to_owned(),
    }
}

/// `If-Match` names what the client has seen.
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
    Err(Problem::field("name", format!("there are {MOST_NAMESAKES} of that name")))
}

/// Ids that a name makes, numbered after the first. Ids are plain ASCII: a name that has none of
/// it gets the fallback.
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
