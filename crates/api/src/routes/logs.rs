//! `GET /api/admin/logs`: the newest lines, or, for who takes an event stream, those and all that
//! follow. `logs.tail` of the WebSocket asks for the same.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{Stream, StreamExt, iter, unfold};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::logs::{LogFilter, LogLevel, LogLine};
use crate::routing::schema_of;
use crate::wire::{FieldNames, Json};
use crate::{Access, ApiState, Problem, QueryOf, Route, Routes};

const KEEP_ALIVE: Duration = Duration::from_secs(15);
const USUAL: usize = 200;

pub(super) fn routes() -> Routes {
    let row = Route::get("/api/admin/logs", Access::Owner, logs)
        .summary("The newest lines of the log, or a feed of them")
        .query::<LogsQuery>()
        .answers_json_or_events(schema_of::<LogLines>, schema_of::<LogLine>);
    Routes::tagged("admin", [row])
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct LogsQuery {
    /// This level and worse.
    pub(super) level: Option<LogLevel>,
    /// Part of the words, the target or a detail.
    pub(super) q: Option<String>,
    /// Only lines after this one.
    pub(super) after: Option<u64>,
    /// The newest so many; 200 unless given.
    #[schemars(range(min = 1, max = 2000))]
    pub(super) limit: Option<usize>,
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
    let (kept, more) = tail(&state, query, "limit")?;
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !accepts.is_some_and(|kinds| kinds.contains("text/event-stream")) {
        return Ok(Json(LogLines { lines: kept }).into_response());
    }
    let feed = iter(kept).chain(more).map(move |line| Ok::<_, Infallible>(frame(&line, names)));
    Ok(Sse::new(feed).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// What is there, and what follows. `limit_at` is what the client calls the limit.
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
    let (mut kept, more) = state.logs.follow(query.after.unwrap_or(0));
    kept.retain(|line| filter.shows(line));
    kept.drain(..kept.len().saturating_sub(limit));
    Ok((kept, following(more, filter)))
}

/// A reader that fell behind goes on with what is there: the numbers show the gap.
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
