//! Pages, tasks, refs and projects of a space.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_storage::{Entities, Entity, EntityChange};
use onyx_types::{
    EntityId, EntityKind, EntityRef, ErrorCode, Fault, Origin, SpaceId, Timestamp, percent_encoded,
    slug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{by, check_seen, find};
use crate::wire::Json;
use crate::wire::etag;
use crate::{ApiState, AuthContext, JsonBody, Problem, QueryOf};

const PAGE: usize = 100;
const LONGEST_PAGE: usize = 500;
const LONGEST_TITLE: usize = 300;
/// Well below the limit for reading a file.
const LARGEST_BODY: usize = 4 * 1024 * 1024;
const MOST_LABELS: usize = 100;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EntitiesQuery {
    /// Only entities after this one: the last id of the previous page.
    before: Option<String>,
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// Only entities of this status.
    status: Option<String>,
    /// Only entities that link to this one of the same space, given as `pages/<id>`: `[[its
    /// title]]` in their text.
    links_to: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EntityList {
    /// Last changed first, without their bodies.
    entities: Vec<EntityView>,
    /// Give it as `before` for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EntityView {
    id: String,
    kind: EntityKind,
    space: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    updated_at: Timestamp,
    origin: Origin,
    /// All other keys of its front matter with a value of one line.
    fields: BTreeMap<String, String>,
    /// The path by which searches and agents name its file.
    path: String,
    /// The version in its ETag.
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

impl EntityView {
    fn of(entity: Entity) -> Self {
        Self {
            id: entity.at.id.to_string(),
            kind: entity.at.kind,
            space: entity.at.space.to_string(),
            path: entity.at.path(),
            title: entity.title,
            status: entity.status,
            tags: entity.tags,
            created_at: entity.created,
            updated_at: entity.updated,
            origin: entity.origin,
            fields: entity.fields,
            version: entity.version.to_string(),
            body: Some(entity.body),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewEntity {
    #[schemars(regex(pattern = r"\S"), length(max = 300))]
    title: String,
    status: Option<String>,
    #[schemars(length(max = 100))]
    tags: Option<Vec<String>>,
    /// Other keys of the front matter.
    #[serde(default)]
    #[schemars(extend(
        "maxProperties" = 100,
        "propertyNames" = {
            "pattern": "^[A-Za-z0-9_-]{1,64}$",
            "not": {"enum": ["id", "title", "status", "tags", "created", "updated", "origin"]},
        },
    ))]
    fields: BTreeMap<String, Option<String>>,
    body: Option<String>,
}

/// Absent fields stay as they are.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EntityPatch {
    #[schemars(regex(pattern = r"\S"), length(max = 300))]
    title: Option<String>,
    /// Empty: removes the status.
    status: Option<String>,
    #[schemars(length(max = 100))]
    tags: Option<Vec<String>>,
    /// Other keys of the front matter; `null` or empty: it goes.
    #[serde(default)]
    #[schemars(extend(
        "maxProperties" = 100,
        "propertyNames" = {
            "pattern": "^[A-Za-z0-9_-]{1,64}$",
            "not": {"enum": ["id", "title", "status", "tags", "created", "updated", "origin"]},
        },
    ))]
    fields: BTreeMap<String, Option<String>>,
    body: Option<String>,
}

impl From<NewEntity> for EntityPatch {
    fn from(new: NewEntity) -> Self {
        let NewEntity { title, status, tags, fields, body } = new;
        Self { title: Some(title), status, tags, fields, body }
    }
}

