//! `/api/agent/*`: chats and their streams as NDJSON of schema v2.

pub(super) mod action_runs;
pub(super) mod actions;
pub(super) mod health;
pub(super) mod preferences;
pub(super) mod request;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use onyx_agent::{ApprovalOptions, StopTarget};
use onyx_surface::{ChatReply, Collect, Encoder};
use onyx_types::{ErrorCode, Fault, RunId, RunStatus, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owned::OwnedRun;
use crate::messages::{HistoryMessage, messages};
use crate::wire::encode::{CallName, Line, Ndjson, OlderLine};
use crate::wire::{FieldNames, Json};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};
use action_runs::{ActionRuns, ActionRunsQuery};
use actions::{ActionPrompt, ActionView, FilledWith, RunAction};
use health::AgentHealth;
use preferences::{PreferencesChange, PreferencesView};
use request::{ChatRequest, Confirmed, optional_id};

pub(super) fn routes() -> Routes {
    use Access::{Chat, Read, Write};
    let rows = [
        Route::post("/api/agent/chat-stream", Chat, chat_stream)
            .summary("Send a message and stream the answer's events")
            .body::<ChatRequest>()
            .answers_lines::<Line<'static>>(),
        Route::post("/api/agent/chat", Chat, chat)
            .summary("Send a message and get the whole answer")
            .body::<ChatRequest>()
            .answers_json::<ChatReply>(),
        Route::post("/api/agent/stop", Chat, stop)
            .summary("Stop a run, by its id or its session")
            .body::<StopRequest>()
            .answers_json::<Stopped>(),
        Route::post("/api/agent/session/clear", Write, clear)
            .summary("Archive a session and begin a new one")
            .body::<SessionRequest>()
            .answers_json::<Cleared>(),
        Route::get("/api/agent/session/history", Read, history)
            .summary("Get the messages of a session")
            .query::<HistoryQuery>()
            .answers_json::<History>(),
        Route::get("/api/agent/config", Read, preferences::show)
            .summary("Get a person's preferences for agents")
            .answers_json::<PreferencesView>(),
        Route::post("/api/agent/config", Write, preferences::change)
            .summary("Change a person's preferences for agents")
            .body::<PreferencesChange>()
            .answers_json::<PreferencesView>(),
        Route::get("/api/agent/actions", Read, actions::list)
            .summary("List actions (prompt files)")
            .answers_json::<Vec<ActionView>>(),
        Route::post("/api/agent/actions/{id}/run", Chat, actions::run)
            .summary("Run an action and stream its events")
            .body::<RunAction>()
            .answers_lines::<Line<'static>>(),
        Route::post("/api/agent/actions/{id}/prompt", Read, actions::prompt)
            .summary("Preview the prompt of an action")
            .body::<FilledWith>()
            .answers_json::<ActionPrompt>(),
        Route::get("/api/agent/action-runs", Read, action_runs::list)
            .summary("List runs of actions, newest first")
            .query::<ActionRunsQuery>()
            .answers_json::<ActionRuns>(),
        Route::get("/api/agent/health", Read, health::show)
            .summary("Check whether agents can work")
            .answers_json::<AgentHealth>(),
    ];
    Routes::tagged("agent", rows).merge(older_routes())
}

/// The same routes at the paths that older clients use.
fn older_routes() -> Routes {
    use Access::{Chat, Read, Write};
    let rows = [
        Route::post("/api/claude/chat-stream", Chat, claude_chat_stream)
            .summary("Same as /api/agent/chat-stream")
            .deprecated()
            .body::<ChatRequest>()
            .answers_lines::<OlderLine<'static>>(),
        Route::post("/api/claude/chat", Chat, chat)
            .summary("Same as /api/agent/chat")
            .deprecated()
            .body::<ChatRequest>()
            .answers_json::<ChatReply>(),
        Route::post("/api/claude/clear", Write, clear)
            .summary("Same as /api/agent/session/clear")
            .deprecated()
            .body::<SessionRequest>()
            .answers_json::<Cleared>(),
        Route::get("/api/claude/history", Read, history)
            .summary("Same as /api/agent/session/history")
            .deprecated()
            .query::<HistoryQuery>()
            .answers_json::<History>(),
    ];
    Routes::tagged("claude", rows)
}

pub(super) async fn chat_stream(
    State(state): State<ApiState>,
    caller: AuthContext,
    names: FieldNames,
    JsonBody(request): JsonBody<ChatRequest>,
) -> Result<Response, Problem> {
    let run = start(&state, caller, request).await?;
    Ok(lines(run, Ndjson::default().named(names)).await)
}

/// Streams like `chat_stream`, but a tool call is named `tool_use`, as older clients expect.
pub(super) async fn claude_chat_stream(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<ChatRequest>,
) -> Result<Response, Problem> {
    let run = start(&state, caller, request).await?;
    Ok(lines(run, Ndjson::calling(CallName::ToolUse)).await)
}

