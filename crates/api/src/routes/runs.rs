//! `/api/runs/{run_id}`: following a run, stopping it, and undoing what it wrote.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use onyx_agent::{EventReader, RunChanges, StopTarget};
use onyx_types::{Envelope, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::Stopped;
use crate::routing::PathValue;
use crate::wire::{FieldNames, Json};
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

/// Proxies close a connection that is silent for about a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Routes {
    use Access::{Chat, Read, Write};
    let rows = [
        Route::get("/api/runs/{id}/events", Read, events)
            .summary("Stream the events of a run, after any event")
            .path_value("id", PathValue::Uuid)
            .query::<EventsQuery>()
            .answers_events::<Envelope>(),
        Route::post("/api/runs/{id}/cancel", Chat, cancel)
            .summary("Stop a run")
            .path_value("id", PathValue::Uuid)
            .answers_json::<Stopped>(),
        Route::post("/api/runs/{id}/undo", Write, undo)
            .summary("Undo what a run wrote")
            .path_value("id", PathValue::Uuid)
            .query::<UndoQuery>()
            .answers_json::<Undone>(),
        Route::post("/api/runs/{id}/redo", Write, redo)
            .summary("Redo what undoing a run took back")
            .path_value("id", PathValue::Uuid)
            .answers_json::<Redone>(),
        Route::get("/api/runs/{id}/changes", Read, changes)
            .summary("List the files a run changed, and whether that was undone")
            .path_value("id", PathValue::Uuid)
            .answers_json::<ChangesOfRun>(),
    ];
    Routes::tagged("runs", rows)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EventsQuery {
    after: Option<u64>,
}

/// Streams the run's events after a sequence number. `Last-Event-ID` means the same as `after`, for
/// browsers that reconnect automatically.
pub(super) async fn events(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    names: FieldNames,
    headers: HeaderMap,
    QueryOf(query): QueryOf<EventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let run = run_id(&id)?;
    let after = match (query.after, last_event_id(&headers, run)?) {
        (_, Some(after)) => after,
        (after, None) => after.unwrap_or(0),
    };
    let reader = state.agent.runs.events(&caller.person, run, after).await?;
    Ok(Sse::new(frames(reader, names)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

fn frames(reader: EventReader, names: FieldNames) -> impl Stream<Item = Result<Event, Infallible>> {
    futures::stream::unfold(reader, move |mut reader| async move {
        let envelope = reader.next().await?;
        Some((Ok(frame(&envelope, names)), reader))
    })
}

fn frame(envelope: &Envelope, names: FieldNames) -> Event {
    let id = format!("{}:{}", envelope.run_id, envelope.seq);
    Event::default().id(id).data(names.json_text(envelope))
}

/// `<run>:<seq>`, as the events carry it.
fn last_event_id(headers: &HeaderMap, run: RunId) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(|text| {
        let (sent_run, seq) = text.split_once(':')?;
        let same = sent_run.parse() == Ok(run);
        seq.parse().ok().filter(|_| same)
    });
    parsed.map(Some).ok_or_else(|| Problem::field("Last-Event-ID", "does not belong to this run"))
}

pub(super) async fn cancel(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<Stopped>, Problem> {
    let run = run_id(&id)?;
    let stopped = state.agent.runs.stop(&caller.person, StopTarget::Run(run)).await?;
    if !stopped {
        // A run that has ended is accepted; a run of somebody else is `not_found`.
        state.agent.sessions.check_run(&caller.person, run).await?;
    }
    Ok(Json(Stopped { stopped }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UndoQuery {
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Undone {
    /// Files that have their content from before the run again; with `dry_run`, files that would.
    restored: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

pub(super) async fn undo(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(UndoQuery { dry_run }): QueryOf<UndoQuery>,
) -> Result<Json<Undone>, Problem> {
    let run = run_id(&id)?;
    let restored = if dry_run {
        state.agent.undo.plan(&caller.person, run).await?
    } else {
        state.agent.undo.run(&caller.person, run).await?
    };
    Ok(Json(Undone { restored, dry_run }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Redone {
    /// Files that have the content again that the run left in them.
    restored: Vec<String>,
}

pub(super) async fn redo(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<Redone>, Problem> {
    let restored = state.agent.undo.redo(&caller.person, run_id(&id)?).await?;
    Ok(Json(Redone { restored }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChangesOfRun {
    paths: Vec<String>,
    /// All files have their content from before the run again.
    undone: bool,
}

pub(super) async fn changes(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<ChangesOfRun>, Problem> {
    let RunChanges { paths, undone } =
        state.agent.undo.changes(&caller.person, run_id(&id)?).await?;
    Ok(Json(ChangesOfRun { paths, undone }))
}

fn run_id(text: &str) -> Result<RunId, Problem> {
    text.parse().map_err(|error: onyx_types::IdError| Problem::field("run_id", error.to_string()))
}