impl EntityPatch {
    fn checked(self) -> Result<EntityChange, Problem> {
        if let Some(title) = &self.title {
            check_title(title)?;
        }
        if self.body.as_ref().is_some_and(|body| body.len() > LARGEST_BODY) {
            let why = format!("body: it may have at most {LARGEST_BODY} bytes");
            return Err(Problem::new(ErrorCode::TooLarge, why).with_field("body"));
        }
        if self.tags.as_ref().is_some_and(|tags| tags.len() > MOST_LABELS) {
            return Err(Problem::field("tags", format!("more than {MOST_LABELS}")));
        }
        if self.fields.len() > MOST_LABELS {
            return Err(Problem::field("fields", format!("more than {MOST_LABELS}")));
        }
        let fields = self.fields.into_iter();
        Ok(EntityChange {
            title: self.title,
            status: self.status,
            tags: self.tags,
            fields: fields.map(|(key, value)| (key, value.unwrap_or_default())).collect(),
            body: self.body,
        })
    }
}

pub(super) fn check_title(title: &str) -> Result<(), Problem> {
    match title.trim().chars().count() {
        0 => Err(Problem::field("title", "it is empty")),
        length if length > LONGEST_TITLE => Err(Problem::field(
            "title",
            format!("it has {length} characters; {LONGEST_TITLE} are allowed"),
        )),
        _ => Ok(()),
    }
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((space, kind)): Path<(String, String)>,
    QueryOf(query): QueryOf<EntitiesQuery>,
) -> Result<Json<EntityList>, Problem> {
    let (space, kind) = place(&state, &caller, &space, &kind).await?;
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=LONGEST_PAGE).contains(&limit) {
        return Err(Problem::field("limit", format!("it must be from 1 to {LONGEST_PAGE}")));
    }
    let mut all = entities(&state, &caller)?.list(&space, kind).await.map_err(Fault::from)?;
    if let Some(status) = &query.status {
        all.retain(|entity| entity.status.as_ref() == Some(status));
    }
    if let Some(target) = &query.links_to {
        let names = names_of(&state, &caller, space.as_str(), target).await?;
        all.retain(|entity| links_to(&entity.body, &names));
    }
    let start = match &query.before {
        None => 0,
        Some(id) => {
            all.iter().position(|entity| entity.at.id.as_str() == id).ok_or_else(|| {
                Problem::unknown(
                    "before",
                    "this entity no longer exists; start again without `before`",
                )
            })? + 1
        }
    };
    let more = all.len() > start + limit;
    let page = all.into_iter().skip(start).take(limit);
    let entities: Vec<_> =
        page.map(|entity| EntityView { body: None, ..EntityView::of(entity) }).collect();
    let before = entities.last().filter(|_| more).map(|entity| entity.id.clone());
    Ok(Json(EntityList { entities, before }))
}

/// The names by which links refer to an entity. Its id is made from its first title, so links from
/// before a new title still work.
async fn names_of(
    state: &ApiState,
    caller: &AuthContext,
    space: &str,
    target: &str,
) -> Result<[String; 2], Problem> {
    let missing = || Problem::unknown("links_to", "there is no such entity; give `pages/<id>`");
    let (kind, id) = target.split_once('/').ok_or_else(missing)?;
    let path = (space.to_owned(), kind.to_owned(), id.to_owned());
    let at = entity_ref(state, caller, &path).await.map_err(|_| missing())?;
    let found = entities(state, caller)?.get(&at).await.map_err(Fault::from)?;
    let title = found.ok_or_else(missing)?.title;
    Ok([slug(&title), at.id.to_string()])
}

/// `[[Title]]`, `[[Title|other words]]` and `[[Title#Heading]]` are links.
fn links_to(body: &str, names: &[String; 2]) -> bool {
    let targets = body.split("[[").skip(1).filter_map(|rest| rest.split_once("]]"));
    let targets = targets.map(|(target, _)| target.split(['|', '#']).next().unwrap_or_default());
    let mut names_linked = targets.map(slug);
    names_linked.any(|name| !name.is_empty() && names.contains(&name))
}

pub(super) async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((space, kind)): Path<(String, String)>,
    JsonBody(request): JsonBody<NewEntity>,
) -> Result<Response, Problem> {
    let (space, kind) = place(&state, &caller, &space, &kind).await?;
    let change = EntityPatch::from(request).checked()?;
    made(&state, &caller, &space, kind, &change, Origin::Person).await
}

