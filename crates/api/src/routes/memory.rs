//! `/v1/memory/*` and `/api/search`: a person's own memory and knowledge.

mod files;
mod graph;
mod keeping;

use axum::extract::State;
use onyx_knowledge::{Hit, IndexStatus, Search, SearchResults, SnippetPart};
use onyx_storage::{Channels, SourceKind, Spaces};
use onyx_types::{
    AgentId, Fault, MatchType, Origin, RunId, Scope, ScopeSet, SessionId, Timestamp, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Json;
use crate::wire::JsonBody;
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/v1/memory/search", Read, search)
            .summary("Search memory and notes, best first")
            .query::<MemoryQuery>()
            .answers_json::<SearchResultsView>(),
        Route::post("/v1/memory", Write, write)
            .summary("Add to a daily log or MEMORY.md")
            .body::<NewMemory>()
            .answers_json::<Remembered>(),
        Route::get("/v1/memory/status", Read, status)
            .summary("Get the state of the index")
            .answers_json::<IndexStatus>(),
    ];
    let everything = Route::get("/api/search", Read, search_all)
        .summary("Search all that a person has, by kind")
        .query::<KnowledgeQuery>()
        .answers_json::<SearchResultsView>();
    Routes::tagged("memory", rows)
        .merge(files::routes())
        .merge(graph::routes())
        .merge(keeping::routes())
        .merge(Routes::tagged("search", [everything]))
}

#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct MemoryQuery {
    #[schemars(regex(pattern = r"\S"))]
    pub(super) q: String,
    /// Only what this agent remembers.
    pub(super) agent: Option<AgentId>,
    /// `person`, `shared`, `agent:<id>`, `space:<id>`, `channel:<id>` or `thread:<id>`.
    #[schemars(regex(
        pattern = r"^(person|shared|(agent|space|channel|thread):[a-z0-9][a-z0-9_-]{0,63})$"
    ))]
    pub(super) scope: Option<String>,
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct KnowledgeQuery {
    #[schemars(regex(pattern = r"\S"))]
    q: String,
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9_-]{0,63}$"))]
    space: Option<String>,
    /// Some of page, task, ref, project, note, source, memory, daily, session, shared, separated by
    /// commas.
    #[schemars(regex(
        pattern = r"^ *(page|task|ref|project|note|source|memory|daily|session|shared|)( *, *(page|task|ref|project|note|source|memory|daily|session|shared|))* *$"
    ))]
    types: Option<String>,
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

/// What was found, best first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchResultsView {
    pub(super) results: Vec<SearchHitView>,
    /// The search used words only, not meaning; `reason` says why.
    pub(super) degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Not everything is indexed yet: a later search may find more.
    pub(super) partial: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchHitView {
    /// The kind: a memory, a note, a page, …
    pub(super) source: SourceKind,
    pub(super) path: String,
    pub(super) title: String,
    pub(super) heading: String,
    pub(super) scope: Scope,
    pub(super) origin: Origin,
    pub(super) start_line: u32,
    pub(super) end_line: u32,
    pub(super) text: String,
    /// A part of the text in pieces; `hit` marks the pieces that match.
    pub(super) snippet: Vec<SnippetPart>,
    pub(super) score: f32,
    pub(super) match_type: MatchType,
    pub(super) modified: Timestamp,
    /// For a message: its conversation, run and turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<TurnId>,
    /// The author of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) author: Option<String>,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<Timestamp>,
}

impl From<Hit> for SearchHitView {
    fn from(hit: Hit) -> Self {
        let (session, run) = hit.session().map_or((None, None), |(of, run)| (Some(of), run));
        let message = hit.message.as_ref();
        Self {
            session,
            run,
            turn: message.and_then(|message| message.turn),
            author: message.map(|message| message.author.clone()),
            time: message.and_then(|message| message.at),
            path: hit.path(),
            source: hit.kind,
            title: hit.title,
            heading: hit.heading,
            scope: hit.scope,
            origin: hit.origin,
            start_line: hit.start_line,
            end_line: hit.end_line,
            text: hit.text,
            snippet: hit.snippet,
            score: hit.score,
            match_type: hit.match_type,
            modified: hit.modified,
        }
    }
}

