//! Jobs as they appear on the wire.

use onyx_agent::{
    Deliver, Job, JobChangeWaiting, JobFlaw, JobSpec, JobState, Work, describe, front_of,
};
use onyx_storage::{JobSlot, SlotDelivery, SlotState, SlotTrigger};
use onyx_tools::unified_diff;
use onyx_types::{
    AgentId, DiffLine, Fault, Hash, JobId, JobKind, RunId, SessionId, Timestamp, diff_lines,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ApiState, AuthContext};

/// A new job: its name and fields.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used: the fields are read one by one")]
pub(crate) struct JobBody {
    id: JobId,
    #[serde(flatten)]
    fields: JobChangeBody,
}

/// The front matter of a job, and its prompt. `null` removes a field.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it only says what kinds the fields are of: they are read one by one")]
pub(crate) struct JobChangeBody {
    /// Five or six fields, such as `0 8 * * MON-FRI`.
    cron: Option<String>,
    /// An interval such as `2h` or `2w`; with `at` as the first time.
    every: Option<String>,
    /// A time such as `2030-12-01T09:00`.
    at: Option<String>,
    /// An IANA name; the person's zone if absent.
    timezone: Option<String>,
    /// Runs are delayed by up to this long.
    jitter: Option<String>,
    /// `skip`, `once` or `all`: what happens with times that passed while no server ran.
    misfire: Option<String>,
    /// A run that is late by less than this counts as on time.
    grace: Option<String>,
    /// `skip`, `queue` or `replace`: what happens at a time while the job still runs.
    overlap: Option<String>,
    agent: Option<String>,
    model: Option<String>,
    /// `fresh` or `kept`.
    session: Option<String>,
    /// `session`, `notification`, `{webhook}`, `{email}`, `{connector}` or several of them.
    deliver: Option<Value>,
    /// A check before each run: a command (text or list), or `{url, status, contains}`.
    when: Option<Value>,
    /// A command (text or list) instead of a prompt.
    run: Option<Value>,
    max_cost: Option<f64>,
    enabled: Option<bool>,
    expires: Option<String>,
    prompt: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct JobViews {
    pub(super) jobs: Vec<JobView>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum KindView {
    File,
    Action,
    System,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StateView {
    Active,
    Paused,
    Disabled,
    /// The current content of its file has not been accepted.
    Waiting,
    Broken,
    Finished,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FlawView {
    field: &'static str,
    message: String,
    /// An example of a correct value.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<String>,
}

impl From<JobFlaw> for FlawView {
    fn from(flaw: JobFlaw) -> Self {
        Self { field: flaw.field, message: flaw.why, example: flaw.example }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct JobView {
    id: JobId,
    kind: KindView,
    state: StateView,
    /// Why it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The error in the job, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FlawView>,
    warnings: Vec<String>,
    /// Send it back to accept the job as it was shown, and as `If-Match`.
    #[schemars(with = "String")]
    hash: Hash,
    /// The changes since the accepted version, for a job that waits for acceptance.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The lines of `diff`, each with its kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diff_lines: Vec<DiffLine>,
    fields: Map<String, Value>,
    prompt: String,
    #[serde(flatten)]
    plan: PlanView,
    /// The result of the newest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<JobRunView>,
    /// The number of failures that the person has not looked at.
    troubles: u64,
    /// The conversation that its runs continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
}

/// When it runs and what it does.
#[derive(Default, Serialize, JsonSchema)]
struct PlanView {
    /// The schedule in plain words.
    words: String,
    timezone: String,
    /// The next five times.
    next: Vec<Timestamp>,
    /// The times of the next seven days, at most a hundred.
    week: Vec<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
    /// `prompt`, `command`, `action` or `system`.
    does: &'static str,
    deliver: Vec<String>,
}

fn plan_view(spec: &JobSpec, next: Vec<Timestamp>, week: Vec<Timestamp>) -> PlanView {
    let deliver = spec.deliver.iter().map(|way| match way {
        Deliver::Session => "session".to_owned(),
        Deliver::Notification => "notification".to_owned(),
        Deliver::Webhook(url) => format!("webhook {url}"),
        Deliver::Mail(to) => format!("email {to}"),
        Deliver::Peer(address) => format!("connector {address}"),
    });
    PlanView {
        words: describe(&spec.timing.schedule),
        timezone: spec.timing.schedule.zone.to_string(),
        next,
        week,
        agent: spec.agent.clone(),
        does: match &spec.work {
            Work::Prompt(_) => "prompt",
            Work::Command(_) => "command",
            Work::Action(_) => "action",
            Work::System(_) => "system",
        },
        deliver: deliver.collect(),
    }
}

const WEEK: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);
const MOST_IN_WEEK: usize = 100;

pub(super) async fn job_view(
    state: &ApiState,
    caller: &AuthContext,
    job: Job,
    troubles: u64,
) -> Result<JobView, Fault> {
    let last = state.agent.jobs.last(&caller.person, &job.id).await?;
    let week = job.times_within(state.agent.now(), WEEK, MOST_IN_WEEK);
    let Job { id, kind, text, hash, spec, warnings, state: now, row, next } = job;
    let diff = match &now {
        JobState::Waiting(JobChangeWaiting::New) => Some(unified_diff(id.as_str(), "", &text)),
        JobState::Waiting(JobChangeWaiting::Changed { before }) => {
            Some(unified_diff(id.as_str(), before, &text))
        }
        _ => None,
    };
    let (fields, prompt) = match kind {
        JobKind::File => front_of(&text).unwrap_or_default(),
        JobKind::Action | JobKind::System => Default::default(),
    };
    let (plan, error) = match spec {
        Ok(spec) => {
            let week = if next.is_empty() { Vec::new() } else { week };
            (plan_view(&spec, next, week), None)
        }
        Err(flaw) => (PlanView::default(), Some(flaw.into())),
    };
    let (state, reason) = match now {
        JobState::Active => (StateView::Active, None),
        JobState::Paused(why) => (StateView::Paused, Some(why)),
        JobState::Disabled => (StateView::Disabled, None),
        JobState::Waiting(_) => (StateView::Waiting, None),
        JobState::Broken => (StateView::Broken, None),
        JobState::Finished => (StateView::Finished, None),
    };
    Ok(JobView {
        id,
        kind: match kind {
            JobKind::File => KindView::File,
            JobKind::Action => KindView::Action,
            JobKind::System => KindView::System,
        },
        state,
        reason,
        error,
        warnings,
        hash,
        diff_lines: diff.as_deref().map(diff_lines).unwrap_or_default(),
        diff,
        fields,
        prompt,
        plan,
        last: last.map(JobRunView::from),
        troubles,
        session_id: row.and_then(|row| row.session),
    })
}

/// A preview of a job, or the error in it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobPreview {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FlawView>,
    #[serde(flatten)]
    plan: PlanView,
}

pub(super) fn preview(previewed: Result<(JobSpec, Vec<Timestamp>), JobFlaw>) -> JobPreview {
    match previewed {
        Ok((spec, next)) => JobPreview { error: None, plan: plan_view(&spec, next, Vec::new()) },
        Err(flaw) => JobPreview { error: Some(flaw.into()), plan: PlanView::default() },
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct JobRuns {
    pub(super) runs: Vec<JobRunView>,
    /// Give it as `before` to get the older ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Timestamp>,
}

/// One time of a job and its result, or several consecutive times that were left out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobRunView {
    scheduled_at: Timestamp,
    /// The last of the times that this entry covers.
    last_at: Timestamp,
    /// The number of times that this entry covers.
    count: u32,
    outcome: SlotState,
    trigger: SlotTrigger,
    run_id: Option<RunId>,
    session_id: Option<SessionId>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    cost: Option<f64>,
    text: String,
    delivery: Option<SlotDelivery>,
}

impl From<JobSlot> for JobRunView {
    fn from(slot: JobSlot) -> Self {
        Self {
            scheduled_at: slot.scheduled_at,
            last_at: slot.last,
            count: slot.count,
            outcome: slot.state,
            trigger: slot.trigger,
            run_id: slot.run,
            session_id: slot.session,
            started_at: slot.started_at,
            ended_at: slot.ended_at,
            cost: slot.cost,
            text: slot.detail,
            delivery: slot.delivery,
        }
    }
}
