//! `/api/jobs`: work that runs at certain times.

mod view;

use crate::wire::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use onyx_agent::JobEdit;
use onyx_storage::Expect;
use onyx_types::{ErrorCode, Fault, Hash, JobId, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::routing::PathValue;
use crate::wire::expected;
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};
use view::{JobBody, JobChangeBody, JobPreview, JobRunView, JobRuns, JobView, JobViews};

const ID: PathValue = PathValue::Pattern("^((action|system):)?[a-z0-9][a-z0-9_-]{0,63}$");
const RUNS_DEFAULT: u32 = 50;
const RUNS_MAX: u32 = 200;

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/jobs", Read, list)
            .summary("List jobs, including those whose file has errors")
            .answers_json::<JobViews>(),
        Route::post("/api/jobs", Write, create)
            .summary("Create and accept a job")
            .body::<JobBody>()
            .answers_created::<JobView>(),
        Route::post("/api/jobs/preview", Read, preview)
            .summary("Preview a job: its description and next times")
            .body::<JobChangeBody>()
            .answers_json::<JobPreview>(),
        Route::get("/api/jobs/{id}", Read, show)
            .summary("Get a job")
            .path_value("id", ID)
            .answers_json::<JobView>(),
        Route::patch("/api/jobs/{id}", Write, change)
            .summary("Change the given fields of a job and accept it")
            .path_value("id", ID)
            .body::<JobChangeBody>()
            .answers_json::<JobView>(),
        Route::delete("/api/jobs/{id}", Write, remove)
            .summary("Delete a job; its file's last version is kept")
            .path_value("id", ID)
            .answers_nothing(),
        Route::post("/api/jobs/{id}/accept", Write, accept)
            .summary("Accept a job as it is now")
            .path_value("id", ID)
            .body::<JobShown>()
            .answers_json::<JobView>(),
        Route::post("/api/jobs/{id}/run", Write, run)
            .summary("Run a job now")
            .path_value("id", ID)
            .answers_json::<JobRunView>(),
        Route::post("/api/jobs/{id}/pause", Write, pause)
            .summary("Pause a job until it is resumed")
            .path_value("id", ID)
            .answers_json::<JobView>(),
        Route::post("/api/jobs/{id}/resume", Write, resume)
            .summary("Resume a job from its next time")
            .path_value("id", ID)
            .answers_json::<JobView>(),
        Route::put("/api/jobs/{id}/seen", Write, seen)
            .summary("Mark a job's results as seen")
            .path_value("id", ID)
            .answers_json::<JobView>(),
        Route::get("/api/jobs/{id}/runs", Read, runs)
            .summary("List the runs of a job, newest first")
            .path_value("id", ID)
            .query::<JobRunsQuery>()
            .answers_json::<JobRuns>(),
    ];
    Routes::tagged("jobs", rows)
}

async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<JobViews>, Problem> {
    let troubles = state.agent.jobs.troubles(&caller.person).await?;
    let mut jobs = Vec::new();
    for job in state.agent.jobs.list(&caller.person).await? {
        let unseen = troubles.get(&job.id).copied().unwrap_or(0);
        jobs.push(view::job_view(&state, &caller, job, unseen).await?);
    }
    Ok(Json(JobViews { jobs }))
}

async fn shown(
    state: &ApiState,
    caller: &AuthContext,
    job: onyx_agent::Job,
) -> Result<Json<JobView>, Problem> {
    let troubles = state.agent.jobs.troubles(&caller.person).await?;
    let unseen = troubles.get(&job.id).copied().unwrap_or(0);
    Ok(Json(view::job_view(state, caller, job, unseen).await?))
}

async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(mut fields): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    let id = match fields.shift_remove("id") {
        Some(Value::String(id)) => job_id(&id)?,
        Some(_) => return Err(Problem::field("id", "it must be a text")),
        None => return Err(Problem::field("id", "it is missing: a short name for the job")),
    };
    let job = state.agent.jobs.create(&caller.approver()?, &id, JobEdit { fields }).await?;
    Ok((StatusCode::CREATED, shown(&state, &caller, job).await?))
}

async fn preview(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(fields): JsonBody<Map<String, Value>>,
) -> Result<Json<JobPreview>, Problem> {
    // A value of the wrong type is an error of the request, not an unfinished job.
    if let Err(error) = serde_json::from_value::<JobChangeBody>(Value::Object(fields.clone())) {
        return Err(Fault::new(ErrorCode::InvalidRequest, error.to_string()).into());
    }
    let previewed = state.agent.jobs.preview(&caller.person, &fields).await;
    Ok(Json(view::preview(previewed)))
}

async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<JobView>, Problem> {
    let job = state.agent.jobs.get(&caller.person, &job_id(&id)?).await?;
    shown(&state, &caller, job).await
}

async fn change(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(fields): JsonBody<Map<String, Value>>,
) -> Result<Json<JobView>, Problem> {
    let expected = match expected(&headers)? {
        Expect::Is(hash) => Some(hash),
        Expect::Anything | Expect::Absent => None,
    };
    let (id, edit) = (job_id(&id)?, JobEdit { fields });
    let job = state.agent.jobs.change(&caller.approver()?, &id, edit, expected).await?;
    shown(&state, &caller, job).await
}

async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    state.agent.jobs.remove(&caller.person, &job_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The state of the job that the person looked at.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct JobShown {
    /// The `hash` of the job as it was shown.
    #[schemars(regex(pattern = r"^[0-9A-Fa-f]{64}$"))]
    hash: String,
}

async fn accept(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(seen): JsonBody<JobShown>,
) -> Result<Json<JobView>, Problem> {
    let seen = Hash::from_hex(&seen.hash)
        .ok_or_else(|| Problem::field("hash", "expected 64 hex digits"))?;
    let job = state.agent.jobs.accept(&caller.approver()?, &job_id(&id)?, seen).await?;
    shown(&state, &caller, job).await
}

async fn run(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<JobRunView>, Problem> {
    let slot = state.agent.jobs.run_now(&caller.person, &job_id(&id)?).await?;
    Ok(Json(slot.into()))
}

async fn pause(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<JobView>, Problem> {
    let job = state.agent.jobs.pause(&caller.person, &job_id(&id)?).await?;
    shown(&state, &caller, job).await
}

async fn resume(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<JobView>, Problem> {
    let job = state.agent.jobs.resume(&caller.person, &job_id(&id)?).await?;
    shown(&state, &caller, job).await
}

async fn seen(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<JobView>, Problem> {
    let job = state.agent.jobs.mark_seen(&caller.person, &job_id(&id)?).await?;
    shown(&state, &caller, job).await
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct JobRunsQuery {
    /// Only times before this one.
    before: Option<Timestamp>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

async fn runs(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<JobRunsQuery>,
) -> Result<Json<JobRuns>, Problem> {
    let limit = query.limit.unwrap_or(RUNS_DEFAULT);
    if !(1..=RUNS_MAX).contains(&limit) {
        return Err(Problem::field("limit", format!("it must be from 1 to {RUNS_MAX}")));
    }
    let id = job_id(&id)?;
    let mut slots = state.agent.jobs.history(&caller.person, &id, query.before, limit + 1).await?;
    let more = slots.len() > limit as usize;
    slots.truncate(limit as usize);
    let before = slots.last().filter(|_| more).map(|slot| slot.scheduled_at);
    Ok(Json(JobRuns { runs: slots.into_iter().map(JobRunView::from).collect(), before }))
}

fn job_id(text: &str) -> Result<JobId, Problem> {
    text.parse().map_err(|error: onyx_types::IdError| Problem::field("id", error.to_string()))
}
