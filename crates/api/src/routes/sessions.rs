//! `/v1/sessions`: the list of conversations, and their content.

pub(super) mod change;
pub(super) mod export;
pub(super) mod queued;
mod turn_view;

use axum::extract::{Path, State};
use onyx_knowledge::{Hit, SnippetPart};
use onyx_storage::{Page, Pos, SessionFilter, SessionMarks, SessionMeta, SessionStatus, TagCount};
use onyx_types::{
    AgentId, ErrorCode, Feedback, LaneOrder, RunId, RunStatus, SessionId, SessionOrigin, Timestamp,
    Turn, TurnBody, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::routing::PathValue;
use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};
use change::{Fork, GivenFeedback, Patch};
use export::ExportQuery;
use queued::QueuedMessages;
pub(super) use turn_view::{TurnView, body_of};

const LIST_DEFAULT: u32 = 50;
const LIST_MAX: u32 = 200;
const TURNS_DEFAULT: usize = 200;
const TURNS_MAX: usize = 1_000;
/// How many turns are read by default. Nearly all conversations are shorter; only a longer one is
/// read in pages.
const HISTORY_DEFAULT: usize = 5_000;
/// A page that is longer than this is not extended to the start of its first run.
const LONGEST_RUN: usize = 1_000;

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/v1/sessions", Read, list)
            .summary("List conversations, newest first")
            .query::<ListQuery>()
            .answers_json::<SessionList>(),
        Route::get("/v1/sessions/{id}", Read, show)
            .summary("Get a conversation")
            .path_value("id", PathValue::Uuid)
            .answers_json::<SessionWithSiblings>(),
        Route::patch("/v1/sessions/{id}", Write, change::patch)
            .summary("Rename, archive or tag a conversation")
            .path_value("id", PathValue::Uuid)
            .body::<Patch>()
            .answers_json::<SessionView>(),
        Route::delete("/v1/sessions/{id}", Write, change::delete)
            .summary("Delete a conversation permanently")
            .path_value("id", PathValue::Uuid)
            .answers_nothing(),
        Route::put("/v1/sessions/{id}/read", Write, change::read)
            .summary("Mark a conversation as read, on every device")
            .path_value("id", PathValue::Uuid)
            .answers_nothing(),
        Route::put("/v1/sessions/{id}/turns/{turn}/feedback", Write, change::rate)
            .summary("Rate an answer")
            .path_value("id", PathValue::Uuid)
            .path_value("turn", PathValue::Uuid)
            .body::<GivenFeedback>()
            .answers_json::<Feedback>(),
        Route::get("/v1/tags", Read, tags)
            .summary("List the tags of conversations")
            .answers_json::<TagList>(),
        Route::post("/v1/sessions/{id}/fork", Write, change::fork)
            .summary("Copy a conversation up to a turn")
            .path_value("id", PathValue::Uuid)
            .body::<Fork>()
            .answers_created::<SessionView>(),
        Route::get("/v1/sessions/{id}/queued", Read, queued::list)
            .summary("List messages that no run has read yet")
            .path_value("id", PathValue::Uuid)
            .answers_json::<QueuedMessages>(),
        Route::delete("/v1/sessions/{id}/queued/{message}", Write, queued::discard)
            .summary("Discard a message that no run has read yet")
            .path_value("id", PathValue::Uuid)
            .path_value("message", PathValue::Uuid)
            .answers_nothing(),
        Route::get("/v1/sessions/{id}/turns", Read, turns)
            .summary("Get the turns of a conversation, in pages")
            .path_value("id", PathValue::Uuid)
            .query::<TurnsQuery>()
            .answers_json::<TurnList>(),
        Route::get("/v1/sessions/{id}/export", Read, export::export)
            .summary("Export a conversation: its log, or a page to read")
            .path_value("id", PathValue::Uuid)
            .query::<ExportQuery>()
            .answers_texts(&["application/x-ndjson", "text/markdown"]),
    ];
    Routes::tagged("sessions", rows)
}

/// One session as it appears on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SessionView {
    pub(super) id: SessionId,
    agent: AgentId,
    origin: SessionOrigin,
    /// The agents that answer, in this order.
    agents: Vec<AgentId>,
    mode: LaneOrder,
    title: Option<String>,
    status: SessionStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
    message_count: u64,
    token_count: u64,
    preview: String,
    root: SessionId,
    fork_turn: Option<TurnId>,
    last_run: Option<RunId>,
    last_run_status: Option<RunStatus>,
    #[serde(flatten)]
    marks: SessionMarks,
    /// In a list that was searched for a text: the matching message. Absent where only the title or
    /// the preview matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<FoundTurn>,
}

