//! `/api/pending-changes`: drafts, and a person's decisions on them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use onyx_agent::{ApprovalOptions, ApprovalScope, NotApproved, NoticeKind};
use onyx_storage::{Draft, DraftFilter};
use onyx_types::{
    AgentId, ApproverKind, AsksFor, DraftId, DraftState, Hash, PersonId, Preview, RunId, SessionId,
    Taint, Timestamp, ToolEffect, ToolUseId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;

use crate::routing::PathValue;
use crate::wire::{FieldNames, Json, OptionalBody};
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

/// Proxies close a connection that is silent for about a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The longest reason that goes into the log and to the model.
const REASON_BYTES: usize = 16 * 1024;

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/pending-changes", Read, list)
            .summary("List drafts")
            .query::<PendingChangesQuery>()
            .answers_json::<PendingChanges>(),
        Route::get("/api/pending-changes/events", Read, events)
            .summary("Stream changes of drafts")
            .answers_events::<PendingChange>(),
        Route::get("/api/pending-changes/{id}", Read, show)
            .summary("Get a draft")
            .path_value("id", PathValue::Uuid)
            .answers_json::<PendingChange>(),
        Route::post("/api/pending-changes/{id}/approve", Write, approve)
            .summary("Approve and apply a draft")
            .path_value("id", PathValue::Uuid)
            .body::<DraftDecision>()
            .answers_json::<PendingChange>(),
        Route::post("/api/pending-changes/{id}/reject", Write, reject)
            .summary("Reject a draft")
            .path_value("id", PathValue::Uuid)
            .body::<DraftDecision>()
            .answers_json::<PendingChange>(),
    ];
    Routes::tagged("pending-changes", rows)
}

/// A draft as clients see it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PendingChange {
    id: DraftId,
    state: DraftState,
    tool: String,
    /// The strictest of its effects.
    effect: ToolEffect,
    summary: String,
    preview: Preview,
    asks_for: AsksFor,
    targets: Vec<String>,
    /// Whether its targets include files that steer agents.
    instruction: bool,
    /// The run had read content from outside before it proposed this.
    tainted: bool,
    /// Only the owner may approve it, even if it is a member's.
    needs_owner: bool,
    #[serde(flatten)]
    came_from: DraftSource,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// Identifies exactly what will happen: send it back to approve what was shown.
    #[schemars(with = "String")]
    plan_hash: Hash,
    #[serde(flatten)]
    outcome: DraftOutcome,
}

/// The call that a draft came from.
#[derive(Serialize, JsonSchema)]
struct DraftSource {
    session_id: SessionId,
    run_id: RunId,
    tool_use_id: ToolUseId,
    agent: AgentId,
}

/// The result of a draft, as far as there is one.
#[derive(Serialize, JsonSchema)]
struct DraftOutcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<PersonId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The output of the approved call.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<DraftId>,
}

