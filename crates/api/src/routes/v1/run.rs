//! A request that an agent answers.

use axum::Json;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use onyx_agent::{ClientTurn, DryRun, RunInput, RunRequest, RunTerms, SessionRef};
use onyx_types::{
    AgentId, Attendance, ErrorCode, Fault, ModelId, RunId, SamplingSetting, SessionId,
    SessionOrigin,
};
use serde_json::{Map, Value};

use super::left_out::ignored;
use super::sent::{BETAS, RequestHead, SESSION};
use crate::routes::owned::OwnedRun;
use crate::wire::decode::newest;
use crate::wire::encode::v1::{AnswerFold, AnswerHead, StreamedRun, WholeFold};
use crate::{ApiState, AuthContext, Dialect, Problem};

const RUN: &str = "x-onyx-run-id";

pub(crate) struct AnswererChoice {
    pub(super) agent: Option<AgentId>,
    pub(super) model: Option<ModelId>,
    pub(super) dialect: Dialect,
}

pub(super) async fn answer(
    state: &ApiState,
    caller: &AuthContext,
    sent: RequestHead,
    choice: AnswererChoice,
    body: Map<String, Value>,
) -> Result<Response, Problem> {
    let AnswererChoice { agent, model, dialect } = choice;
    let echo = dialect.echo(&body);
    let client_request = dialect.read(body)?;
    let session = match (sent.session, &client_request.previous) {
        (Some(session), _) => Some(session),
        (None, Some(previous)) => Some(answered_in(state, caller, previous).await?),
        (None, None) => None,
    };
    let mut names = client_request.left_out(&used_settings(state, agent.as_ref(), model.as_ref()));
    names.extend(sent.betas.is_some().then(|| BETAS.to_owned()));
    let ignored = ignored(&names);
    let session = place(state, caller, session, agent).await?;
    let mut client = client_request.client;
    client.memory = sent.memory;
    if matches!(session, SessionRef::Existing(_)) {
        client.turns = newest(client.turns);
    }
    if !matches!(client.turns.last(), Some(ClientTurn::User(_) | ClientTurn::ToolResult { .. })) {
        let why = "the last message must be the user's or a tool's; there is nothing to answer";
        return Err(Problem::field(dialect.conversation(), why));
    }
    let tools: Vec<String> = client.tools.iter().map(|tool| tool.name.clone()).collect();
    let request = RunRequest {
        person: caller.person.clone(),
        session,
        input: RunInput::Client(Box::new(client)),
        view: None,
        model,
        terms: RunTerms::default(),
        attendance: Attendance::Unattended,
        dry_run: DryRun::Off,
    };
    let mut run = OwnedRun::start(&state.agent.runs, request).await?;
    let named = sent.model.unwrap_or_else(|| "onyx".to_owned());
    let head = AnswerHead {
        id: run.run_id().to_string(),
        model: named,
        created: state.agent.now().as_millis() / 1_000,
        session: Some(run.session_id().to_string()),
        usage: sent.usage,
        echo,
        forms: client_request.forms,
    };
    let place = [
        (HeaderName::from_static(SESSION), run.session_id().to_string()),
        (HeaderName::from_static(RUN), run.run_id().to_string()),
    ];
    if sent.stream {
        // Libraries decide by the status whether to retry, and do not look for an error in the
        // first event of a stream.
        if let Some(fault) = run.early_failure().await {
            return Err(fault.into());
        }
        let encoder = StreamedRun::new(AnswerFold::new(tools), dialect.writer(head));
        let headers =
            [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
        return Ok((headers, place, ignored, run.into_body(encoder)).into_response());
    }
    whole(run, AnswerFold::new(tools), &head, dialect)
        .await
        .map(|body| (place, ignored, Json(body)).into_response())
}

/// The settings that reach the agent's model. If a run switches to another model, that one gets the
/// settings that its format supports.
fn used_settings(
    state: &ApiState,
    agent: Option<&AgentId>,
    model: Option<&ModelId>,
) -> Vec<SamplingSetting> {
    let roster = state.agent.roster();
    let agent = agent.and_then(|id| roster.get(id)).unwrap_or_else(|| roster.default_agent());
    let model = model.or(agent.model.primary.as_ref());
    let mut taken = state.upstream.takes(model.map(ModelId::as_str));
    // The run's session is its cache key, so the client's is not used.
    taken.retain(|setting| *setting != SamplingSetting::CacheKey);
    taken
}

async fn whole(
    mut run: OwnedRun,
    mut fold: AnswerFold,
    head: &AnswerHead,
    dialect: Dialect,
) -> Result<Value, Problem> {
    let mut gathered = WholeFold::default();
    loop {
        let next = run.next().await;
        let parts = match &next {
            Some(envelope) => fold.event(envelope),
            None => fold.finish(),
        };
        for part in parts {
            if let Some(outcome) = gathered.add(part) {
                return Ok(dialect.whole(head, &outcome?));
            }
        }
        if next.is_none() {
            return Err(Fault::plain(ErrorCode::Internal).into());
        }
    }
}

/// The given session, if it is this agent's; otherwise a new unlisted one.
async fn place(
    state: &ApiState,
    caller: &AuthContext,
    session: Option<SessionId>,
    agent: Option<AgentId>,
) -> Result<SessionRef, Problem> {
    let Some(session) = session else {
        let agents = agent.into_iter().collect();
        return Ok(SessionRef::New { origin: SessionOrigin::Api, agents });
    };
    let meta = state.agent.sessions.meta(&caller.person, session).await?;
    if let Some(agent) = agent.filter(|agent| *agent != meta.agent) {
        let why = format!("the session belongs to the agent `{}`, not to `{agent}`", meta.agent);
        return Err(Problem::field("model", why));
    }
    Ok(SessionRef::Existing(session))
}

/// `previous_response_id`: the session that holds that answer.
async fn answered_in(
    state: &ApiState,
    caller: &AuthContext,
    previous: &str,
) -> Result<SessionId, Problem> {
    let run = previous.strip_prefix("resp_").and_then(|id| id.parse::<RunId>().ok());
    let session = match run {
        Some(run) => state.agent.sessions.of_run(&caller.person, run).await?,
        None => None,
    };
    session.ok_or_else(|| {
        Problem::field("previous_response_id", format!("there is no response {previous}"))
            .with_status(axum::http::StatusCode::NOT_FOUND)
    })
}
