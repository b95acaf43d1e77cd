//! What a config edit changes while the gateway runs, behind one door.

use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;
use onyx_agent::{Roster, RunManager, Titles};
use onyx_api::{Authenticator, Dependency, Exposure, Readiness};
use onyx_identity::Secrets;
use onyx_knowledge::{Embedding, Index, MemorySettings};
use onyx_providers::{ProviderHealth, ProviderState, ProviderStatus};
use onyx_storage::Store;
use onyx_tools::{Masker, Toolbox};

use super::models::LiveModels;
use super::parts::{declared, remember};
use super::secrets::masked;
use super::token;
use crate::config::{self, Config, ConfigError};
use crate::home::HomeFolder;

/// Everything that follows the config, and what became of the last edit.
pub(super) struct Live {
    pub(super) home: HomeFolder,
    pub(super) store: Store,
    pub(super) index: Index,
    pub(super) memory: RwLock<MemorySettings>,
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) masker: Masker,
    pub(super) models: Arc<LiveModels>,
    pub(super) runs: RunManager,
    pub(super) auth: Arc<Authenticator>,
    pub(super) secrets: Arc<Secrets>,
    pub(super) broken: RwLock<Option<ConfigError>>,
}

impl Live {
    /// Takes up an edit of the config, or says why not and goes on with what it has.
    pub(super) async fn reload(&self) {
        let outcome = match config::load(&self.home) {
            Ok(config) => self.apply(&config).await,
            Err(error) => Err(error),
        };
        match &outcome {
            Ok(()) => tracing::info!("the config was taken up"),
            Err(error) => tracing::error!(%error, "the edit is not taken up; the old config stays"),
        }
        *self.broken.write().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    }

    async fn apply(&self, config: &Config) -> Result<(), ConfigError> {
        config.gateway.address(self.exposure())?;
        let token = token::token(&self.home, config).map_err(|error| ConfigError::of(&error))?;
        let roster = roster(config, &self.toolbox)?;
        let declared = declared(config, token.clone())?;
        let search = config.memory.search().map_err(ConfigError::new)?;
        let models = self.models.next(&self.home, config);
        // Before a model can use the new keys; the old ones stay masked, for runs that have them.
        self.masker.add(masked(&models.registry, &token, &self.secrets));
        self.models.set(models);
        self.index.set_search(search);
        self.set_memory(config.memory.clone());
        self.use_embedder().await;
        self.runs.set_roster(roster);
        self.runs.set_max_runs(config.gateway.max_runs());
        self.runs.set_titles(titles(config));
        self.auth.set_hosts(&config.gateway.hosts);
        self.auth.identity().declare(declared).await?;
        remember(&self.home, config);
        Ok(())
    }

    fn exposure(&self) -> Exposure {
        match self.auth.identity().has_chosen_credentials() {
            true => Exposure::Guarded,
            false => Exposure::Unguarded,
        }
    }

    /// What is wrong with the file, if it is not the config that counts.
    pub(super) fn broken(&self) -> Option<ConfigError> {
        self.broken.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn storage(&self) -> Dependency {
        match self.store.ledger.active_runs().await {
            Ok(_) => Dependency::ok("storage"),
            Err(error) => Dependency::down("storage", error.to_string()),
        }
    }

    fn config(&self) -> Dependency {
        match self.broken() {
            None => Dependency::ok("config"),
            Some(error) => Dependency::degraded("config", error.to_string()),
        }
    }

    fn memory(&self) -> Dependency {
        match self.index.embedding() {
            Embedding::Ready { .. } | Embedding::Off => Dependency::ok("memory"),
            Embedding::Failing { model, reason } => {
                Dependency::degraded("memory", format!("searched by words only: {model}: {reason}"))
            }
        }
    }

    fn providers(&self) -> Vec<Dependency> {
        self.models.get().registry.status().iter().map(provider).collect()
    }
}

fn provider(status: &ProviderStatus) -> Dependency {
    let name = format!("provider:{}", status.name);
    match (&status.state, status.health()) {
        (ProviderState::Disabled { reason }, _) => Dependency::degraded(name, reason),
        (ProviderState::Ready { .. }, ProviderHealth::Failing { model, reason, .. }) => {
            Dependency::degraded(name, format!("{model}: {reason}"))
        }
        (ProviderState::Ready { .. }, ProviderHealth::Untried | ProviderHealth::Well) => {
            Dependency::ok(name)
        }
    }
}

impl Readiness for Live {
    fn dependencies(&self) -> BoxFuture<'_, Vec<Dependency>> {
        Box::pin(async {
            let mut all = vec![self.config(), self.storage().await, self.memory()];
            all.extend(self.providers());
            all
        })
    }
}

pub(super) fn titles(config: &Config) -> Titles {
    config.agents.defaults.titles.unwrap_or(Titles::Model)
}

/// The agents of a config; its warnings go to the log.
pub(super) fn roster(config: &Config, toolbox: &Toolbox) -> Result<Roster, ConfigError> {
    let (roster, warnings) = Roster::resolve(&config.agents, &config.limits, toolbox)?;
    let missing = config.missing.iter().map(ToString::to_string);
    for warning in config.warnings.iter().cloned().chain(missing).chain(warnings) {
        tracing::warn!("onyx.json: {warning}");
    }
    Ok(roster)
}
