use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use onyx_tools::{Policy, ToolSettings, Toolbox};
use onyx_types::{AgentId, ErrorCode, Fault, Limits, ModelId, Tier};

use super::editor;
use super::models::ModelChoice;
use super::profile::AgentProfile;
use super::settings::{AgentDefaults, AgentSettings, AgentsSettings, ModelSetting};

/// The agents of a config, resolved once: every value checked and filled in.
#[derive(Clone, Debug)]
pub struct Roster {
    agents: Vec<Arc<AgentProfile>>,
    editor: Arc<AgentProfile>,
    disabled: Vec<AgentProfile>,
    default: usize,
    limits: Limits,
}

impl Roster {
    /// Warnings are things that work but are probably not what was meant.
    pub fn resolve(
        settings: &AgentsSettings,
        limits: &Limits,
        toolbox: &Toolbox,
    ) -> Result<(Self, Vec<String>), Fault> {
        for (index, path) in limits.protected.iter().enumerate() {
            let parsed: Result<onyx_storage::ObjectKey, _> = path.parse();
            parsed.map_err(|error| invalid(format!("limits.protected[{index}]: {error}")))?;
        }
        let mut warnings = Vec::new();
        let (mut agents, mut disabled) = (Vec::new(), Vec::new());
        let mut default = None;
        let mut seen = BTreeSet::new();
        for (id, raw) in named(settings) {
            let id: AgentId =
                id.parse().map_err(|error| invalid(format!("agents: {id:?}: {error}")))?;
            if editor::is_editor(&id) {
                return Err(invalid(format!(
                    "agents: {id} is reserved for Onyx; choose another id"
                )));
            }
            if !seen.insert(id.clone()) {
                return Err(invalid(format!("agents: {id} is listed twice")));
            }
            if raw.enabled == Some(false) {
                match profile(id, raw, &settings.defaults, toolbox, &mut warnings) {
                    Ok(profile) => disabled.push(profile),
                    // Nobody can ask a disabled agent, so its errors must not stop the others.
                    Err(fault) => warnings.push(fault.message),
                }
                continue;
            }
            if raw.is_default && default.replace(agents.len()).is_some() {
                return Err(invalid("agents: more than one is marked `default`".to_owned()));
            }
            agents.push(profile(id, raw, &settings.defaults, toolbox, &mut warnings)?.into());
        }
        if agents.is_empty() {
            let id = FIRST_AGENT.parse()?;
            let raw = AgentSettings::default();
            agents.push(profile(id, &raw, &settings.defaults, toolbox, &mut warnings)?.into());
        }
        let only_local = settings.defaults.local_only.unwrap_or(false);
        let model = choice(settings.defaults.model.as_ref());
        let editor = editor::profile(model, only_local, toolbox)?.into();
        let (default, limits) = (default.unwrap_or(0), limits.clone());
        Ok((Self { agents, disabled, editor, default, limits }, warnings))
    }

    pub fn agents(&self) -> impl Iterator<Item = &AgentProfile> {
        self.agents.iter().map(|agent| &**agent)
    }

    /// The agents that are switched off. Surfaces show them, but no run may use them.
    pub fn disabled(&self) -> impl Iterator<Item = &AgentProfile> {
        self.disabled.iter()
    }

    pub fn get(&self, id: &AgentId) -> Option<&Arc<AgentProfile>> {
        self.agents.iter().find(|agent| agent.id == *id)
    }

    pub fn default_agent(&self) -> &Arc<AgentProfile> {
        &self.agents[self.default]
    }

    /// The profile of an agent that may have made a proposal: one of the config's agents or the
    /// persona editor.
    pub(crate) fn acting(&self, id: &AgentId) -> Option<&Arc<AgentProfile>> {
        if editor::is_editor(id) { Some(&self.editor) } else { self.get(id) }
    }

