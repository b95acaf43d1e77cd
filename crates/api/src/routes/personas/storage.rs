//! `/api/storage/personas/{id}`: a persona is an agent, its system prompt is the agent's SOUL.md.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_agent::AgentSettings;
use onyx_storage::Expect;
use onyx_types::{AgentId, Fault, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{change, files, known, not_kept};
use crate::wire::Json;
use crate::{ApiState, AuthContext, ConfigChange, JsonBody, Problem};

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonaView {
    id: AgentId,
    name: String,
    system_prompt: String,
    test_input_ids: Vec<String>,
    /// The conversation in which the caller edits the persona, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_chat_session_id: Option<SessionId>,
}

pub(super) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<PersonaView>, Problem> {
    view(&state, &caller, &id).await.map(Json)
}

async fn view(state: &ApiState, caller: &AuthContext, id: &str) -> Result<PersonaView, Problem> {
    let agent = known(state, id)?;
    let files = files(state, &agent.id)?;
    let prompt = files.system_prompt().await.map_err(Fault::from)?;
    let tests = files.test_input_ids().await.map_err(Fault::from)?;
    Ok(PersonaView {
        agent_chat_session_id: state
            .agent
            .personas
            .editor_session(&caller.person, &agent.id)
            .await?,
        id: agent.id,
        name: agent.name,
        system_prompt: prompt.map(|prompt| prompt.text).unwrap_or_default(),
        test_input_ids: tests.iter().map(ToString::to_string).collect(),
    })
}

/// Absent fields stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PutPersona {
    #[schemars(regex(pattern = r"\S"))]
    name: Option<String>,
    system_prompt: Option<String>,
}

/// Creates the persona with the defaults of the config if it does not exist.
pub(super) async fn put(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<PutPersona>,
) -> Result<Json<PersonaView>, Problem> {
    let persona: AgentId = id.parse().map_err(|error| Problem::field("id", error))?;
    if body.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(Problem::field("name", "it is empty"));
    }
    let is_new = state.agent.roster().get(&persona).is_none();
    if is_new || body.name.is_some() {
        name(&state, &persona, body.name).await?;
    }
    if let Some(text) = body.system_prompt {
        let files = files(&state, &persona)?;
        let before = files.system_prompt().await.map_err(Fault::from)?;
        let base = before.map(|before| before.hash);
        let change = change(&state, &caller);
        files.set_system_prompt(&text, base, change).await.map_err(not_kept)?;
    }
    view(&state, &caller, persona.as_str()).await.map(Json)
}

async fn name(state: &ApiState, persona: &AgentId, name: Option<String>) -> Result<(), Problem> {
    let written = state.configuration.agent(persona)?;
    let expected = written.as_ref().map_or(Expect::Absent, |written| Expect::Is(written.hash));
    let present = written.map(|written| written.value);
    let settings = AgentSettings { name, ..present.unwrap_or_default() };
    let change = ConfigChange::PutAgent { id: persona.clone(), settings: Box::new(settings) };
    state.configuration.change(change, expected).await?;
    Ok(())
}

/// Removes the agent from the config; its files are kept.
pub(super) async fn delete(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let persona = known(&state, &id)?.id;
    state.configuration.change(ConfigChange::RemoveAgent(persona), Expect::Anything).await?;
    Ok(StatusCode::NO_CONTENT)
}
