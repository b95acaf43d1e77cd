//! Messages of a thread. The answer to a sent message returns at once; the coworkers' answers
//! follow as events.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use onyx_agent::prompt;
use onyx_agent::{KeptMessage, NewMessage as Message, Runs, StopTarget};
use onyx_knowledge::{Hit, Retrieval};
use onyx_storage::{Delivery, SessionMeta};
use onyx_types::{
    AgentId, ErrorCode, Fault, MatchType, Origin, PersonId, RunId, Scope, SessionId, Timestamp,
    TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::events::events;
use super::threads::session_of;
use crate::messages::{HistoryMessage, MessageRole, MessageStatus};
use crate::messages::{MessagePage, MessageView, Metadata, client_id, page, waiting};
use crate::routes::sessions::body_of;
use crate::wire::Json;
use crate::wire::encode::{ThreadEvent, answer_id};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};

pub(super) fn routes() -> Routes {
    use Access::{Chat, Read};
    let rows = [
        Route::get("/api/threads/{id}/messages", Read, list)
            .summary("List the messages of a thread")
            .query::<ThreadQuery>()
            .answers_json::<ThreadMessages>(),
        Route::post("/api/threads/{id}/messages", Chat, send)
            .summary("Send a message to a thread; honours Idempotency-Key")
            .body::<NewMessage>()
            .answers_created::<SentMessage>(),
        Route::get("/api/threads/{id}/context", Read, context)
            .summary("Get what retrieval finds for a thread")
            .query::<ContextQuery>()
            .answers_json::<ContextFound>(),
        Route::get("/api/threads/{id}/answerers", Read, answerers)
            .summary("Get the agents that would answer a message")
            .query::<AnswerersQuery>()
            .answers_json::<Answerers>(),
        Route::get("/api/threads/{id}/events", Read, events)
            .summary("Stream the answers of a thread")
            .answers_events::<ThreadEvent<'static>>(),
        Route::post("/api/messages/{id}/cancel", Chat, cancel)
            .summary("Stop an answer")
            .tag("messages")
            .answers_json::<Cancelled>(),
    ];
    Routes::tagged("threads", rows)
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ThreadMessagesQuery")]
pub(crate) struct ThreadQuery {
    /// Only messages before this message of the person.
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ThreadMessages {
    /// Oldest first.
    messages: Vec<MessageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<TurnId>,
}

pub(in crate::routes) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<ThreadQuery>,
) -> Result<Json<ThreadMessages>, Problem> {
    let meta = session_of(&state, &caller, &id).await?;
    let page = page(&state, &caller, meta.session_id, query.before.as_deref(), query.limit).await?;
    let mut messages = answered(&state, &page);
    if query.before.is_none() {
        messages.extend(unanswered(&state, &caller, &meta, &page).await?);
    }
    Ok(Json(ThreadMessages { messages, before: page.before }))
}

/// Messages that wait, and placeholders for their answers.
async fn unanswered(
    state: &ApiState,
    caller: &AuthContext,
    meta: &SessionMeta,
    page: &MessagePage,
) -> Result<Vec<MessageView>, Problem> {
    let mut messages = Vec::new();
    for row in waiting(state, caller, meta.session_id, page).await? {
        let text = row.words.content.text();
        messages.push(MessageView::posted(&row));
        if state.agent.conversations.is_awaited(&row) {
            let agents = state.agent.conversations.answerers(&caller.person, meta, &text).await?;
            let answers = agents.iter().map(|agent| placeholder(row.turn, row.received_at, agent));
            messages.extend(answers);
        }
    }
    Ok(messages)
}

/// The views of a page's answers. The id of an answer is made from its question, so that a second
/// attempt replaces the first.
fn answered(state: &ApiState, page: &MessagePage) -> Vec<MessageView> {
    let mut views: Vec<MessageView> = Vec::new();
    let mut question: Option<TurnId> = None;
    for message in &page.messages {
        let mut view = MessageView::of(state, message);
        match message.role {
            MessageRole::User => question = Some(message.id),
            MessageRole::Assistant => {
                view.id = name(question, message);
                view.question = question;
                views.retain(|earlier| earlier.id != view.id);
            }
        }
        views.push(view);
    }
    views
}

fn name(question: Option<TurnId>, message: &HistoryMessage) -> String {
    match (question, &message.agent) {
        (Some(question), Some(agent)) => answer_id(question, agent),
        _ => message.id.to_string(),
    }
}

fn placeholder(question: TurnId, at: Timestamp, agent: &AgentId) -> MessageView {
    MessageView {
        id: answer_id(question, agent),
        role: MessageRole::Assistant,
        author: agent.to_string(),
        question: Some(question),
        content: String::new(),
        status: MessageStatus::Streaming,
        created_at: at,
        error: None,
        metadata: Metadata::default(),
    }
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ThreadMessage")]
pub(crate) struct NewMessage {
    content: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadMessageSent")]
pub(crate) struct SentMessage {
    user_message: MessageView,
    /// One for each coworker that answers, still empty.
    assistant_messages: Vec<MessageView>,
}

/// Returns at once; the coworkers' answers follow as events.
pub(in crate::routes) async fn send(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<NewMessage>,
) -> Result<(StatusCode, Json<SentMessage>), Problem> {
    let meta = session_of(&state, &caller, &id).await?;
    let client_id = client_id(&headers)?;
    if request.content.trim().is_empty() {
        return Err(Problem::field("content", "it is empty"));
    }
    let agents =
        state.agent.conversations.answerers(&caller.person, &meta, &request.content).await?;
    let delivery = Delivery::FollowUp;
    let message = Message { content: request.content, view: None, client_id, delivery };
    let sent = match state
        .agent
        .conversations
        .keep_message(&caller.person, meta.session_id, message)
        .await?
    {
        KeptMessage::Known(turn) => sent_before(&state, &caller, &meta, turn, &agents).await?,
        KeptMessage::New(row) => {
            state.agent.conversations.promise(&caller.person, meta.session_id, row.turn);
            let answer = |agent| placeholder(row.turn, row.received_at, agent);
            SentMessage {
                user_message: MessageView::posted(&row),
                assistant_messages: agents.iter().map(answer).collect(),
            }
        }
    };
    Ok((StatusCode::CREATED, Json(sent)))
}

/// A message that was sent before, with its answers so far.
async fn sent_before(
    state: &ApiState,
    caller: &AuthContext,
    meta: &SessionMeta,
    message: TurnId,
    agents: &[AgentId],
) -> Result<SentMessage, Problem> {
    const NEWEST: usize = 200;
    let page = page(state, caller, meta.session_id, None, Some(NEWEST)).await?;
    let mut messages = answered(state, &page);
    messages.extend(unanswered(state, caller, meta, &page).await?);
    let id = message.to_string();
    let (mut own, rest): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|message| message.id == id);
    let none = || Problem::new(ErrorCode::NotFound, format!("There is no message {id}."));
    let user_message = own.pop().ok_or_else(none)?;
    let mut assistant_messages: Vec<_> =
        rest.into_iter().filter(|answer| answer.question == Some(message)).collect();
    if assistant_messages.is_empty() {
        // The message was added a moment ago and its answers are not promised yet, or their run has
        // just begun.
        let at = user_message.created_at;
        assistant_messages.extend(agents.iter().map(|agent| placeholder(message, at, agent)));
    }
    Ok(SentMessage { user_message, assistant_messages })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MessageCancelled")]
pub(crate) struct Cancelled {
    cancelled: bool,
}

/// Stops an answer, or withdraws one that has not begun. Other coworkers that answer the same
/// message continue, unless the message's own id is given.
pub(in crate::routes) async fn cancel(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<Cancelled>, Problem> {
    let none = || Problem::new(ErrorCode::NotFound, format!("No answer {id:?} is under way."));
    let (question, agent) = match id.split_once('.') {
        Some((question, agent)) => (question, Some(agent)),
        None => (id.as_str(), None),
    };
    let question: TurnId = question.parse().map_err(|_| none())?;
    let agent: Option<AgentId> = agent.map(str::parse).transpose().map_err(|_| none())?;
    let (runs, person) = (&state.agent.runs, &caller.person);
    if let Some(run) = runs.answering(person, question) {
        return stop_answer(runs, person, run, agent.as_ref()).await;
    }
    if state.agent.conversations.withdraw(person, question).await? {
        return Ok(Json(Cancelled { cancelled: true }));
    }
    // Other gateways are asked last, because this costs a query.
    match runs.answering_anywhere(person, question).await? {
        Some(run) => stop_answer(runs, person, run, agent.as_ref()).await,
        None => Err(none()),
    }
}

/// Stops a run, or only one of the agents that answer in it.
async fn stop_answer(
    runs: &Runs,
    person: &PersonId,
    run: RunId,
    agent: Option<&AgentId>,
) -> Result<Json<Cancelled>, Problem> {
    let cancelled = match agent {
        Some(agent) => runs.stop_agent(person, run, agent).await?,
        None => runs.stop(person, StopTarget::Run(run)).await?,
    };
    Ok(Json(Cancelled { cancelled }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContextQuery {
    q: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AnswerersQuery {
    /// The text of the message.
    q: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadAnswerers")]
pub(crate) struct Answerers {
    /// In the order in which they answer.
    agents: Vec<AgentId>,
}

/// The agents that a message with this text calls, otherwise the one that usually answers.
pub(in crate::routes) async fn answerers(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<AnswerersQuery>,
) -> Result<Json<Answerers>, Problem> {
    let meta = session_of(&state, &caller, &id).await?;
    let agents = state.agent.conversations.answerers(&caller.person, &meta, &query.q).await?;
    Ok(Json(Answerers { agents }))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadContext")]
pub(crate) struct ContextFound {
    /// The agents that would answer the message.
    agents: Vec<AgentId>,
    /// Best first.
    pieces: Vec<PieceView>,
    /// The approximate number of tokens for retrieved text: the smallest among the models that
    /// would answer.
    budget: usize,
    /// Why less was found than exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadContextPiece")]
struct PieceView {
    source: String,
    source_id: String,
    chunk_id: String,
    title: String,
    /// The conversation and the message that the piece is from; absent for files.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
    scope: Scope,
    origin: Origin,
    score: f32,
    match_type: MatchType,
    start_line: u32,
    end_line: u32,
    /// Without the file's front matter.
    text: String,
    /// The approximate number of tokens it uses of the budget.
    tokens: usize,
    /// Whether it fits into the budget after the better ones.
    fits: bool,
}

impl PieceView {
    fn of(hit: Hit, left: &mut usize) -> Self {
        let tokens = Retrieval::cost(&hit.path(), &hit.text);
        let fits = tokens <= *left;
        *left -= if fits { tokens } else { 0 };
        Self {
            source: hit.path(),
            source_id: hit.source_id(),
            chunk_id: hit.chunk.0.to_string(),
            session_id: hit.session().map(|(session, _)| session),
            turn: hit.message.as_ref().and_then(|message| message.turn),
            title: hit.title,
            scope: hit.scope,
            origin: hit.origin,
            score: hit.score,
            match_type: hit.match_type,
            start_line: hit.start_line,
            end_line: hit.end_line,
            text: body_of(&hit.text).to_owned(),
            tokens,
            fits,
        }
    }
}

/// What retrieval would add to a message with this text.
pub(in crate::routes) async fn context(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<ContextQuery>,
) -> Result<Json<ContextFound>, Problem> {
    let meta = session_of(&state, &caller, &id).await?;
    let agents = state.agent.conversations.answerers(&caller.person, &meta, &query.q).await?;
    let budget = budget(&state, &agents);
    let retrieval = Retrieval {
        person: caller.person.clone(),
        groups: state.agent.conversations.retrieval_groups(&caller.person, &meta, &query.q).await?,
        session: Some(meta.session_id),
        text: query.q,
        max_tokens: Retrieval::budget(usize::MAX),
    };
    let found = state.index.retrieve(&retrieval).await.map_err(Fault::from)?;
    let mut left = budget;
    let pieces = found.hits.into_iter().map(|hit| PieceView::of(hit, &mut left)).collect();
    Ok(Json(ContextFound { agents, pieces, budget, degraded: found.degraded }))
}

/// How much may be retrieved for a message, given the models that would answer it.
fn budget(state: &ApiState, agents: &[AgentId]) -> usize {
    let (roster, models) = (state.agent.roster(), state.catalogue.models());
    let window = |agent: &AgentId| {
        let model = roster.get(agent)?.model.primary.as_ref()?.as_str();
        models.iter().find(|known| known.id == model)?.context_window
    };
    let smallest = agents.iter().map(|agent| prompt::window(window(agent))).min();
    Retrieval::budget(smallest.unwrap_or(usize::MAX))
}