    /// The built-in agent that edits personas; it is not one of the config's agents.
    pub(crate) fn editor(&self) -> &Arc<AgentProfile> {
        &self.editor
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The model that a name means: the name itself if it is `<provider>/<model>`, an agent's
    /// model, or the default agent's. `None`: the model that answers where none is named.
    pub fn model_named(&self, name: Option<&str>) -> Result<Option<String>, Fault> {
        let unknown = |name: &str| {
            Fault::new(ErrorCode::ModelNotFound, format!("There is no model or agent {name:?}."))
        };
        let agent = match name {
            Some(model) if model.contains('/') => return Ok(Some(model.to_owned())),
            None => self.default_agent(),
            Some(name) => {
                let id = name.strip_prefix("onyx:").unwrap_or(name).parse().ok();
                id.and_then(|id| self.get(&id)).ok_or_else(|| unknown(name))?
            }
        };
        Ok(agent.model.primary.as_ref().map(ToString::to_string))
    }
}

/// The roster in use. An edit of the config replaces it; a run keeps the roster that it began with.
pub(crate) struct CurrentRoster(RwLock<Arc<Roster>>);

impl CurrentRoster {
    pub(crate) fn new(roster: Roster) -> Self {
        Self(RwLock::new(Arc::new(roster)))
    }

    pub(crate) fn get(&self) -> Arc<Roster> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, roster: Roster) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roster);
    }
}

/// The agent that answers when the config names none.
pub const FIRST_AGENT: &str = "main";

fn named(settings: &AgentsSettings) -> impl Iterator<Item = (String, &AgentSettings)> {
    let list = settings.list.iter().map(|raw| (raw.id.clone().unwrap_or_default(), raw));
    list.chain(settings.entries.iter().map(|(id, raw)| (id.clone(), raw)))
}

fn profile(
    id: AgentId,
    raw: &AgentSettings,
    defaults: &AgentDefaults,
    toolbox: &Toolbox,
    warnings: &mut Vec<String>,
) -> Result<AgentProfile, Fault> {
    let tier = raw.tier.or(defaults.tier).unwrap_or(Tier::Suggest);
    let everything = ToolSettings::default();
    let tools = raw.tools.as_ref().or(defaults.tools.as_ref()).unwrap_or(&everything);
    let tools = editor::tools_of_others(tools, toolbox);
    let (policy, notes) =
        Policy::resolve(tier, &tools, &toolbox.tools().known()).map_err(|fault| {
            invalid(format!("agent {id}: {}", fault.message)).with_hint(fault.hint())
        })?;
    warnings.extend(notes.into_iter().map(|note| format!("agent {id}: {}", note.0)));
    Ok(AgentProfile {
        name: raw.name.clone().unwrap_or_else(|| id.to_string()),
        model: choice(raw.model.as_ref().or(defaults.model.as_ref())),
        policy: Arc::new(policy),
        temperature: raw.temperature.or(defaults.temperature),
        max_output_tokens: raw.max_tokens.or(defaults.max_tokens),
        workspace: raw.workspace.clone(),
        only_local: raw.local_only.or(defaults.local_only).unwrap_or(false),
        memories: memories(&id, raw)?,
        retrieves_in_chats: raw.memory.as_ref().is_some_and(|it| it.retrieval == Some(true)),
        id,
    })
}

fn memories(id: &AgentId, raw: &AgentSettings) -> Result<Arc<[AgentId]>, Fault> {
    let named = raw.memory.iter().flat_map(|memory| &memory.read);
    let parse = |name: &String| {
        name.parse().map_err(|error| invalid(format!("agent {id}: memory.read: {name:?}: {error}")))
    };
    named.map(parse).collect()
}

fn choice(setting: Option<&ModelSetting>) -> ModelChoice {
    match setting {
        None => ModelChoice::default(),
        Some(ModelSetting::One(model)) => ModelChoice::only(ModelId::new(model)),
        Some(ModelSetting::Chain { primary, fallbacks }) => {
            let fallbacks = fallbacks.iter().map(ModelId::new).collect();
            ModelChoice { primary: Some(ModelId::new(primary)), fallbacks }
        }
    }
}

fn invalid(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}
