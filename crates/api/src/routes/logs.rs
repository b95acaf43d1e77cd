//! `GET /api/admin/logs`: the newest lines, or, for a client that accepts an event stream, those
//! lines and all that follow. `logs.tail` of the WebSocket does the same.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{Stream, StreamExt, iter, unfold};
use onyx_storage::AuditEntry;
use onyx_types::{Actor, ErrorCode, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::logs::{LogFilter, LogLevel, LogLevels, LogLine};
use crate::routing::schema_of;
use crate::wire::{FieldNames, Json};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};

const KEEP_ALIVE: Duration = Duration::from_secs(15);
const USUAL: usize = 200;

pub(super) fn routes() -> Routes {
    let row = Route::get("/api/admin/logs", Access::Owner, logs)
        .summary("Get the newest log lines, or follow the log")
        .query::<LogsQuery>()
        .answers_json_or_events(schema_of::<LogLines>, schema_of::<LogLine>);
    let level = "/api/admin/logs/level";
    let levels = [
        Route::get(level, Access::Owner, show_level)
            .summary("Get the log level, now and after a restart")
            .answers_json::<LogLevels>(),
        Route::put(level, Access::Owner, set_level)
            .summary("Set the log level until the next start")
            .body::<NewLevel>()
            .answers_json::<LogLevels>(),
        Route::delete(level, Access::Owner, reset_level)
            .summary("Reset the log level to that of the next start")
            .answers_json::<LogLevels>(),
    ];
    Routes::tagged("admin", [row]).merge(Routes::tagged("admin", levels))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct LogsQuery {
    /// This level and more severe ones.
    pub(super) level: Option<LogLevel>,
    /// A part of the message, the target or a field.
    pub(super) q: Option<String>,
    /// Only lines after this one.
    pub(super) after: Option<u64>,
    /// The largest number of lines; 200 if it is absent.
    #[schemars(range(min = 1, max = 2000))]
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewLevel {
    /// This level and more severe ones.
    level: LogLevel,
}

pub(super) async fn show_level(State(state): State<ApiState>) -> Json<LogLevels> {
    Json(state.logs.levels())
}

pub(super) async fn set_level(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(new): JsonBody<NewLevel>,
) -> Result<Json<LogLevels>, Problem> {
    change_level(&state, &caller, Some(new.level)).await
}

pub(super) async fn reset_level(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<LogLevels>, Problem> {
    change_level(&state, &caller, None).await
}

async fn change_level(
    state: &ApiState,
    caller: &AuthContext,
    level: Option<LogLevel>,
) -> Result<Json<LogLevels>, Problem> {
    let before = state.logs.levels().level;
    let failed = |why: String| {
        Fault::new(ErrorCode::Internal, format!("The log level was not changed: {why}."))
    };
    let now = state.logs.set_level(level).map_err(failed)?;
    let entry = AuditEntry {
        ts: state.agent.now(),
        person: caller.person.clone(),
        actor: Actor::Person(caller.person.clone()),
        agent: None,
        session: None,
        run: None,
        tool: None,
        effect: None,
        decision: None,
        diff_summary: format!("log level: {} → {}", before.as_str(), now.level.as_str()),
        result: "ok".to_owned(),
    };
    state.store.ledger.append_audit(entry).await.map_err(Fault::from)?;
    tracing::info!(level = now.level.as_str(), "the log level was changed");
    Ok(Json(now))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LogLines {
    pub(super) lines: Vec<Arc<LogLine>>,
}

pub(super) async fn logs(
    State(state): State<ApiState>,
    names: FieldNames,
    headers: HeaderMap,
    QueryOf(query): QueryOf<LogsQuery>,
) -> Result<Response, Problem> {
    let (lines, more) = tail(&state, query, "limit")?;
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !accepts.is_some_and(|kinds| kinds.contains("text/event-stream")) {
        return Ok(Json(LogLines { lines }).into_response());
    }
    let feed = iter(lines).chain(more).map(move |line| Ok::<_, Infallible>(frame(&line, names)));
    Ok(Sse::new(feed).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// The kept lines, and those that follow. `limit_at` is the client's name of the limit.
pub(super) fn tail(
    state: &ApiState,
    query: LogsQuery,
    limit_at: &str,
) -> Result<(Vec<Arc<LogLine>>, impl Stream<Item = Arc<LogLine>> + Send + use<>), Problem> {
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=2_000).contains(&limit) {
        return Err(Problem::field(limit_at, "it must be from 1 to 2000"));
    }
    let filter = LogFilter {
        level: query.level.unwrap_or(LogLevel::Info),
        text: query.q.map(|text| text.to_lowercase()),
    };
    let (mut lines, more) = state.logs.follow(query.after.unwrap_or(0));
    lines.retain(|line| filter.shows(line));
    lines.drain(..lines.len().saturating_sub(limit));
    Ok((lines, following(more, filter)))
}

/// The lines that follow. A reader that fell behind continues with the lines that are still kept,
/// and the numbers show the gap.
fn following(more: Receiver<Arc<LogLine>>, filter: LogFilter) -> impl Stream<Item = Arc<LogLine>> {
    unfold((more, filter), |(mut more, filter)| async move {
        loop {
            match more.recv().await {
                Ok(line) if filter.shows(&line) => return Some((line, (more, filter))),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    })
}

fn frame(line: &LogLine, names: FieldNames) -> Event {
    let event = Event::default().event("log").id(line.seq.to_string());
    event.data(names.json_text(line))
}