impl From<SearchResults> for SearchResultsView {
    fn from(answer: SearchResults) -> Self {
        Self {
            results: answer.hits.into_iter().map(SearchHitView::from).collect(),
            degraded: answer.degraded.is_some(),
            reason: answer.degraded,
            partial: answer.partial,
        }
    }
}

pub(super) async fn search(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<MemoryQuery>,
) -> Result<Json<SearchResultsView>, Problem> {
    Ok(Json(find(&state, &caller, query).await?))
}

/// Searches what the person's agents remember, the person's notes, and their conversations.
pub(super) async fn find(
    state: &ApiState,
    caller: &AuthContext,
    query: MemoryQuery,
) -> Result<SearchResultsView, Problem> {
    let all = || SourceKind::ALL.into_iter();
    let (wanted, kinds): (_, Vec<SourceKind>) = match (query.agent, query.scope.as_deref()) {
        (Some(_), Some(_)) => {
            return Err(Problem::field("scope", "give either `scope` or `agent`"));
        }
        (Some(agent), None) => {
            let kinds = vec![SourceKind::Memory, SourceKind::Daily];
            (Some(("agent", Scope::Agent(agent))), kinds)
        }
        (None, scope) => {
            let scope = scope.map(parse_scope).transpose()?.map(|scope| ("scope", scope));
            (scope, all().collect())
        }
    };
    let scopes = scopes_of(state, caller, wanted).await?;
    ask(state, query.q, scopes, kinds, query.limit).await
}

pub(super) async fn search_all(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<KnowledgeQuery>,
) -> Result<Json<SearchResultsView>, Problem> {
    let space = query.space.as_deref().map(|id| id.parse().map(Scope::Space));
    let space = space.transpose().map_err(|error| Problem::field("space", error))?;
    let kinds = query.types.as_deref().unwrap_or_default();
    let kinds = kinds.split(',').map(str::trim).filter(|name| !name.is_empty());
    let kinds = kinds.map(parse_kind).collect::<Result<Vec<_>, _>>()?;
    let scopes = scopes_of(&state, &caller, space.map(|space| ("space", space))).await?;
    Ok(Json(ask(&state, query.q, scopes, kinds, query.limit).await?))
}

async fn ask(
    state: &ApiState,
    text: String,
    scopes: ScopeSet,
    kinds: Vec<SourceKind>,
    limit: Option<u32>,
) -> Result<SearchResultsView, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::field("q", "it must not be empty"));
    }
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(Problem::field("limit", format!("it must be from 1 to {LIMIT_MAX}")));
    }
    let search = Search { text, scopes, kinds, limit: limit as usize };
    Ok(state.index.search(&search).await.map_err(Fault::from)?.into())
}

