//! `/api/sources`: files, folders, addresses and texts that a person attached to a space, channel,
//! thread or agent, as knowledge for its agents.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::Stream;
use onyx_sources::{
    DocumentRecord, NewSource, NewSupply, Progress, SourceError, SourceRecord, SourceState, Supply,
};
use onyx_types::{AgentId, ChannelId, Scope, SourceId, SpaceId, ThreadId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::wire::{DocumentBody, FieldNames, Json};
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

const LONGEST_NAME: usize = 255;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/sources", Read, list)
            .summary("List sources, newest first")
            .query::<SourcesQuery>()
            .answers_json::<SourceList>(),
        Route::post("/api/sources", Write, add)
            .summary("Attach a file, folder, address or text")
            .body::<SourceRequest>()
            .answers_created::<SourceView>(),
        Route::get("/api/sources/{id}", Read, show)
            .summary("Get a source and its documents")
            .answers_json::<SourceView>(),
        Route::post("/api/sources/{id}", Write, sync)
            .summary("Check a source for changes")
            .answers_json::<SourceView>(),
        Route::delete("/api/sources/{id}", Write, remove)
            .summary("Delete a source with its text")
            .answers_nothing(),
        Route::get("/api/sources/{id}/events", Read, events)
            .summary("Stream the progress of a source's import")
            .answers_events::<ProgressView>(),
    ];
    Routes::tagged("sources", rows)
}

/// What to attach, and to what.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SourceRequest {
    scope: ScopeRequest,
    title: Option<String>,
    #[serde(flatten)]
    supply: SupplyRequest,
}

