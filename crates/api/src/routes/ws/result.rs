//! The server's answers to requests: `X.result` frames. Their data are the views of the HTTP
//! routes, in camelCase.

use onyx_types::{ErrorCode, RunId, SessionId, TurnId};
use serde::{Deserialize, Serialize};

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
    /// The draft as it is now, if the decision was not applied.
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

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SendResult {
    pub(super) session_id: SessionId,
    pub(super) run_id: RunId,
    /// The message waits for the run in progress; this will be its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queued_turn_id: Option<TurnId>,
}

#[derive(Serialize)]
pub(super) struct LiveSessions {
    pub(super) sessions: Vec<LiveSession>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<SessionId>,
    /// Why only titles and newest messages were searched, and not all messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) degraded: Option<String>,
}

#[derive(Serialize)]
pub(super) struct LiveSession {
    #[serde(flatten)]
    pub(super) session: SessionView,
    /// The run in progress on the session.
    pub(super) run_id: Option<RunId>,
}

#[derive(Serialize)]
pub(super) struct SessionPage {
    pub(super) session: LiveSession,
    /// The first session of the family and all its forks, this one included, in the order of their
    /// creation.
    pub(super) siblings: Vec<Sibling>,
    pub(super) turns: Vec<TurnView>,
    /// Messages that no run has read yet.
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