/// All scopes of the caller, or the single scope that a field names.
async fn scopes_of(
    state: &ApiState,
    caller: &AuthContext,
    wanted: Option<(&'static str, Scope)>,
) -> Result<ScopeSet, Problem> {
    let all = async || state.index.all_scopes(&caller.person).await.map_err(Fault::from);
    let Some((field, scope)) = wanted else { return Ok(all().await?) };
    // A deleted place whose content is still indexed can be searched.
    if !is_there(state, caller, &scope).await? && !all().await?.allows(&scope) {
        return Err(Problem::unknown(field, format!("there is no {}", named(&scope))));
    }
    Ok(ScopeSet::new(caller.person.clone(), vec![scope]))
}

async fn is_there(state: &ApiState, caller: &AuthContext, scope: &Scope) -> Result<bool, Fault> {
    let (files, person) = (&*state.store.files, &caller.person);
    Ok(match scope {
        Scope::Person | Scope::Shared => true,
        Scope::Agent(id) => {
            let roster = state.agent.roster();
            roster.agents().chain(roster.disabled()).any(|agent| agent.id == *id)
        }
        Scope::Space(id) => Spaces::new(files, person)?.get(id).await?.is_some(),
        Scope::Channel(id) => Channels::new(files, person)?.get(id).await?.is_some(),
        Scope::Thread(id) => Channels::new(files, person)?.with_thread(id).await?.is_some(),
    })
}

fn named(scope: &Scope) -> String {
    match scope {
        Scope::Person => "person".to_owned(),
        Scope::Shared => "shared".to_owned(),
        Scope::Agent(id) => format!("agent {id}"),
        Scope::Space(id) => format!("space {id}"),
        Scope::Channel(id) => format!("channel {id}"),
        Scope::Thread(id) => format!("thread {id}"),
    }
}

fn parse_scope(text: &str) -> Result<Scope, Problem> {
    let wrong = |why: &dyn std::fmt::Display| Problem::field("scope", why);
    let (kind, id) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "person" if id.is_empty() => Ok(Scope::Person),
        "shared" if id.is_empty() => Ok(Scope::Shared),
        "agent" => id.parse().map(Scope::Agent).map_err(|error| wrong(&error)),
        "space" => id.parse().map(Scope::Space).map_err(|error| wrong(&error)),
        "channel" => id.parse().map(Scope::Channel).map_err(|error| wrong(&error)),
        "thread" => id.parse().map(Scope::Thread).map_err(|error| wrong(&error)),
        _ => Err(wrong(&"use person, shared, or agent, space, channel or thread with `:<id>`")),
    }
}

fn parse_kind(name: &str) -> Result<SourceKind, Problem> {
    SourceKind::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(|| {
        let known: Vec<&str> = SourceKind::ALL.into_iter().map(SourceKind::as_str).collect();
        Problem::field("types", format!("{name:?} is not one of {}", known.join(", ")))
    })
}

pub(super) async fn status(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<IndexStatus>, Problem> {
    Ok(Json(state.index.status(&caller.person).await.map_err(Fault::from)?))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("not" = {"anyOf": [
    {"properties": {"target": {"const": "daily"}}, "required": ["heading"]},
    {"properties": {"target": {"const": "memory"}, "heading": {"enum": [null]}}},
]}))]
pub(crate) struct NewMemory {
    /// None: the default agent.
    agent: Option<AgentId>,
    #[schemars(regex(pattern = r"\S"))]
    text: String,
    target: MemoryFile,
    /// The heading in MEMORY.md; required there.
    #[schemars(regex(pattern = r"\S"))]
    heading: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Target")]
enum MemoryFile {
    Daily,
    Memory,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Remembered {
    /// The file that was written.
    path: String,
}

pub(super) async fn write(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(new): JsonBody<NewMemory>,
) -> Result<Json<Remembered>, Problem> {
    let roster = state.agent.roster();
    let agent = match new.agent {
        Some(agent) if roster.get(&agent).is_none() => {
            return Err(Problem::unknown("agent", format!("there is no agent {agent}")));
        }
        Some(agent) => agent,
        None => roster.default_agent().id.clone(),
    };
    if new.text.trim().is_empty() {
        return Err(Problem::field("text", "it is empty"));
    }
    let own = files::own(&state, &caller);
    let path = match (new.target, new.heading.as_deref().map(str::trim)) {
        (MemoryFile::Daily, None) => own.note(&agent, &new.text).await?,
        (MemoryFile::Daily, Some(_)) => {
            return Err(Problem::field("heading", "a daily log has no headings"));
        }
        (MemoryFile::Memory, Some(heading)) if !heading.is_empty() => {
            own.remember(&agent, heading, &new.text).await?
        }
        (MemoryFile::Memory, _) => return Err(Problem::field("heading", "missing")),
    };
    Ok(Json(Remembered { path }))
}
