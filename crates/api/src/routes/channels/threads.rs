//! Threads of a channel. Each thread is a session that its channel's file lists.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_agent::SessionPatch;
use onyx_storage::{Channel, SessionMeta, Thread};
use onyx_types::{ErrorCode, Fault, Scope, ThreadId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::spaces::{checked_name, removal};
use super::{change, channels, find};
use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/threads", Read, list)
            .summary("List threads, newest first")
            .query::<ThreadsQuery>()
            .answers_json::<ThreadList>(),
        Route::post("/api/threads", Write, create)
            .summary("Create a thread")
            .body::<NewThread>()
            .answers_created::<ThreadView>(),
        Route::get("/api/threads/{id}", Read, show)
            .summary("Get a thread")
            .answers_json::<ThreadView>(),
        Route::patch("/api/threads/{id}", Write, patch)
            .summary("Rename a thread")
            .body::<PatchThread>()
            .answers_json::<ThreadView>(),
        Route::delete("/api/threads/{id}", Write, remove)
            .summary("Delete a thread with its messages and sources")
            .answers_nothing(),
    ];
    Routes::tagged("threads", rows)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ThreadsQuery {
    /// Only threads of this channel.
    channel: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ThreadList {
    /// Newest first.
    threads: Vec<ThreadView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ThreadView {
    id: String,
    channel: String,
    space: String,
    title: String,
    created_at: Timestamp,
}

impl ThreadView {
    fn of(channel: &Channel, thread: &Thread) -> Self {
        Self {
            id: thread.id.to_string(),
            channel: channel.id.to_string(),
            space: channel.space.to_string(),
            title: thread.title.clone(),
            created_at: thread.created,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewThread {
    channel: String,
    #[schemars(regex(pattern = r"\S"), length(max = 120))]
    title: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PatchThread {
    #[schemars(regex(pattern = r"\S"), length(max = 120))]
    title: String,
}

pub(in crate::routes) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<ThreadsQuery>,
) -> Result<Json<ThreadList>, Problem> {
    let channels = match query.channel {
        Some(channel) => vec![find(&state, &caller, &channel).await?],
        None => channels(&state, &caller)?.list(None).await.map_err(Fault::from)?,
    };
    let threads = channels.iter().flat_map(|channel| {
        channel.card.threads.iter().map(|thread| ThreadView::of(channel, thread))
    });
    let mut threads: Vec<_> = threads.collect();
    threads.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
    Ok(Json(ThreadList { threads }))
}

pub(in crate::routes) async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<NewThread>,
) -> Result<Response, Problem> {
    let title = title(&request.title)?;
    let channel = find(&state, &caller, &request.channel).await;
    let channel = channel.map_err(|problem| match problem.fault().code {
        ErrorCode::NotFound => Problem::unknown("channel", "there is no such channel"),
        _ => problem,
    })?;
    let (channel, thread) =
        state.agent.conversations.open_thread(&caller.person, &channel, title).await?;
    let location = [(header::LOCATION, format!("/api/threads/{}", thread.id))];
    let view = Json(ThreadView::of(&channel, &thread));
    Ok((StatusCode::CREATED, location, view).into_response())
}

pub(in crate::routes) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<ThreadView>, Problem> {
    let (channel, thread) = find_thread(&state, &caller, &id).await?;
    Ok(Json(ThreadView::of(&channel, &thread)))
}

pub(in crate::routes) async fn patch(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<PatchThread>,
) -> Result<Json<ThreadView>, Problem> {
    let title = title(&request.title)?;
    let (channel, thread) = find_thread(&state, &caller, &id).await?;
    let channel = change(&state, &caller, channel.id.as_str(), None, |card| {
        for known in card.threads.iter_mut().filter(|known| known.id == thread.id) {
            known.title.clone_from(&title);
        }
    })
    .await?;
    if let Some(session) = thread.session() {
        let patch = SessionPatch { title: Some(title.clone()), ..SessionPatch::default() };
        state.agent.sessions.patch(&caller.person, session, patch).await?;
    }
    Ok(Json(ThreadView::of(&channel, &Thread { title, ..thread })))
}

/// Deletes the thread with its conversation and attached sources.
pub(in crate::routes) async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let (channel, thread) = find_thread(&state, &caller, &id).await?;
    removal::close(&state, &caller, thread.session()).await?;
    removal::detach(&state, &caller, &[Scope::Thread(thread.id.clone())]).await?;
    change(&state, &caller, channel.id.as_str(), None, |card| {
        card.threads.retain(|known| known.id != thread.id);
    })
    .await?;
    let channels = channels(&state, &caller)?;
    channels.sweep_thread(&channel.space, &thread.id).await.map_err(Fault::from)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn find_thread(
    state: &ApiState,
    caller: &AuthContext,
    id: &str,
) -> Result<(Channel, Thread), Problem> {
    let none = || Problem::new(ErrorCode::NotFound, format!("There is no thread {id:?}."));
    let thread: ThreadId = id.parse().map_err(|_| none())?;
    let channel = channels(state, caller)?.with_thread(&thread).await.map_err(Fault::from)?;
    let channel = channel.ok_or_else(none)?;
    let thread = channel.card.thread(&thread).cloned().ok_or_else(none)?;
    Ok((channel, thread))
}

/// The thread's conversation.
pub(super) async fn session_of(
    state: &ApiState,
    caller: &AuthContext,
    id: &str,
) -> Result<SessionMeta, Problem> {
    let (_, thread) = find_thread(state, caller, id).await?;
    let none = || Problem::new(ErrorCode::NotFound, format!("There is no thread {id:?}."));
    let session = thread.session().ok_or_else(none)?;
    Ok(state.agent.sessions.meta(&caller.person, session).await?)
}

fn title(title: &str) -> Result<String, Problem> {
    checked_name(title).map_err(|problem| {
        let detail = problem.fault().message.replacen("name", "title", 1);
        Problem::new(ErrorCode::InvalidRequest, detail).with_field("title")
    })
}
