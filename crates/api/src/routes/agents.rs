//! `/v1/agents`: the agents. The owner edits them, in the config and in each agent's files.

pub(crate) mod change;
pub(crate) mod files;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use onyx_agent::{AgentMemorySettings, AgentProfile, AgentSettings, ModelSetting, Roster};
use onyx_storage::{Area, Objects, StoreError};
use onyx_tools::ToolSettings;
use onyx_types::{AgentId, ErrorCode, Fault, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::routing::PathValue;
use crate::wire::Json;
use crate::wire::etag;
use crate::{Access, ApiState, Problem, Route, Routes};
use change::NewAgent;

const MOST_FILES: usize = 200;
const FILE_NAME: PathValue = PathValue::Pattern("^[A-Za-z0-9_-]{1,64}\\.md$");

pub(super) fn routes() -> Routes {
    use Access::{Owner, Read};
    let rows = [
        Route::get("/v1/agents", Read, list).summary("List agents").answers_json::<AgentList>(),
        Route::post("/v1/agents", Owner, change::create)
            .summary("Create an agent")
            .body::<NewAgent>()
            .answers_created::<AgentDetails>(),
        Route::get("/v1/agents/{id}", Read, show)
            .summary("Get an agent and the list of its files")
            .answers_json::<AgentDetails>(),
        Route::put("/v1/agents/{id}", Owner, change::replace)
            .summary("Replace an agent's settings; honours If-Match")
            .body::<AgentFields>()
            .answers_json::<AgentDetails>(),
        Route::patch("/v1/agents/{id}", Owner, change::patch)
            .summary("Change the given settings of an agent")
            .body::<AgentFields>()
            .answers_json::<AgentDetails>(),
        Route::delete("/v1/agents/{id}", Owner, change::remove)
            .summary("Remove an agent from the config")
            .answers_nothing(),
        Route::get("/v1/agents/{id}/files/{name}", Read, files::read)
            .summary("Read an agent's file, with its ETag")
            .path_value("name", FILE_NAME)
            .answers_text("text/markdown"),
        Route::put("/v1/agents/{id}/files/{name}", Owner, files::write)
            .summary("Write an agent's file; honours If-Match and If-None-Match")
            .path_value("name", FILE_NAME)
            .answers_nothing(),
        Route::post("/v1/agents/{id}/files/{name}/accept", Owner, files::accept)
            .summary("Accept an agent's file as read, so that the agent may follow it")
            .path_value("name", FILE_NAME)
            .body::<files::AcceptFile>()
            .answers_nothing(),
    ];
    Routes::tagged("agents", rows)
}

/// An agent as it works: its own settings, completed by the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AgentView {
    id: AgentId,
    name: String,
    default: bool,
    /// A disabled agent answers no one.
    enabled: bool,
    tier: Tier,
    /// None: the config's default model.
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
pub(crate) struct AgentDetails {
    #[serde(flatten)]
    agent: AgentView,
    /// All tools of the agent.
    tools: Vec<String>,
    /// The agent's settings in the config; their version is the ETag.
    settings: AgentFields,
    /// Markdown files in the agent's own folder.
    files: Vec<String>,
}

/// An agent's own settings. Absent ones are taken from `agents.defaults`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AgentFields {
    name: Option<String>,
    /// Answers messages that name no agent; exactly one agent is the default.
    default: bool,
    enabled: Option<bool>,
    tier: Option<Tier>,
    /// `<provider>/<model>`, or `auto`.
    model: Option<String>,
    /// Tried in this order when `model` fails.
    fallbacks: Vec<String>,
    tools: Option<ToolFields>,
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f32>,
    #[schemars(range(min = 1))]
    max_output_tokens: Option<u32>,
    /// A folder whose files are read instead of those in the agent's own folder.
    workspace: Option<String>,
    /// Other agents whose memory it may search.
    #[serde(default)]
    memory_read: Vec<String>,
    /// Context is searched for each message of its chats, as it always is in spaces.
    memory_retrieval: Option<bool>,
    /// It uses only models of this machine.
    local_only: Option<bool>,
}

/// Names of tools, or `group:<name>`. Deny takes precedence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ToolFields {
    /// None: every tool.
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    /// Commands that need no approval: each is the beginning of an argument list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    commands: Vec<Vec<String>>,
}

impl From<AgentSettings> for AgentFields {
    fn from(settings: AgentSettings) -> Self {
        let (model, fallbacks) = match settings.model {
            None => (None, Vec::new()),
            Some(ModelSetting::One(model)) => (Some(model), Vec::new()),
            Some(ModelSetting::Chain { primary, fallbacks }) => (Some(primary), fallbacks),
        };
        let memory = settings.memory.unwrap_or_default();
        Self {
            name: settings.name,
            default: settings.is_default,
            enabled: settings.enabled,
            tier: settings.tier,
            model,
            fallbacks,
            tools: settings.tools.map(|ToolSettings { allow, deny, commands }| ToolFields {
                allow,
                deny,
                commands,
            }),
            temperature: settings.temperature,
            max_output_tokens: settings.max_tokens,
            workspace: settings.workspace,
            memory_read: memory.read,
            memory_retrieval: memory.retrieval,
            local_only: settings.local_only,
        }
    }
}

