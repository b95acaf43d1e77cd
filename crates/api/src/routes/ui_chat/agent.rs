//! `/api/v1/chat` with an agent: the messages are kept in a session, and a client can rejoin the
//! run.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use onyx_agent::{ApprovalOptions, DryRun, RunInput, RunRequest, RunTerms, SessionRef};
use onyx_storage::Draft;
use onyx_types::{
    AgentId, Attendance, DraftState, ErrorCode, Fault, RunId, SessionId, SessionOrigin, UserContent,
};

use super::chats::UiChats;
use super::following::{Following, stream};
use super::stream_headers;
use crate::routes::pending_changes::refused;
use crate::wire::decode::{UiChatRequest, UiDecision, UiTurn};
use crate::wire::encode::UiRunFrames;
use crate::{ApiState, AuthContext, Problem};

const IGNORED: &str = "x-onyx-ignored-fields";
const SESSION: &str = "x-onyx-session-id";
const RUN: &str = "x-onyx-run-id";

pub(super) async fn answer(
    state: ApiState,
    caller: AuthContext,
    headers: &HeaderMap,
    mut request: UiChatRequest,
) -> Result<Response, Problem> {
    if let Some(session) = headers.get(SESSION) {
        let named = session.to_str().ok().and_then(|text| text.parse::<SessionId>().ok());
        let wrong = || Problem::field(SESSION, "is not the id of a session");
        request.session_id = Some(named.ok_or_else(wrong)?);
    }
    let turn = request.turn()?;
    let left_out = request.left_out_for_an_agent().join(", ");
    let mut response = match turn {
        UiTurn::Said(content) => begin(state, caller, &request, Question::New(content)).await?,
        UiTurn::Again => begin(state, caller, &request, Question::Repeated).await?,
        UiTurn::Decided(decisions) => go_on(state, caller, decisions).await?,
    };
    if let Ok(names) = HeaderValue::from_str(&left_out)
        && !names.is_empty()
    {
        response.headers_mut().insert(IGNORED, names);
    }
    Ok(response)
}

enum Question {
    New(UserContent),
    /// Answers the last message again.
    Repeated,
}

async fn begin(
    state: ApiState,
    caller: AuthContext,
    request: &UiChatRequest,
    question: Question,
) -> Result<Response, Problem> {
    let place = place(&state, &caller, request).await?;
    let input = match (question, place.existing()) {
        (Question::New(content), _) => RunInput::New(content),
        (Question::Repeated, Some(session)) => {
            let latest = state.agent.conversations.latest_message(&caller.person, session).await?;
            RunInput::Regenerate(latest)
        }
        (Question::Repeated, None) => {
            let why = "missing; name the conversation whose answer is to be regenerated";
            return Err(Problem::field("sessionId", why));
        }
    };
    let run = RunRequest {
        person: caller.person.clone(),
        session: place,
        input,
        view: None,
        model: None,
        terms: RunTerms::default(),
        attendance: Attendance::Attended,
        dry_run: DryRun::Off,
    };
    let handle = state.agent.runs.start(run).await?;
    let (run, session) = (handle.run_id, handle.session_id);
    if let Some(chat) = &request.id
        && let Err(error) = UiChats::of(&state).note(&caller.person, chat, session).await
    {
        // The answer contains the session's id, by which the chat goes on all the same.
        tracing::warn!(%run, %error, "the session of a chat could not be noted");
    }
    let following = Following::of(&state, &caller, run, handle.events).await;
    Ok(streamed(following, run, Some(session)))
}

