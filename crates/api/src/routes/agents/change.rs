//! Creates, changes and removes agents. The files of a removed agent are kept.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_agent::AgentSettings;
use onyx_storage::Expect;
use onyx_types::AgentId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{AgentFields, details, known};
use crate::wire::expected;
use crate::wire::typed;
use crate::{ApiState, ConfigChange, JsonBody, Problem};

/// Read in two parts, because errors in fields of a flattened struct would lose their paths.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "a description")]
pub(crate) struct NewAgent {
    id: AgentId,
    #[serde(flatten)]
    fields: AgentFields,
}

#[derive(Deserialize)]
struct NewAgentId {
    id: AgentId,
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let NewAgentId { id } = typed(body.clone().into())?;
    let fields: AgentFields = typed(with_memory(body)?.into())?;
    if known(&state.agent.roster(), id.as_str()).is_ok() {
        let there = Problem::field("id", format!("an agent `{id}` already exists"));
        return Err(there.with_status(StatusCode::CONFLICT));
    }
    put(&state, &id, fields.settings(&id)?, Expect::Absent).await?;
    let shown = details(&state, id.as_str()).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, format!("/v1/agents/{id}"))], shown)
        .into_response())
}

/// The agent gets exactly the settings of the body, and the defaults for the rest.
pub(crate) async fn replace(
    State(state): State<ApiState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let id = known(&state.agent.roster(), &id)?.id.clone();
    let fields: AgentFields = typed(with_memory(body)?.into())?;
    put(&state, &id, fields.settings(&id)?, expected(&headers)?).await?;
    details(&state, id.as_str()).await
}

/// `memory: {read, retrieval}`, as the config has it, means the same as `memory_read` and
/// `memory_retrieval`.
fn with_memory(mut body: Map<String, Value>) -> Result<Map<String, Value>, Problem> {
    let Some(memory) = body.shift_remove("memory") else { return Ok(body) };
    let Value::Object(mut memory) = memory else {
        return Err(Problem::field("memory", "expected an object with `read` or `retrieval`"));
    };
    for (name, field) in [("read", "memory_read"), ("retrieval", "memory_retrieval")] {
        if body.contains_key(field) {
            return Err(Problem::field("memory", format!("give either `memory` or `{field}`")));
        }
        if let Some(value) = memory.shift_remove(name) {
            body.insert(field.to_owned(), value);
        }
    }
    match memory.keys().next() {
        Some(unknown) => Err(Problem::field(format!("memory.{unknown}"), "there is no such field")),
        None => Ok(body),
    }
}

const NEVER_NULL: [&str; 3] = ["default", "fallbacks", "memory_read"];

/// Changes only what the body names; `null` resets a field to its default.
pub(crate) async fn patch(
    State(state): State<ApiState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(changes): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let id = known(&state.agent.roster(), &id)?.id.clone();
    let written = state.configuration.agent(&id)?;
    let present = written.as_ref().map_or(Expect::Absent, |written| Expect::Is(written.hash));
    let expected = match expected(&headers)? {
        Expect::Anything => present,
        wanted => wanted,
    };
    let mut fields = Map::new();
    if let Some(written) = written {
        let now = serde_json::to_string(&AgentFields::from(written.value));
        // The settings are converted through text, so that a temperature of 0.7 stays 0.7.
        fields = now.and_then(|text| serde_json::from_str(&text)).unwrap_or_default();
    }
    fields.extend(with_memory(changes)?);
    // A field without a default is refused below, by its type.
    fields.retain(|name, value| !value.is_null() || NEVER_NULL.contains(&name.as_str()));
    let fields: AgentFields = typed(fields.into())?;
    put(&state, &id, fields.settings(&id)?, expected).await?;
    details(&state, id.as_str()).await
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let id = known(&state.agent.roster(), &id)?.id.clone();
    state.configuration.change(ConfigChange::RemoveAgent(id), expected(&headers)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn put(
    state: &ApiState,
    id: &AgentId,
    settings: AgentSettings,
    expected: Expect,
) -> Result<(), Problem> {
    let change = ConfigChange::PutAgent { id: id.clone(), settings: Box::new(settings) };
    state.configuration.change(change, expected).await?;
    Ok(())
}