#[derive(Deserialize, JsonSchema)]
struct ScopeRequest {
    #[serde(rename = "type")]
    kind: ScopeKind,
    id: String,
    /// The space of a channel or thread that no space lists.
    space: Option<SpaceId>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ScopeKind {
    Space,
    Channel,
    Thread,
    Agent,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum SupplyRequest {
    /// A file of the vault by its path, or an uploaded file in base64 with its name.
    File {
        path: Option<String>,
        name: Option<String>,
        media_type: Option<String>,
        data: Option<String>,
    },
    /// A folder of the vault, with everything below it.
    Folder {
        path: String,
    },
    Url {
        url: String,
    },
    Text {
        text: String,
    },
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SourceList {
    sources: Vec<SourceView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SourceView {
    id: String,
    scope: Scope,
    kind: &'static str,
    /// The path, address or name of its origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    title: String,
    state: SourceStateView,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    synced_at: Option<Timestamp>,
    documents: Vec<DocumentView>,
}

#[derive(Serialize, JsonSchema)]
struct DocumentView {
    from: String,
    title: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The progress of an import; the last event of a stream has another state than `importing`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProgressView {
    state: SourceStateView,
    done: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SourceState")]
enum SourceStateView {
    Importing,
    Interrupted,
    Ready,
    Partial,
    Failed,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SourcesQuery {
    /// Only sources of this space, channel, thread or agent.
    scope: Option<String>,
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<SourcesQuery>,
) -> Result<Json<SourceList>, Problem> {
    let records = state.sources.list(&caller.person).await.map_err(problem)?;
    let wanted =
        |record: &SourceRecord| query.scope.as_deref().is_none_or(|id| id_of(&record.scope) == id);
    let sources = records.into_iter().filter(wanted).map(SourceView::from).collect();
    Ok(Json(SourceList { sources }))
}

pub(super) async fn add(
    State(state): State<ApiState>,
    caller: AuthContext,
    DocumentBody(request): DocumentBody<SourceRequest>,
) -> Result<impl IntoResponse, Problem> {
    let source: NewSource = request.try_into()?;
    if let Scope::Agent(agent) = &source.scope {
        let roster = state.agent.roster();
        if !roster.agents().chain(roster.disabled()).any(|known| known.id == *agent) {
            return Err(Problem::field("scope.id", "there is no such agent"));
        }
    }
    let record = state.sources.add(&caller.person, source).await.map_err(problem)?;
    let location = format!("/api/sources/{}", record.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(SourceView::from(record))))
}

pub(super) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<SourceView>, Problem> {
    let record = state.sources.get(&caller.person, source_id(&id)?).await.map_err(problem)?;
    Ok(Json(record.into()))
}

/// Checks the source for changes.
pub(super) async fn sync(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<SourceView>, Problem> {
    let record = state.sources.sync(&caller.person, source_id(&id)?).await.map_err(problem)?;
    Ok(Json(record.into()))
}

pub(super) async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    state.sources.remove(&caller.person, source_id(&id)?).await.map_err(problem)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn events(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    names: FieldNames,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let progress = state.sources.follow(&caller.person, source_id(&id)?).await.map_err(problem)?;
    Ok(Sse::new(frames(progress, names)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Sends the current state, then every change, up to the end.
fn frames(
    progress: watch::Receiver<Progress>,
    names: FieldNames,
) -> impl Stream<Item = Result<Event, Infallible>> {
    futures::stream::unfold(Some((progress, IsFirst::Yes)), move |following| async move {
        let (mut progress, is_first) = following?;
        if matches!(is_first, IsFirst::No) {
            // The sender is dropped with the import: then there is nothing more to report.
            progress.changed().await.ok()?;
        }
        let now = progress.borrow_and_update().clone();
        let goes_on = now.state == SourceState::Importing;
        let event = Event::default().event(if goes_on { "progress" } else { "done" });
        let event = event.data(names.json_text(&ProgressView::from(now)));
        Some((Ok(event), goes_on.then_some((progress, IsFirst::No))))
    })
}

enum IsFirst {
    Yes,
    No,
}

fn source_id(id: &str) -> Result<SourceId, Problem> {
    // A text that is not an id names no source.
    id.parse().map_err(|_| problem(SourceError::NotFound))
}

fn problem(error: SourceError) -> Problem {
    match error {
        SourceError::Invalid { field, why } => Problem::field(field, why),
        SourceError::NotFound | SourceError::Store(_) => onyx_types::Fault::from(error).into(),
    }
}

impl TryFrom<SourceRequest> for NewSource {
    type Error = Problem;

    fn try_from(request: SourceRequest) -> Result<Self, Problem> {
        let SourceRequest { scope, title, supply } = request;
        let bad = |error: onyx_types::IdError| Problem::field("scope.id", error);
        let id = scope.id.as_str();
        let to = match scope.kind {
            ScopeKind::Space => Scope::Space(id.parse::<SpaceId>().map_err(bad)?),
            ScopeKind::Channel => Scope::Channel(id.parse::<ChannelId>().map_err(bad)?),
            ScopeKind::Thread => Scope::Thread(id.parse::<ThreadId>().map_err(bad)?),
            ScopeKind::Agent => Scope::Agent(id.parse::<AgentId>().map_err(bad)?),
        };
        if title.as_ref().is_some_and(|title| title.contains(char::is_control)) {
            return Err(Problem::field("title", "it must be one line without control characters"));
        }
        Ok(Self { scope: to, space: scope.space, title, supply: supply.try_into()? })
    }
}

/// The name of an uploaded file. It is shown and used for the stored file, so it must be a possible
/// file name without path traversal and invisible characters.
pub(super) fn document_name(name: String) -> Result<String, Problem> {
    let climbs = |part: &str| matches!(part.trim(), "" | "." | "..");
    if name.len() > LONGEST_NAME
        || name.contains(char::is_control)
        || name.split(['/', '\\']).any(climbs)
    {
        let why = format!(
            "it must be 1 to {LONGEST_NAME} bytes, without control characters and parts `.` or `..`"
        );
        return Err(Problem::field("name", why));
    }
    Ok(name)
}

impl TryFrom<SupplyRequest> for NewSupply {
    type Error = Problem;

    fn try_from(request: SupplyRequest) -> Result<Self, Problem> {
        Ok(match request {
            SupplyRequest::Folder { path } => Self::Folder { path },
            SupplyRequest::Url { url } => Self::Url { url },
            SupplyRequest::Text { text } => Self::Text { text },
            SupplyRequest::File { path: Some(path), data: None, .. } => Self::File { path },
            SupplyRequest::File { path: None, data: Some(data), name: Some(name), media_type } => {
                let bytes =
                    BASE64_STANDARD.decode(data).map_err(|error| Problem::field("data", error))?;
                Self::Upload { name: document_name(name)?, media_type, bytes }
            }
            SupplyRequest::File { .. } => {
                let why = "give a `path` in the vault, or a `name` and its `data` as base64";
                return Err(Problem::field("path", why));
            }
        })
    }
}

impl From<SourceRecord> for SourceView {
    fn from(record: SourceRecord) -> Self {
        let (kind, from) = match record.from {
            Supply::File { path } => ("file", Some(path)),
            Supply::Upload { name, .. } => ("file", Some(name)),
            Supply::Folder { path } => ("folder", Some(path)),
            Supply::Url { url } => ("url", Some(url)),
            Supply::Text => ("text", None),
        };
        Self {
            id: record.id.to_string(),
            scope: record.scope,
            kind,
            from,
            title: record.title,
            state: record.state.into(),
            error: record.error,
            created_at: record.created_at,
            synced_at: record.synced_at,
            documents: record.documents.into_iter().map(DocumentView::from).collect(),
        }
    }
}

impl From<DocumentRecord> for DocumentView {
    fn from(document: DocumentRecord) -> Self {
        let DocumentRecord { from, title, bytes, error, .. } = document;
        Self { from, title, bytes, error }
    }
}

impl From<Progress> for ProgressView {
    fn from(progress: Progress) -> Self {
        let Progress { state, done, failed, total, current } = progress;
        Self { state: state.into(), done, failed, total, current }
    }
}

impl From<SourceState> for SourceStateView {
    fn from(state: SourceState) -> Self {
        match state {
            SourceState::Importing => Self::Importing,
            SourceState::Interrupted => Self::Interrupted,
            SourceState::Ready => Self::Ready,
            SourceState::Partial => Self::Partial,
            SourceState::Failed => Self::Failed,
        }
    }
}

fn id_of(scope: &Scope) -> &str {
    match scope {
        Scope::Space(id) => id.as_str(),
        Scope::Channel(id) => id.as_str(),
        Scope::Thread(id) => id.as_str(),
        Scope::Agent(id) => id.as_str(),
        Scope::Person => "person",
        Scope::Shared => "shared",
    }
}
