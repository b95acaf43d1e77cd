//! What the server answers to requests: `X.result` frames. Their data are the views of the HTTP
//! routes, in camelCase.

use onyx_types::{ErrorCode, RunId, SessionId, TurnId};
use serde::Serialize;

use super::command::RequestId;
use crate::logs::LogLine;
use crate::routes::agents::AgentView;
use crate::routes::pending_changes::PendingChange;
use crate::routes::sessions::queued::QueuedMessage;
use crate::routes::sessions::{SessionView, Sibling, TurnView};
use crate::wire::encode::camel_json;
use crate::{Dependency, Problem};

#[derive(Serialize)]
struct ResultFrame<'a, T> {
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
    draft: Option<&'a PendingChange>,
}

pub(super) fn success<T: Serialize>(kind: &str, id: Option<&RequestId>, data: &T) -> String {
    camel_json(&ResultFrame { kind: format!("{kind}.result"), id, outcome: Outcome::Data(data) })
}

/// `kind` is that of the request; none when the frame could not even be read.
pub(super) fn failure(kind: Option<&str>, id: Option<&RequestId>, problem: &Problem) -> String {
    refusal(kind, id, problem, None)
}

/// A failure to decide on a draft, with the draft as it is now.
pub(super) fn refusal(
    kind: Option<&str>,
    id: Option<&RequestId>,
    problem: &Problem,
    draft: Option<&PendingChange>,
) -> String {
    let fault = problem.fault();
    let error = ErrorView {
        code: fault.code,
        message: &fault.message,
        hint: fault.hint(),
        field: problem.path(),
        draft,
    };
    let kind = kind.map_or_else(|| "error".to_owned(), |kind| format!("{kind}.result"));
    camel_json(&ResultFrame::<()> { kind, id, outcome: Outcome::Error(error) })
}

/// A line of the log, for the `logs.tail` of this id.
pub(super) fn log_line(id: Option<&RequestId>, line: &LogLine) -> String {
    camel_json(&ResultFrame { kind: "logs.line".to_owned(), id, outcome: Outcome::Data(line) })
}

#[derive(Serialize)]
pub(super) struct Empty {}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct SendResult {
    pub(super) session_id: SessionId,
    pub(super) run_id: RunId,
    /// It waits for the run under way; this will be its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queued_turn_id: Option<TurnId>,
}

#[derive(Serialize)]
pub(super) struct LiveSessions {
    pub(super) sessions: Vec<LiveSession>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<SessionId>,
    /// Why titles and newest words alone were looked at, and not what was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) degraded: Option<String>,
}

#[derive(Serialize)]
pub(super) struct LiveSession {
    #[serde(flatten)]
    pub(super) session: SessionView,
    /// The run at work on it now.
    pub(super) run_id: Option<RunId>,
}

#[derive(Serialize)]
pub(super) struct SessionPage {
    pub(super) session: LiveSession,
    /// The first of its family and all forks, itself among them, in the order they were made.
    pub(super) siblings: Vec<Sibling>,
    pub(super) turns: Vec<TurnView>,
    /// What was said and no run has read yet.
    pub(super) queued: Vec<QueuedMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Status {
    pub(super) version: &'static str,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) agents: Vec<AgentView>,
    pub(super) runs: Vec<LiveRun>,
}

#[derive(Serialize)]
pub(super) struct LiveRun {
    pub(super) session_id: SessionId,
    pub(super) run_id: RunId,
}
