//! `/api/agent/action-runs`: runs of actions and their results, from all devices.

use axum::extract::State;
use onyx_agent::{PastRun, PastRunRecord};
use onyx_types::{RunId, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Json;
use crate::{ApiState, AuthContext, Problem, QueryOf};

const USUAL: usize = 20;
const MOST: usize = 100;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ActionRunsQuery {
    /// Only runs before this one.
    before: Option<RunId>,
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionRuns {
    runs: Vec<PastRunView>,
    /// Give it as `before` to get the older ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<RunId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ActionRunView")]
struct PastRunView {
    run_id: RunId,
    /// The path among the person's files.
    page: String,
    /// Absent where the page cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordView>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ActionRunRecord")]
struct RecordView {
    action_id: String,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    status: String,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// The page's text, without its front matter.
    text: String,
}

impl From<PastRun> for PastRunView {
    fn from(PastRun { run, page, record }: PastRun) -> Self {
        Self { run_id: run, page, record: record.map(RecordView::from) }
    }
}

impl From<PastRunRecord> for RecordView {
    fn from(record: PastRunRecord) -> Self {
        Self {
            action_id: record.action,
            label: record.label,
            session_id: record.session,
            status: record.status,
            model: record.model,
            started_at: record.started,
            ended_at: record.ended,
            cost: record.cost,
            text: record.text,
        }
    }
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<ActionRunsQuery>,
) -> Result<Json<ActionRuns>, Problem> {
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::field("limit", format!("it must be from 1 to {MOST}")));
    }
    // One entry more than asked for is read, to know whether there are older ones.
    let mut runs = state.agent.actions.past_runs(&caller.person, query.before, limit + 1).await?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    let before = runs.last().filter(|_| more).map(|run| run.run);
    Ok(Json(ActionRuns { runs: runs.into_iter().map(PastRunView::from).collect(), before }))
}
