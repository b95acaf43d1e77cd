//! Applies config edits while the gateway runs. This is the only place that does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use onyx_agent::{AgentProfile, AgentServices, Roster, Titles};
use onyx_api::{
    Admission, Authenticator, Change, Changes, ConnectionLimits, Exposure, Extensions, Front,
};
use onyx_connectors::ResolvedConnectors;
use onyx_identity::{DeclaredPeople, Secrets, Token};
use onyx_knowledge::{Index, SearchSettings};
use onyx_storage::Store;
use onyx_tools::{Masker, Toolbox};
use onyx_types::{AgentId, Fault, PersonId, Zone};

use super::cluster::SharedLogins;
use super::connectors::ConfiguredConnectors;
use super::health::Machine;
use super::memory::LiveMemory;
use super::models::LiveModels;
use super::parts::{check_jobs, connections, declared, remember, zones};
use super::secrets::{mask, mask_stored};
use super::storage::{SharedStorage, load_config};
use super::token;
use super::tool_services::ToolServices;
use crate::config::{Config, ConfigError};
use crate::home::HomeFolder;

/// Everything that follows the config, and the result of the last edit.
pub(super) struct Live {
    pub(super) connectors: ConfiguredConnectors,
    pub(super) home: HomeFolder,
    pub(super) store: Store,
    pub(super) index: Index,
    pub(super) memory: LiveMemory,
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) extensions: Extensions,
    pub(super) tools: ToolServices,
    pub(super) masker: Masker,
    pub(super) models: Arc<LiveModels>,
    pub(super) agent: AgentServices,
    pub(super) auth: Arc<Authenticator>,
    pub(super) secrets: Arc<Secrets>,
    pub(super) applied: AppliedConfig,
    pub(super) changes: Changes,
    pub(super) admission: Arc<Admission>,
    pub(super) machine: Machine,
    /// The other gateways; `None` where there are none.
    pub(super) shared: Option<Arc<SharedStorage>>,
    /// Sign-ins that all gateways share.
    pub(super) sign_ins: Option<Arc<SharedLogins>>,
}

/// What is known of the config in use.
pub(super) struct AppliedConfig {
    /// The error of the config file, if the file is not the config in use.
    pub(super) broken: RwLock<Option<ConfigError>>,
    /// Locked while a config is applied, so that edits are applied one after the other.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// The address at which people open the app from other machines.
    pub(super) link: Arc<RwLock<Option<String>>>,
}

impl AppliedConfig {
    pub(super) fn new(broken: Option<ConfigError>, link: Arc<RwLock<Option<String>>>) -> Self {
        Self { broken: RwLock::new(broken), changing: tokio::sync::Mutex::default(), link }
    }
}

/// A config that passed all checks.
pub(super) struct CheckedConfig {
    config: Config,
    front: Front,
    token: Token,
    roster: Roster,
    declared: DeclaredPeople,
    search: SearchSettings,
    connections: ConnectionLimits,
    connectors: ResolvedConnectors,
    /// Warnings about settings that work but are probably not what was meant.
    pub(super) warnings: Vec<String>,
}

impl Live {
    /// Applies an edit of the config, or returns why it cannot; then the old config stays in force.
    pub(super) async fn reload(&self) {
        let _one_by_one = self.applied.changing.lock().await;
        // A new secret is masked although the config may not be taken up.
        mask_stored(&self.masker, &self.secrets);
        let config = load_config(&self.home, self.shared.as_deref());
        let outcome = match config.and_then(|config| self.check(config)) {
            Ok(checked) => self.apply(checked).await,
            Err(error) => Err(error),
        };
        match &outcome {
            Ok(()) => tracing::info!("the config was taken up"),
            Err(error) => tracing::error!(%error, "the edit is not taken up; the old config stays"),
        }
        self.set_broken(outcome.err());
        if self.broken().is_some() {
            self.changes.tell(Change::Config);
        }
    }