/// The message of a conversation that matches best.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FoundTurn {
    /// The session that holds the message: the listed one, or another fork of it.
    session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// The turn to scroll to.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// A part of the message in pieces; `hit` marks the pieces that match.
    snippet: Vec<SnippetPart>,
}

impl FoundTurn {
    fn of(hit: Hit) -> Option<Self> {
        let (session, run) = hit.session()?;
        let turn = hit.message.as_ref().and_then(|message| message.turn);
        let author = hit.message.map(|message| message.author);
        Some(Self { session, run, turn, author, snippet: hit.snippet })
    }
}

impl From<SessionMeta> for SessionView {
    fn from(meta: SessionMeta) -> Self {
        Self {
            id: meta.session_id,
            agent: meta.agent,
            origin: meta.origin,
            agents: meta.agents,
            mode: meta.mode,
            title: meta.title,
            status: meta.status,
            created_at: meta.created_at,
            updated_at: meta.updated_at,
            message_count: meta.message_count,
            token_count: meta.token_count,
            preview: meta.preview,
            root: meta.root,
            fork_turn: meta.fork_turn,
            last_run: meta.last_run,
            last_run_status: meta.last_run_status,
            marks: meta.marks,
            found: None,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    agent: Option<AgentId>,
    status: Option<SessionStatus>,
    origin: Option<SessionOrigin>,
    /// Text of the title or the newest messages, or of any message.
    q: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// Only pinned, or only unpinned, conversations.
    pinned: Option<bool>,
    /// Only conversations with this tag.
    tag: Option<String>,
    before: Option<SessionId>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionList {
    sessions: Vec<SessionView>,
    /// Give it as `before` to get the older ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<SessionId>,
    /// Why only titles and newest messages were searched, and not all messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Json<SessionList>, Problem> {
    let filter = SessionFilter {
        agent: query.agent,
        status: query.status,
        origin: query.origin,
        text: query.q,
        holding: Vec::new(),
        since: query.since,
        until: query.until,
        pinned: query.pinned,
        tag: query.tag,
        attached: None,
        before: query.before,
        limit: list_limit("limit", query.limit)?,
    };
    let ListPage { sessions, before, degraded } = list_page(&state, &caller, filter).await?;
    Ok(Json(SessionList { sessions, before, degraded }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TagList {
    tags: Vec<TagCount>,
}

pub(super) async fn tags(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<TagList>, Problem> {
    let tags = state.agent.sessions.tags(&caller.person).await?;
    Ok(Json(TagList { tags }))
}

pub(super) fn list_limit(name: &str, value: Option<u32>) -> Result<u32, Problem> {
    bounded(name, value, LIST_DEFAULT, LIST_MAX)
}

pub(super) fn turns_limit(name: &str, value: Option<usize>) -> Result<usize, Problem> {
    bounded(name, value, TURNS_DEFAULT, TURNS_MAX)
}

pub(super) struct ListPage {
    pub(super) sessions: Vec<SessionView>,
    /// The cursor of older ones, if there are any.
    pub(super) before: Option<SessionId>,
    /// Why the messages were not searched.
    pub(super) degraded: Option<String>,
}

pub(super) async fn list_page(
    state: &ApiState,
    caller: &AuthContext,
    mut filter: SessionFilter,
) -> Result<ListPage, Problem> {
    let wanted = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    // One entry more than asked for is read, to know whether there are older ones.
    filter.limit += 1;
    let (turns, degraded) = match filter.text.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(text) => match state.index.search_sessions(&caller.person, text).await {
            Ok(hits) => (hits.into_iter().filter_map(FoundTurn::of).collect(), None),
            // The list still works by titles, and reports what is missing.
            Err(error) => (Vec::new(), Some(error.to_string())),
        },
        None => (Vec::new(), None),
    };
    filter.holding = turns.iter().map(|found| found.session).collect();
    let mut sessions = state.agent.sessions.list(&caller.person, &filter).await?;
    let more = sessions.len() > wanted;
    sessions.truncate(wanted);
    let before = sessions.last().filter(|_| more).map(|meta| meta.session_id);
    let mut listed = Vec::with_capacity(sessions.len());
    for meta in sessions {
        let found = found_in(state, caller, &meta, &turns).await?;
        listed.push(SessionView { found, ..meta.into() });
    }
    Ok(ListPage { sessions: listed, before, degraded })
}

/// Finds the matching message in a listed session or in another fork of it.
async fn found_in(
    state: &ApiState,
    caller: &AuthContext,
    meta: &SessionMeta,
    turns: &[FoundTurn],
) -> Result<Option<FoundTurn>, Problem> {
    let of = |session: SessionId| turns.iter().find(|found| found.session == session).cloned();
    if turns.is_empty() {
        return Ok(None);
    }
    if let Some(found) = of(meta.session_id) {
        return Ok(Some(found));
    }
    let family = state.agent.sessions.family(&caller.person, meta).await?;
    Ok(family.iter().find_map(|fork| of(fork.session_id)))
}

/// A session with its family, so that a client can switch within it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionWithSiblings {
    #[serde(flatten)]
    session: SessionView,
    /// The first session of the family and all its forks, this one included, in the order of their
    /// creation.
    siblings: Vec<Sibling>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Sibling {
    id: SessionId,
    title: Option<String>,
    status: SessionStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
    message_count: u64,
    preview: String,
    /// The turn at which it leaves the session it was forked from; absent for the first.
    fork_turn: Option<TurnId>,
}

impl From<SessionMeta> for Sibling {
    fn from(meta: SessionMeta) -> Self {
        Self {
            id: meta.session_id,
            title: meta.title,
            status: meta.status,
            created_at: meta.created_at,
            updated_at: meta.updated_at,
            message_count: meta.message_count,
            preview: meta.preview,
            fork_turn: meta.fork_turn,
        }
    }
}

pub(super) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<SessionWithSiblings>, Problem> {
    let meta = state.agent.sessions.meta(&caller.person, session_id(&id)?).await?;
    let family = state.agent.sessions.family(&caller.person, &meta).await?;
    let siblings = family.into_iter().map(Sibling::from).collect();
    Ok(Json(SessionWithSiblings { session: meta.into(), siblings }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TurnsQuery {
    before: Option<u64>,
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TurnList {
    turns: Vec<TurnView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
}

pub(super) async fn turns(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<TurnsQuery>,
) -> Result<Json<TurnList>, Problem> {
    let limit = turns_limit("limit", query.limit)?;
    let before = query.before.map(Pos);
    let page = state.agent.sessions.turns(&caller.person, session_id(&id)?, before, limit).await;
    let page = page.map_err(|fault| match (before, fault.code) {
        (Some(_), ErrorCode::InvalidRequest) => Problem::unknown("before", fault.message),
        _ => fault.into(),
    })?;
    let older = page.has_older.then_some(page.start.0);
    let turns = page.turns.into_iter().map(|turn| TurnView::of(&state.agent, turn)).collect();
    Ok(Json(TurnList { turns, before: older }))
}

/// A page of turns that does not begin in the middle of a run.
pub(crate) struct WholeRuns {
    pub(super) turns: Vec<Turn>,
    start: Pos,
    has_older: bool,
}

impl WholeRuns {
    pub(super) fn older(&self) -> Option<u64> {
        self.has_older.then_some(self.start.0)
    }
}

pub(super) async fn whole_runs(
    state: &ApiState,
    caller: &AuthContext,
    session: SessionId,
    before: Option<u64>,
    limit: Option<usize>,
) -> Result<WholeRuns, Problem> {
    let limit = bounded("limit", limit, HISTORY_DEFAULT, HISTORY_DEFAULT)?;
    let before = before.map(Pos);
    let Page { turns, mut start, mut has_older, damage: _ } =
        state.agent.sessions.turns(&caller.person, session, before, limit).await?;
    let mut lead = Vec::new();
    let mut first_begins_run = turns.first().is_none_or(begins_run);
    while has_older && !first_begins_run && lead.len() < LONGEST_RUN {
        let page = state.agent.sessions.turns(&caller.person, session, Some(start), 1).await?;
        (start, has_older) = (page.start, page.has_older);
        first_begins_run = page.turns.first().is_some_and(begins_run);
        lead.extend(page.turns);
    }
    lead.reverse();
    lead.extend(turns);
    Ok(WholeRuns { turns: lead, start, has_older })
}

fn begins_run(turn: &Turn) -> bool {
    matches!(turn.body, TurnBody::RunStart(_))
}

fn session_id(text: &str) -> Result<SessionId, Problem> {
    text.parse().map_err(|error| Problem::field("id", error))
}

fn bounded<T: Copy + PartialOrd + std::fmt::Display + From<u8>>(
    name: &str,
    value: Option<T>,
    default: T,
    max: T,
) -> Result<T, Problem> {
    let value = value.unwrap_or(default);
    if value < T::from(1) || value > max {
        return Err(Problem::field(name, format!("it must be from 1 to {max}")));
    }
    Ok(value)
}
