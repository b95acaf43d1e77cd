//! What the server answers to requests: `X.result` frames, camelCase.

use onyx_agent::Roster;
use onyx_storage::SessionMeta;
use onyx_storage::SessionStatus;
use onyx_types::{AgentId, DraftId, ErrorCode, LaneOrder};
use onyx_types::{RunId, RunStatus, SessionId, SessionOrigin, Tier, Timestamp, Turn, TurnId};
use serde::Serialize;
use serde_json::{Map, Value};

use super::command::RequestId;
use crate::logs::LogLine;
use crate::routes::memory;
use crate::routes::pending_changes::{PendingChange, PendingChanges};
use crate::{Dependency, Problem};

#[derive(Serialize)]
struct Answer<'a, T> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    #[serde(flatten)]
    outcome: Outcome<'a, T>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome<'a, T> {
    Data(&'a T),
    Error(ErrorView<'a>),
}

#[derive(Serialize)]
struct ErrorView<'a> {
    code: ErrorCode,
    message: &'a str,
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// As it is now, where a decision on it did not happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<Value>,
}

pub(super) fn result<T: Serialize>(kind: &str, id: Option<&RequestId>, data: &T) -> String {
    frame(&Answer { kind: format!("{kind}.result"), id, outcome: Outcome::Data(data) })
}

/// `kind` is that of the request; none when the frame could not even be read.
pub(super) fn failure(kind: Option<&str>, id: Option<&RequestId>, problem: &Problem) -> String {
    let fault = problem.fault();
    let error = ErrorView {
        code: fault.code,
        message: &fault.message,
        hint: fault.hint(),
        field: problem.path(),
        draft: problem.member("draft").cloned().map(camel_members),
    };
    let kind = kind.map_or_else(|| "error".to_owned(), |kind| format!("{kind}.result"));
    frame(&Answer::<()> { kind, id, outcome: Outcome::Error(error) })
}

fn frame(answer: &impl Serialize) -> String {
    // Serialising plain data into memory cannot fail: every key is a string.
    serde_json::to_string(answer).unwrap_or_default()
}

#[derive(Serialize)]
pub(super) struct Empty {}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendResult {
    pub(super) session_id: SessionId,
    pub(super) run_id: RunId,
    /// It waits for the run under way; this will be its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queued_turn_id: Option<TurnId>,
}

#[derive(Serialize)]
pub(super) struct Stopped {
    pub(super) stopped: bool,
}

#[derive(Serialize)]
pub(super) struct SessionList {
    pub(super) sessions: Vec<SessionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<SessionId>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionView {
    id: SessionId,
    agent: AgentId,
    origin: SessionOrigin,
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
    /// The run at work on it now.
    run_id: Option<RunId>,
}

impl SessionView {
    pub(super) fn new(meta: SessionMeta, run_id: Option<RunId>) -> Self {
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
            run_id,
        }
    }
}

#[derive(Serialize)]
pub(super) struct SessionPage {
    pub(super) session: SessionView,
    /// The first of its family and all forks, itself among them, in the order they were made.
    pub(super) siblings: Vec<Sibling>,
    pub(super) turns: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sibling {
    id: SessionId,
    fork_turn: Option<TurnId>,
    created_at: Timestamp,
}

impl From<SessionMeta> for Sibling {
    fn from(meta: SessionMeta) -> Self {
        Self { id: meta.session_id, fork_turn: meta.fork_turn, created_at: meta.created_at }
    }
}

#[derive(Serialize)]
pub(super) struct LogLines<'a> {
    pub(super) lines: Vec<&'a LogLine>,
}

/// A line of the log, for the `logs.tail` of this id.
pub(super) fn log_line(id: Option<&RequestId>, line: &LogLine) -> String {
    frame(&Answer { kind: "logs.line".to_owned(), id, outcome: Outcome::Data(line) })
}

#[derive(Serialize)]
pub(super) struct Status {
    pub(super) version: &'static str,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) agents: Vec<AgentView>,
    pub(super) runs: Vec<LiveRun>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LiveRun {
    pub(super) session_id: SessionId,
    pub(super) run_id: RunId,
}

#[derive(Serialize)]
pub(super) struct AgentView {
    id: AgentId,
    name: String,
    model: Option<String>,
    fallbacks: Vec<String>,
    tier: Tier,
    default: bool,
}

pub(super) fn agents(roster: &Roster) -> Vec<AgentView> {
    let default = &roster.default_agent().id;
    let view = |agent: &onyx_agent::AgentProfile| AgentView {
        id: agent.id.clone(),
        name: agent.name.clone(),
        model: agent.model.primary.clone(),
        fallbacks: agent.model.fallbacks.clone(),
        tier: agent.policy.tier(),
        default: agent.id == *default,
    };
    roster.agents().map(view).collect()
}

/// A turn as this wire shows it: the names of the log in camelCase, what people, models and tools
/// wrote untouched.
pub(super) fn turn(turn: &Turn) -> Value {
    const OURS: [&str; 4] = ["usage", "view", "replaces", "error"];
    let Ok(Value::Object(fields)) = serde_json::to_value(turn) else { return Value::Null };
    let renamed = fields.into_iter().map(|(name, value)| match value {
        Value::Object(inner) if OURS.contains(&name.as_str()) => (name, camel_keys(inner)),
        value => (camel(&name), value),
    });
    Value::Object(renamed.collect())
}

#[derive(Serialize)]
pub(super) struct DraftPage {
    drafts: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<DraftId>,
}

pub(super) fn drafts(page: PendingChanges) -> DraftPage {
    let drafts = page.drafts.into_iter().map(draft).collect();
    DraftPage { drafts, before: page.before }
}

/// As over HTTP, in camelCase.
pub(super) fn draft(draft: PendingChange) -> Value {
    serde_json::to_value(draft).map(camel_members).unwrap_or_default()
}

fn camel_members(value: Value) -> Value {
    match value {
        Value::Object(fields) => camel_keys(fields),
        other => other,
    }
}

fn camel_keys(fields: Map<String, Value>) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (camel(&name), value)).collect())
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut whole, word| {
        let mut letters = word.chars();
        whole.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        whole.push_str(letters.as_str());
        whole
    })
}

/// What a search found.
#[derive(Serialize)]
pub(super) struct Found<'a> {
    results: Vec<FoundView<'a>>,
    degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    partial: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundView<'a> {
    source: onyx_storage::SourceKind,
    path: &'a str,
    title: &'a str,
    heading: &'a str,
    scope: &'a onyx_types::Scope,
    origin: onyx_types::Origin,
    start_line: u32,
    end_line: u32,
    text: &'a str,
    snippet: &'a [onyx_knowledge::SnippetPart],
    score: f32,
    match_type: onyx_types::MatchType,
    modified: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<onyx_types::SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<onyx_types::RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<onyx_types::TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
}

impl<'a> From<&'a memory::Found> for Found<'a> {
    fn from(found: &'a memory::Found) -> Self {
        let view = |result: &'a memory::FoundView| FoundView {
            source: result.source,
            path: &result.path,
            title: &result.title,
            heading: &result.heading,
            scope: &result.scope,
            origin: result.origin,
            start_line: result.start_line,
            end_line: result.end_line,
            text: &result.text,
            snippet: &result.snippet,
            score: result.score,
            match_type: result.match_type,
            modified: result.modified,
            session: result.session,
            run: result.run,
            turn: result.turn,
            author: result.author.as_deref(),
            time: result.time,
        };
        Self {
            results: found.results.iter().map(view).collect(),
            degraded: found.degraded,
            reason: found.reason.as_deref(),
            partial: found.partial,
        }
    }
}
