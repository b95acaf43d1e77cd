//! `/v1/agents`: who there is, and the files that say who they are.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_agent::{AgentProfile, Roster};
use onyx_storage::{Area, ObjectKey, Objects, StoreError};
use onyx_types::{AgentId, ErrorCode, Fault, Tier};
use schemars::JsonSchema;
use serde::Serialize;

use super::etags::{etag, expected};
use crate::{ApiState, Problem};

/// More than any prompt takes of a file.
const LONGEST_FILE: usize = 256 * 1024;
const MOST_FILES: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AgentView {
    id: AgentId,
    name: String,
    default: bool,
    tier: Tier,
    /// None: the config's default.
    model: Option<String>,
    fallbacks: Vec<String>,
    temperature: Option<f32>,
    max_output_tokens: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AgentList {
    agents: Vec<AgentView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AgentWithFiles {
    #[serde(flatten)]
    agent: AgentView,
    /// Markdown files in the agent's own folder.
    files: Vec<String>,
}

impl AgentView {
    fn of(roster: &Roster, agent: &AgentProfile) -> Self {
        Self {
            id: agent.id.clone(),
            name: agent.name.clone(),
            default: roster.default_agent().id == agent.id,
            tier: agent.policy.tier(),
            model: agent.model.primary.clone(),
            fallbacks: agent.model.fallbacks.clone(),
            temperature: agent.temperature,
            max_output_tokens: agent.max_output_tokens,
        }
    }
}

pub(super) async fn list(State(state): State<ApiState>) -> Json<AgentList> {
    let roster = state.runs.roster();
    let agents = roster.agents().map(|agent| AgentView::of(&roster, agent)).collect();
    Json(AgentList { agents })
}

pub(super) async fn show(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Json<AgentWithFiles>, Problem> {
    let roster = state.runs.roster();
    let agent = known(&roster, &id)?;
    let files = match objects(&state, &agent.id)?.list(None, MOST_FILES).await {
        Ok(entries) => entries
            .into_iter()
            .filter(|entry| !entry.is_folder)
            .map(|entry| entry.key.as_str().to_owned())
            .filter(|name| name.ends_with(".md"))
            .collect(),
        // An agent that nobody has described yet.
        Err(StoreError::NotFound) => Vec::new(),
        Err(error) => return Err(Fault::from(error).into()),
    };
    Ok(Json(AgentWithFiles { agent: AgentView::of(&roster, agent), files }))
}

pub(super) async fn file(
    State(state): State<ApiState>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let roster = state.runs.roster();
    let agent = known(&roster, &id)?;
    let found = objects(&state, &agent.id)?.get(&file_key(&name)?, LONGEST_FILE as u64).await;
    let found = found.map_err(Fault::from)?.ok_or_else(|| no_file(&name))?;
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/markdown; charset=utf-8"));
    Ok(([kind, etag(&found.hash)], found.bytes).into_response())
}

/// Writes the file whole. With `If-Match` only what was read before is replaced, with
/// `If-None-Match: *` nothing is.
pub(super) async fn write_file(
    State(state): State<ApiState>,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let roster = state.runs.roster();
    let agent = known(&roster, &id)?;
    let key = file_key(&name)?;
    if body.len() > LONGEST_FILE {
        let message = format!("a file of an agent has at most {LONGEST_FILE} bytes");
        return Err(Problem::new(ErrorCode::TooLarge, message));
    }
    if std::str::from_utf8(&body).is_err() {
        return Err(Problem::new(ErrorCode::InvalidRequest, "the file is not UTF-8"));
    }
    let objects = objects(&state, &agent.id)?;
    let hash = match objects.put(&key, &body, expected(&headers)?).await {
        Ok(hash) => hash,
        Err(StoreError::Conflict) => return Err(Fault::plain(ErrorCode::VersionConflict).into()),
        Err(error) => return Err(Fault::from(error).into()),
    };
    Ok((StatusCode::NO_CONTENT, [etag(&hash)]).into_response())
}

fn known<'r>(roster: &'r Roster, id: &str) -> Result<&'r AgentProfile, Problem> {
    let found = id.parse().ok().and_then(|id: AgentId| roster.get(&id));
    found.ok_or_else(|| Problem::new(ErrorCode::NotFound, format!("There is no agent {id:?}.")))
}

fn objects(state: &ApiState, agent: &AgentId) -> Result<std::sync::Arc<dyn Objects>, Problem> {
    Ok(state.store.files.objects(&Area::Agent(agent.clone())).map_err(Fault::from)?)
}

fn file_key(name: &str) -> Result<ObjectKey, Problem> {
    let key: ObjectKey = name.parse().map_err(|error| Problem::field("name", error))?;
    if !name.ends_with(".md") || key.is_hidden() {
        return Err(Problem::field("name", "an agent's files are markdown: <name>.md"));
    }
    Ok(key)
}

fn no_file(name: &str) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("The agent has no file {name:?}."))
}