/// Finds the session that the request names, or the session of its chat, or makes a new one.
async fn place(
    state: &ApiState,
    caller: &AuthContext,
    request: &UiChatRequest,
) -> Result<SessionRef, Problem> {
    let agent: Option<AgentId> = match &request.agent {
        Some(name) => {
            let id = name.strip_prefix("onyx:").unwrap_or(name).parse::<AgentId>().ok();
            let known = id.filter(|id| state.agent.roster().get(id).is_some());
            let none = || Problem::field("agent", format!("there is no agent {name:?}"));
            Some(known.ok_or_else(none)?)
        }
        None => None,
    };
    let session = match request.named_session() {
        Some(session) => Some(session),
        None => chat_session(state, caller, request.id.as_deref()).await?,
    };
    let Some(session) = session else {
        let agents = agent.into_iter().collect();
        return Ok(SessionRef::New { origin: SessionOrigin::Chat, agents });
    };
    let meta = match state.agent.sessions.meta(&caller.person, session).await {
        // The session of a chat was deleted, so the chat begins another one.
        Err(fault) if fault.code == ErrorCode::NotFound && request.named_session().is_none() => {
            let agents = agent.into_iter().collect();
            return Ok(SessionRef::New { origin: SessionOrigin::Chat, agents });
        }
        meta => meta?,
    };
    match agent {
        Some(agent) if !meta.agents.contains(&agent) => {
            let why =
                format!("the session belongs to the agent `{}`, not to `{agent}`", meta.agent);
            Err(Problem::field("agent", why))
        }
        Some(_) | None => Ok(SessionRef::Existing(session)),
    }
}

/// The session of a chat: the one with the chat's id, or the one that the chat last began. A page
/// may use chat ids that look like session ids, so an unknown one is not an error.
async fn chat_session(
    state: &ApiState,
    caller: &AuthContext,
    chat: Option<&str>,
) -> Result<Option<SessionId>, Problem> {
    let Some(chat) = chat else { return Ok(None) };
    if let Ok(session) = chat.parse::<SessionId>()
        && state.agent.sessions.meta(&caller.person, session).await.is_ok()
    {
        return Ok(Some(session));
    }
    Ok(UiChats::of(state).session(&caller.person, chat).await.map_err(Fault::from)?)
}

/// Records the decisions, then streams the rest of the run that waited for them.
async fn go_on(
    state: ApiState,
    caller: AuthContext,
    decisions: Vec<UiDecision>,
) -> Result<Response, Problem> {
    let mut decided = Vec::new();
    for decision in decisions {
        let before = state.agent.approvals.get(&caller.person, decision.draft).await?;
        // `useChat` repeats all answers of its last step, also those it has sent before.
        let draft = if before.state == DraftState::Pending {
            decide(&state, &caller, decision).await?
        } else {
            before
        };
        decided.push(draft);
    }
    let Some(run) = decided.last().map(|draft| draft.run) else {
        return Err(Problem::field("messages", "no approval was answered"));
    };
    let session = decided.last().map(|draft| draft.key.session);
    let events = state.agent.runs.events(&caller.person, run, 0).await?;
    let following = Following::of(&state, &caller, run, events).await.after_decisions(&decided);
    Ok(streamed(following, run, session))
}

async fn decide(
    state: &ApiState,
    caller: &AuthContext,
    decision: UiDecision,
) -> Result<Draft, Problem> {
    let approvals = &state.agent.approvals;
    let decided = if decision.approved {
        let options = ApprovalOptions { reason: decision.reason, ..ApprovalOptions::default() };
        approvals.approve(&caller.approver()?, decision.draft, options).await
    } else {
        approvals.reject(&caller.person, decision.draft, decision.reason).await
    };
    decided.map_err(|not| refused(state, not))
}

/// `reconnectToStream`: the run in progress in a chat, from its beginning.
pub(super) async fn resume(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(chat): Path<String>,
) -> Result<Response, Problem> {
    let session = chat_session(&state, &caller, Some(&chat)).await?;
    let run = match session {
        Some(session) => state.agent.runs.at_work_on(&caller.person, session).await?,
        None => None,
    };
    let Some(run) = run else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    // The run may have ended since.
    let Ok(events) = state.agent.runs.events(&caller.person, run, 0).await else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let following = Following::of(&state, &caller, run, events).await;
    Ok(streamed(following, run, session))
}

fn streamed(following: Following, run: RunId, session: Option<SessionId>) -> Response {
    let frames = UiRunFrames::new(run.to_string());
    let place = [(HeaderName::from_static(RUN), run.to_string())];
    let mut response = (stream_headers(), place, stream(following, frames)).into_response();
    let session = session.map(|session| HeaderValue::from_str(&session.to_string()));
    if let Some(Ok(session)) = session {
        response.headers_mut().insert(SESSION, session);
    }
    response
}