impl PendingChange {
    pub(super) fn of(state: &ApiState, draft: Draft) -> Self {
        let effect = draft.plan.strictest();
        let is_owners = state.auth.identity().owner().is_ok_and(|owner| owner == draft.key.person);
        let kind = if is_owners { ApproverKind::Owner } else { ApproverKind::Member };
        let needs_owner = state.agent.approvals.needs_owner(kind, &draft);
        let asks_for = draft.plan.asks_for();
        let plan = draft.plan;
        Self {
            id: draft.id,
            state: draft.state,
            tool: plan.tool.to_string(),
            effect,
            summary: plan.summary,
            preview: plan.preview.with_diff_lines(),
            asks_for,
            instruction: plan.targets.iter().any(|target| target.instruction),
            targets: plan.targets.into_iter().map(|own| own.target.to_string()).collect(),
            tainted: draft.taint == Taint::Tainted,
            needs_owner,
            came_from: DraftSource {
                session_id: draft.key.session,
                run_id: draft.run,
                tool_use_id: draft.call,
                agent: draft.agent,
            },
            created_at: draft.created_at,
            expires_at: draft.expires_at,
            plan_hash: draft.hash,
            outcome: DraftOutcome {
                decided_at: draft.decided.as_ref().map(|decided| decided.at),
                decided_by: draft.decided.map(|decided| decided.by),
                reason: draft.reason,
                output: draft.output.map(|output| output.text),
                superseded_by: draft.superseded_by,
            },
        }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct PendingChangesQuery {
    pub(super) state: Option<DraftState>,
    #[serde(alias = "session_id", alias = "sessionId")]
    pub(super) session: Option<SessionId>,
    pub(super) before: Option<DraftId>,
    #[schemars(range(min = 1, max = 200))]
    pub(super) limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PendingChanges {
    pub(super) drafts: Vec<PendingChange>,
    /// Give it as `before` to get the older ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<DraftId>,
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<PendingChangesQuery>,
) -> Result<Json<PendingChanges>, Problem> {
    Ok(Json(page(&state, &caller, &query, "limit").await?))
}

pub(super) async fn page(
    state: &ApiState,
    caller: &AuthContext,
    query: &PendingChangesQuery,
    limit_name: &str,
) -> Result<PendingChanges, Problem> {
    let limit = super::sessions::list_limit(limit_name, query.limit)?;
    let filter = DraftFilter {
        state: query.state,
        session: query.session,
        before: query.before,
        // One entry more than asked for is read, to know whether there are older ones.
        limit: limit + 1,
    };
    let mut drafts = state.agent.approvals.list(&caller.person, &filter).await?;
    let more = drafts.len() > limit as usize;
    drafts.truncate(limit as usize);
    let before = drafts.last().filter(|_| more).map(|draft| draft.id);
    let drafts = drafts.into_iter().map(|draft| PendingChange::of(state, draft)).collect();
    Ok(PendingChanges { drafts, before })
}

pub(super) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<PendingChange>, Problem> {
    let draft = state.agent.approvals.get(&caller.person, draft_id(&id)?).await?;
    Ok(Json(PendingChange::of(&state, draft)))
}

/// A person's decision with its options.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct DraftDecision {
    pub(super) reason: Option<String>,
    pub(super) scope: Option<DecisionScope>,
    /// The `plan_hash` that was shown; required for a draft that is `stale`.
    #[serde(alias = "planHash")]
    #[schemars(regex(pattern = r"^[0-9A-Fa-f]{64}$"))]
    pub(super) plan_hash: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Scope")]
pub(super) enum DecisionScope {
    /// This call alone.
    #[default]
    Once,
    /// The same tool may reach the same host for the rest of the run.
    Run,
}

impl DraftDecision {
    pub(super) fn approval(&self) -> Result<ApprovalOptions, Problem> {
        let seen = match self.plan_hash.as_deref() {
            None => None,
            Some(text) => Some(
                Hash::from_hex(text)
                    .ok_or_else(|| Problem::field("plan_hash", "expected 64 hex digits"))?,
            ),
        };
        let scope = match self.scope.unwrap_or_default() {
            DecisionScope::Once => ApprovalScope::Once,
            DecisionScope::Run => ApprovalScope::Run,
        };
        Ok(ApprovalOptions { reason: self.reason()?, seen, scope })
    }

    pub(super) fn reason(&self) -> Result<Option<String>, Problem> {
        match &self.reason {
            Some(reason) if reason.len() > REASON_BYTES => {
                Err(Problem::field("reason", format!("it may have at most {REASON_BYTES} bytes")))
            }
            Some(reason) if reason.trim().is_empty() => Ok(None),
            reason => Ok(reason.clone()),
        }
    }
}

pub(super) async fn approve(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    OptionalBody(decision): OptionalBody<DraftDecision>,
) -> Result<Json<PendingChange>, Problem> {
    let (id, approval) = (draft_id(&id)?, decision.approval()?);
    let approved = state.agent.approvals.approve(&caller.approver()?, id, approval).await;
    let approved = approved.map_err(|not| refused(&state, not))?;
    Ok(Json(PendingChange::of(&state, approved)))
}

pub(super) async fn reject(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    OptionalBody(decision): OptionalBody<DraftDecision>,
) -> Result<Json<PendingChange>, Problem> {
    let (id, reason) = (draft_id(&id)?, decision.reason()?);
    let rejected = state.agent.approvals.reject(&caller.person, id, reason).await;
    let rejected = rejected.map_err(|not| refused(&state, not))?;
    Ok(Json(PendingChange::of(&state, rejected)))
}

/// The refusal with the draft as it is now, and its preview if that is new.
pub(super) fn refused(state: &ApiState, not: NotApproved) -> Problem {
    let problem = Problem::from(not.fault);
    let draft = not.draft.map(|draft| PendingChange::of(state, *draft));
    match draft.map(serde_json::to_value) {
        Some(Ok(value)) => problem.with("preview", value["preview"].clone()).with("draft", value),
        Some(Err(_)) | None => problem,
    }
}

/// Streams every draft of the person that is new or has changed. `missed` tells the client to
/// reload the list.
pub(super) async fn events(
    State(state): State<ApiState>,
    caller: AuthContext,
    names: FieldNames,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let notices = state.agent.notices();
    let feed = unfold((notices, state, VecDeque::new()), move |(mut notices, state, mut due)| {
        let person = caller.person.clone();
        async move {
            loop {
                if let Some(frame) = due.pop_front() {
                    return Some((Ok(frame), (notices, state, due)));
                }
                match notices.recv().await {
                    Ok(notice) if notice.person == person => {
                        if let NoticeKind::Draft(id) = notice.kind {
                            due.push_back(frame(&state, &person, id, names).await);
                        }
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => due.push_back(missed()),
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    });
    Sse::new(feed).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

async fn frame(state: &ApiState, person: &PersonId, id: DraftId, names: FieldNames) -> Event {
    match state.agent.approvals.get(person, id).await {
        Ok(draft) => {
            let event = Event::default().event("draft").id(id.to_string());
            event.data(names.json_text(&PendingChange::of(state, draft)))
        }
        Err(fault) => {
            tracing::warn!(%id, %fault, "a draft could not be sent to its reader");
            missed()
        }
    }
}

fn missed() -> Event {
    Event::default().event("missed").data("{}")
}

pub(super) fn draft_id(text: &str) -> Result<DraftId, Problem> {
    text.parse().map_err(|error: onyx_types::IdError| Problem::field("id", error.to_string()))
}