impl AgentFields {
    fn settings(self, id: &AgentId) -> Result<AgentSettings, Problem> {
        let model = match (self.model, self.fallbacks) {
            (Some(primary), fallbacks) if !fallbacks.is_empty() => {
                Some(ModelSetting::Chain { primary, fallbacks })
            }
            (None, fallbacks) if !fallbacks.is_empty() => {
                return Err(Problem::field("fallbacks", "they need a `model`"));
            }
            (model, _) => model.map(ModelSetting::One),
        };
        if let Some(temperature) = self.temperature.filter(|given| !(0.0..=2.0).contains(given)) {
            let why = format!("{temperature} is not between 0 and 2");
            return Err(Problem::field("temperature", why));
        }
        if self.max_output_tokens == Some(0) {
            return Err(Problem::field("max_output_tokens", "it must be at least 1"));
        }
        if self.default && self.enabled == Some(false) {
            return Err(Problem::field(
                "enabled",
                "the default agent cannot be disabled; choose another default first",
            ));
        }
        let memory =
            AgentMemorySettings { read: self.memory_read, retrieval: self.memory_retrieval };
        Ok(AgentSettings {
            id: Some(id.to_string()),
            name: self.name,
            is_default: self.default,
            enabled: self.enabled,
            workspace: self.workspace,
            model,
            tier: self.tier,
            tools: self.tools.map(|ToolFields { allow, deny, commands }| ToolSettings {
                allow,
                deny,
                commands,
            }),
            temperature: self.temperature,
            max_tokens: self.max_output_tokens,
            memory: (memory != AgentMemorySettings::default()).then_some(memory),
            local_only: self.local_only,
        })
    }
}

impl AgentView {
    pub(super) fn of(roster: &Roster, agent: &AgentProfile) -> Self {
        Self {
            id: agent.id.clone(),
            name: agent.name.clone(),
            default: roster.default_agent().id == agent.id,
            enabled: roster.get(&agent.id).is_some(),
            tier: agent.policy.tier(),
            model: agent.model.primary.as_ref().map(ToString::to_string),
            fallbacks: agent.model.fallbacks.iter().map(ToString::to_string).collect(),
            temperature: agent.temperature,
            max_output_tokens: agent.max_output_tokens,
        }
    }
}

pub(super) async fn list(State(state): State<ApiState>) -> Json<AgentList> {
    let roster = state.agent.roster();
    let all = roster.agents().chain(roster.disabled());
    Json(AgentList { agents: all.map(|agent| AgentView::of(&roster, agent)).collect() })
}

pub(super) async fn show(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    details(&state, &id).await
}

async fn details(state: &ApiState, id: &str) -> Result<Response, Problem> {
    let roster = state.agent.roster();
    let agent = known(&roster, id)?;
    let files = match objects(state, &agent.id)?.list(None, MOST_FILES).await {
        Ok(entries) => entries
            .into_iter()
            .filter(|entry| !entry.is_folder)
            .map(|entry| entry.key.as_str().to_owned())
            .filter(|name| name.ends_with(".md"))
            .collect(),
        // The agent has no files yet.
        Err(StoreError::NotFound) => Vec::new(),
        Err(error) => return Err(Fault::from(error).into()),
    };
    // While the config file is broken, the agent is shown as it works; the route of the config
    // gives the reason.
    let written = state.configuration.agent(&agent.id).ok().flatten();
    let tag = written.as_ref().map(|written| etag(&written.hash));
    let details = AgentDetails {
        agent: AgentView::of(&roster, agent),
        tools: state.agent.tools_of(agent),
        settings: written.map(|written| written.value.into()).unwrap_or_default(),
        files,
    };
    let mut response = Json(details).into_response();
    response.headers_mut().extend(tag);
    Ok(response)
}

fn known<'r>(roster: &'r Roster, id: &str) -> Result<&'r AgentProfile, Problem> {
    let id_of: Option<AgentId> = id.parse().ok();
    let mut all = roster.agents().chain(roster.disabled());
    let found = id_of.and_then(|id| all.find(|agent| agent.id == id));
    found.ok_or_else(|| Problem::new(ErrorCode::NotFound, format!("There is no agent {id:?}.")))
}

fn objects(state: &ApiState, agent: &AgentId) -> Result<Arc<dyn Objects>, Problem> {
    Ok(state.store.files.objects(&Area::Agent(agent.clone())).map_err(Fault::from)?)
}
