//! `/v1/memory/keep`: an agent proposes what its memory should hold; the person decides.

use crate::wire::Json;
use axum::extract::State;
use onyx_types::{AgentId, DraftId, Event, RunId, RunStatus, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::JsonBody;
use crate::{Access, ApiState, AuthContext, Problem, Route, Routes};

pub(super) fn routes() -> Routes {
    let keep = Route::post("/v1/memory/keep", Access::Chat, keep)
        .summary("Have an agent propose, as drafts, what its memory should keep")
        .body::<KeepRequest>()
        .answers_json::<KeepingReport>();
    Routes::tagged("memory", [keep])
}

#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "Keep")]
pub(crate) struct KeepRequest {
    /// None: the default agent.
    agent: Option<AgentId>,
}

#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct KeepingReport {
    /// The drafts that wait for a decision.
    drafts: Vec<DraftId>,
    /// Absent where there were no daily logs to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<RunStatus>,
}

async fn keep(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(keep): JsonBody<KeepRequest>,
) -> Result<Json<KeepingReport>, Problem> {
    let roster = state.agent.roster();
    let agent = match keep.agent {
        Some(agent) if roster.get(&agent).is_none() => {
            return Err(Problem::unknown("agent", format!("there is no agent {agent}")));
        }
        Some(agent) => agent,
        None => roster.default_agent().id.clone(),
    };
    let request = state.agent.memory_keeping(caller.person.clone(), agent).await?;
    let Some(request) = request else { return Ok(Json(KeepingReport::default())) };
    // If the caller does not wait, the run continues and its drafts appear in the Inbox.
    let mut run = state.agent.runs.start(request).await?;
    let (session_id, run_id) = (Some(run.session_id), Some(run.run_id));
    let mut report = KeepingReport { session_id, run_id, ..KeepingReport::default() };
    while let Some(envelope) = run.events.next().await {
        match &envelope.event {
            Event::Draft { draft_id, .. } => report.drafts.push(*draft_id),
            Event::Done { status, .. } => report.status = Some(*status),
            _ => {}
        }
    }
    Ok(Json(report))
}