async fn lines(run: OwnedRun, encoder: Ndjson) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    (headers, run.into_begun_body(encoder).await).into_response()
}

pub(super) async fn chat(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<ChatRequest>,
) -> Result<Json<ChatReply>, Problem> {
    // This future is dropped when the client disconnects, and the run with it.
    let mut run = start(&state, caller, request).await?;
    let mut collect = Collect::default();
    while let Some(envelope) = run.next().await {
        collect.encode(&envelope);
    }
    let reply = collect
        .finish()
        .pop()
        .ok_or_else(|| Problem::new(ErrorCode::Internal, "the run ended without an answer"))?;
    match reply.status {
        RunStatus::Done | RunStatus::AwaitingClient => Ok(Json(reply)),
        RunStatus::Cancelled => Err(unfinished(ErrorCode::Cancelled, reply)),
        RunStatus::Interrupted => Err(unfinished(ErrorCode::Interrupted, reply)),
        RunStatus::Error => Err(unfinished(ErrorCode::Internal, reply)),
    }
}

/// The error for a run that did not end well. It holds the part of the answer that exists, and the
/// session can continue from it.
fn unfinished(code: ErrorCode, reply: ChatReply) -> Problem {
    Problem::from(reply.error.unwrap_or_else(|| Fault::plain(code)))
        .with("session_id", reply.session_id.to_string())
        .with("run_id", reply.run_id.to_string())
        .with("message", reply.message)
}

async fn start(
    state: &ApiState,
    caller: AuthContext,
    mut request: ChatRequest,
) -> Result<OwnedRun, Problem> {
    if let (Some(session), Some(agent)) = (request.session_id, &request.agent) {
        let meta = state.agent.sessions.meta(&caller.person, session).await?;
        if !meta.agents.contains(agent) {
            let agents: Vec<_> = meta.agents.iter().map(|agent| agent.as_str()).collect();
            let why = format!("the agents of this session are: {}", agents.join(", "));
            return Err(Problem::field("agent", why));
        }
    }
    let person = caller.person.clone();
    let confirmed = request.confirmed(&caller)?;
    let request = match request.action_id.take() {
        Some(action) => {
            let ask = request.into_action(action, person, confirmed.to_begin());
            state.agent.actions.run_request(ask).await?
        }
        None => request.into_run(person)?,
    };
    if let Confirmed::Drafts(approver, drafts) = confirmed {
        for draft in drafts {
            let options = ApprovalOptions::default();
            let approved = state.agent.approvals.approve(&approver, draft, options).await;
            approved.map_err(|not| super::pending_changes::refused(state, not))?;
        }
    }
    OwnedRun::start(&state.agent.runs, request).await
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("not" = {"anyOf": [
    {"properties": {"session_id": {"enum": [null]}, "run_id": {"enum": [null]}}},
    {"required": ["session_id", "run_id"]},
]}))]
pub(crate) struct StopRequest {
    #[serde(default, deserialize_with = "optional_id")]
    session_id: Option<SessionId>,
    #[serde(default, deserialize_with = "optional_id")]
    run_id: Option<RunId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Stopped {
    pub(super) stopped: bool,
}

pub(super) async fn stop(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<StopRequest>,
) -> Result<Json<Stopped>, Problem> {
    let target = match (request.session_id, request.run_id) {
        (Some(session), None) => StopTarget::Session(session),
        (None, Some(run)) => StopTarget::Run(run),
        (Some(_), Some(_)) => {
            return Err(Problem::field("run_id", "give either `run_id` or `session_id`"));
        }
        (None, None) => {
            return Err(Problem::field("session_id", "missing; give `session_id` or `run_id`"));
        }
    };
    Ok(Json(Stopped { stopped: state.agent.runs.stop(&caller.person, target).await? }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SessionRequest {
    session_id: SessionId,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Cleared {
    session_id: SessionId,
}

pub(super) async fn clear(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<SessionRequest>,
) -> Result<Json<Cleared>, Problem> {
    let session_id = state.agent.sessions.clear(&caller.person, request.session_id).await?;
    Ok(Json(Cleared { session_id }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct HistoryQuery {
    session_id: SessionId,
    before: Option<u64>,
    #[schemars(range(min = 1, max = 5_000))]
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct History {
    session_id: SessionId,
    messages: Vec<HistoryMessage>,
    /// Give it as `before` to get the messages before these; absent at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
}

pub(super) async fn history(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<HistoryQuery>,
) -> Result<Json<History>, Problem> {
    let session_id = query.session_id;
    let page =
        super::sessions::whole_runs(&state, &caller, session_id, query.before, query.limit).await?;
    Ok(Json(History { session_id, messages: messages(&page.turns), before: page.older() }))
}