    /// Applies the config that another gateway wrote, if there is one.
    pub(super) async fn follow_config(&self) -> Result<(), Fault> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if shared.follow_config().await? {
            self.reload().await;
        }
        Ok(())
    }

    pub(super) fn set_broken(&self, broken: Option<ConfigError>) {
        *self.applied.broken.write().unwrap_or_else(PoisonError::into_inner) = broken;
    }

    /// Checks a config completely before any part of it is applied.
    pub(super) fn check(&self, config: Config) -> Result<CheckedConfig, ConfigError> {
        let address = config.gateway.address(self.exposure());
        address.map_err(|fault| ConfigError::in_section("gateway.bind", &fault))?;
        let front = config.gateway.front();
        let front = front.map_err(|fault| ConfigError::in_section("gateway.publicUrl", &fault))?;
        let token = token::token(&self.home, &config).map_err(|error| ConfigError::of(&error))?;
        let (roster, warnings) = roster(&config, &self.toolbox)?;
        let declared = declared(&config, token.clone())?;
        ToolServices::check(&config)?;
        config.mcp.check().map_err(|error| ConfigError::new(error.to_string()))?;
        config.plugins.check().map_err(|error| ConfigError::new(error.to_string()))?;
        config.server()?;
        check_jobs(&config)?;
        let search = config.memory.search().map_err(ConfigError::new)?;
        let connections = connections(&config)?;
        let connectors = self.resolve_connectors(&config, &roster)?;
        Ok(CheckedConfig {
            config,
            front,
            token,
            roster,
            declared,
            search,
            connections,
            connectors,
            warnings,
        })
    }

    pub(super) async fn apply(&self, checked: CheckedConfig) -> Result<(), ConfigError> {
        let config = checked.config;
        log(&checked.warnings);
        self.tools.follow(&config)?;
        let models = self.models.next(&self.home, &config);
        // The new keys are masked before a model can use them; the old ones stay masked, for runs
        // that have them.
        mask(&self.masker, &models.registry, &checked.token, &self.secrets);
        self.masker.add(config.storage_secrets());
        self.models.set(models);
        self.index.set_search(checked.search);
        self.memory.set(config.memory.clone());
        self.extensions.skills.set_workspaces(workspaces(&checked.roster));
        self.agent.set_roster(checked.roster);
        self.agent.set_max_runs(config.gateway.max_runs());
        self.agent.set_titles(titles(&config));
        self.auth.set_front(checked.front);
        self.admission.set_limits(checked.connections);
        self.auth.identity().declare(checked.declared).await?;
        declare_zones(&self.agent, zones(&config));
        self.agent.jobs.set_settings(config.jobs.check(&self.auth.identity().owner()?)?);
        self.extensions.plugins.follow(&config.plugins).await?;
        let servers = self.extensions.plugins.with_servers(&config.mcp);
        self.extensions.mcp.follow(&servers).await?;
        remember(&self.home, &config);
        self.masker.add(checked.connectors.secrets());
        *self.applied.link.write().unwrap_or_else(PoisonError::into_inner) =
            config.gateway.public_url.clone();
        self.agent.jobs.set_mail(super::connectors::job_mail(&checked.connectors));
        self.connectors.set_resolved(checked.connectors);
        self.follow_connectors().await;
        self.changes.tell(Change::Config);
        self.changes.tell(Change::Agents);
        Ok(())
    }

    pub(super) fn resolve_connectors(
        &self,
        config: &Config,
        roster: &Roster,
    ) -> Result<ResolvedConnectors, ConfigError> {
        let knows = |agent: &onyx_types::AgentId| roster.get(agent).is_some();
        super::connectors::resolve(config, &knows, &self.secrets)
    }

    /// Starts to follow the connectors of the config.
    pub(super) async fn connect(&self) {
        self.connectors.begin();
        self.follow_connectors().await;
    }

    /// Stops serving accounts on other networks, because this gateway is being drained. They stay
    /// listed with the gateways that serve them.
    pub(super) async fn leave_accounts(&self) {
        let _one_by_one = self.applied.changing.lock().await;
        self.follow_connectors().await;
    }

    /// Applies the settings of the connectors, unless this process is a command that holds the home
    /// only for a moment; that connects to nothing.
    async fn follow_connectors(&self) {
        if self.connectors.is_connected() {
            let mut resolved = self.connectors.resolved();
            resolved.accounts.extend(self.extensions.plugins.accounts());
            if let Some(shared) = &self.shared {
                let placed = shared.place_accounts(resolved.accounts).await;
                resolved.accounts = placed.here;
                resolved.elsewhere = placed.elsewhere;
            }
            self.connectors.all.follow(resolved).await;
        }
    }

    /// Takes over accounts of a gateway that is gone, releases those that another one took, and
    /// notes which gateway serves the others.
    pub(super) async fn look_after_accounts(&self) {
        let Some(shared) = &self.shared else { return };
        if !self.connectors.is_connected() {
            return;
        }
        let _one_by_one = self.applied.changing.lock().await;
        let before = shared.account_places();
        let mut accounts = self.connectors.resolved().accounts;
        accounts.extend(self.extensions.plugins.accounts());
        shared.place_accounts(accounts).await;
        if shared.account_places() != before {
            self.follow_connectors().await;
        }
    }

    fn exposure(&self) -> Exposure {
        if self.auth.identity().has_chosen_credentials() {
            Exposure::Guarded
        } else {
            Exposure::Unguarded
        }
    }

    /// The error of the config file, if the file is not the config in use.
    pub(super) fn broken(&self) -> Option<ConfigError> {
        self.applied.broken.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Sets the time zones of the config for people who have not chosen one themselves.
pub(super) fn declare_zones(agent: &AgentServices, declared: BTreeMap<PersonId, Zone>) {
    if let Some(zones) = agent.clock().zones() {
        zones.declare(declared);
    }
}

pub(super) fn titles(config: &Config) -> Titles {
    config.agents.defaults.titles.unwrap_or_default()
}

/// The folders outside the home that agents are read from.
pub(super) fn workspaces(roster: &Roster) -> BTreeMap<AgentId, PathBuf> {
    let folder = |agent: &AgentProfile| Some((agent.id.clone(), agent.workspace.clone()?.into()));
    roster.agents().filter_map(folder).collect()
}

/// The agents of a config, and a warning for each probable mistake in it.
pub(super) fn roster(
    config: &Config,
    toolbox: &Toolbox,
) -> Result<(Roster, Vec<String>), ConfigError> {
    let (roster, more) = Roster::resolve(&config.agents, &config.limits, toolbox)
        .map_err(|fault| ConfigError::in_section("agents", &fault))?;
    let missing = config.missing.iter().map(ToString::to_string);
    let warnings = config.warnings.iter().cloned().chain(missing).chain(more);
    Ok((roster, warnings.collect()))
}

pub(super) fn log(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("onyx.json: {warning}");
    }
}