/// The response for a new entity.
pub(super) async fn made(
    state: &ApiState,
    caller: &AuthContext,
    space: &SpaceId,
    kind: EntityKind,
    change: &EntityChange,
    origin: Origin,
) -> Result<Response, Problem> {
    let entities = entities(state, caller)?;
    let by = onyx_storage::Change { origin, ..by(state, caller) };
    let edit = entities.plan_new(space, kind, change, origin, by.ts).await.map_err(Fault::from)?;
    let made = entities.commit(&edit, by).await.map_err(Fault::from)?.ok_or_else(no_such_entity)?;
    let at = &made.at;
    // Ids are file names in any script; headers are ASCII.
    let id = percent_encoded(at.id.as_str());
    let location = format!("/api/spaces/{}/{}/{id}", at.space, at.kind.folder());
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], answer(made)).into_response())
}

pub(super) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    let at = entity_ref(&state, &caller, &path).await?;
    let found = entities(&state, &caller)?.get(&at).await.map_err(Fault::from)?;
    Ok(answer(found.ok_or_else(no_such_entity)?))
}

pub(super) async fn patch(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<(String, String, String)>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<EntityPatch>,
) -> Result<Response, Problem> {
    let at = entity_ref(&state, &caller, &path).await?;
    let change = request.checked()?;
    let entities = entities(&state, &caller)?;
    let by = by(&state, &caller);
    let edit = entities.plan_change(&at, &change, by.ts).await.map_err(Fault::from)?;
    check_seen(&headers, edit.before.as_ref().map(|object| object.hash))?;
    let changed = entities.commit(&edit, by).await.map_err(Fault::from)?;
    Ok(answer(changed.ok_or_else(no_such_entity)?))
}

pub(super) async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let at = entity_ref(&state, &caller, &path).await?;
    let entities = entities(&state, &caller)?;
    let edit = entities.plan_removal(&at).await.map_err(Fault::from)?;
    check_seen(&headers, edit.before.as_ref().map(|object| object.hash))?;
    entities.commit(&edit, by(&state, &caller)).await.map_err(Fault::from)?;
    Ok(StatusCode::NO_CONTENT)
}

fn entities(state: &ApiState, caller: &AuthContext) -> Result<Entities, Problem> {
    Ok(Entities::new(&*state.store.files, &caller.person).map_err(Fault::from)?)
}

async fn place(
    state: &ApiState,
    caller: &AuthContext,
    space: &str,
    kind: &str,
) -> Result<(SpaceId, EntityKind), Problem> {
    let space = find(state, caller, space).await?.id;
    let named = EntityKind::ALL.into_iter().find(|known| known.folder() == kind);
    let kind = named.ok_or_else(|| {
        let message = format!("A space has no {kind:?}: pages, tasks, refs, projects.");
        Problem::new(ErrorCode::NotFound, message)
    })?;
    Ok((space, kind))
}

pub(super) async fn entity_ref(
    state: &ApiState,
    caller: &AuthContext,
    (space, kind, id): &(String, String, String),
) -> Result<EntityRef, Problem> {
    let (space, kind) = place(state, caller, space, kind).await?;
    // A text that is not an id names no entity.
    let id: EntityId = id.parse().map_err(|_| no_such_entity())?;
    Ok(EntityRef { space, kind, id })
}

/// `NotFound` unless the person has the entity.
pub(super) async fn check_entity(
    state: &ApiState,
    caller: &AuthContext,
    at: &EntityRef,
) -> Result<(), Problem> {
    let found = entities(state, caller)?.get(at).await.map_err(Fault::from)?;
    found.map(drop).ok_or_else(no_such_entity)
}

fn no_such_entity() -> Problem {
    Fault::plain(ErrorCode::NotFound).into()
}

fn answer(entity: Entity) -> Response {
    let tag = etag(&entity.version);
    ([tag], Json(EntityView::of(entity))).into_response()
}
