//! The models of the config that counts now, on everybody's budget.

use std::sync::{Arc, PoisonError, RwLock};

use futures::future::{BoxFuture, FutureExt};
use onyx_agent::{ModelChoice, Models, Payer};
use onyx_identity::Secrets;
use onyx_providers::{Metadata, Registry, SecretSource, Setup, SpendBook, SpendLimits, Till};
use onyx_storage::Ledger;
use onyx_types::{AgentId, Clock, ErrorCode, Fault, Limits, Model, PersonId, TokenCounter};

use super::secrets::StoredSecrets;
use crate::config::Config;
use crate::home::HomeFolder;

pub(super) struct LiveModels {
    current: RwLock<Arc<Current>>,
    till: Arc<Till>,
    clock: Arc<dyn Clock>,
    secrets: StoredSecrets,
}

pub(super) struct Current {
    pub(super) registry: Registry,
    default_model: Option<String>,
}

impl LiveModels {
    pub(super) fn new(
        home: &HomeFolder,
        config: &Config,
        ledger: Arc<dyn Ledger>,
        clock: Arc<dyn Clock>,
        secrets: Arc<Secrets>,
    ) -> Self {
        let secrets = StoredSecrets(secrets);
        let registry = registry(home, config, Arc::clone(&clock), None, &secrets);
        Self {
            current: RwLock::new(Arc::new(Current::of(registry, config))),
            till: Arc::new(Till::new(Arc::new(Books(ledger)), Arc::clone(&clock))),
            clock,
            secrets,
        }
    }

    pub(super) fn set(&self, home: &HomeFolder, config: &Config) {
        let before = self.get();
        let (clock, previous) = (Arc::clone(&self.clock), Some(&before.registry));
        let registry = registry(home, config, clock, previous, &self.secrets);
        let current = Arc::new(Current::of(registry, config));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
    }

    pub(super) fn get(&self) -> Arc<Current> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Current {
    fn of(registry: Registry, config: &Config) -> Self {
        Self { registry, default_model: config.default_model.clone() }
    }

    fn chain(&self, choice: &ModelChoice) -> Result<Arc<dyn Model>, Fault> {
        let default = || self.default_model.clone().or_else(|| self.registry.default_model());
        let Some(primary) = choice.primary.clone().or_else(default) else {
            return Err(Fault::new(ErrorCode::ModelNotFound, "No model is configured.").with_hint(
                "Name one as `model` of the agent in onyx.json, and its provider under `providers`.",
            ));
        };
        Ok(self.registry.chain(&primary, &choice.fallbacks)?)
    }
}

/// The providers of a config; what stays the same goes on with what `previous` knew of it.
pub(crate) fn registry(
    home: &HomeFolder,
    config: &Config,
    clock: Arc<dyn Clock>,
    previous: Option<&Registry>,
    secrets: &dyn SecretSource,
) -> Registry {
    let environment = |name: &str| config.environment.get(name);
    let metadata = Metadata::with_overrides(&home.model_facts()).unwrap_or_else(|error| {
        // What a person says of models is a convenience; nothing stops without it.
        tracing::warn!(%error, "models.json is not used");
        Metadata::bundled()
    });
    let metadata = Arc::new(metadata);
    let setup = Setup { metadata, clock, previous, secrets, ..Setup::new(&environment) };
    Registry::resolve_with(config.providers.clone(), setup)
}

impl Models for LiveModels {
    fn resolve(&self, choice: &ModelChoice, payer: Payer<'_>) -> Result<Arc<dyn Model>, Fault> {
        let model = self.get().chain(choice)?;
        let limits = limits(payer.limits);
        let payer =
            onyx_providers::Payer { person: payer.person.clone(), agent: payer.agent.clone() };
        Ok(Arc::new(self.till.budget(model, payer, limits)))
    }

    fn token_counter(&self, model: &str) -> Arc<dyn TokenCounter> {
        self.get().registry.token_counter(model)
    }
}

fn limits(limits: &Limits) -> SpendLimits {
    SpendLimits {
        run: limits.max_cost,
        person: limits.max_cost_per_day,
        agent: limits.max_cost_per_agent_day,
    }
}

/// The stored spending.
struct Books(Arc<dyn Ledger>);

impl SpendBook for Books {
    fn spent<'a>(&'a self, who: &'a PersonId, day: &'a str) -> BoxFuture<'a, Result<f64, Fault>> {
        async move { Ok(self.0.spent(who, day).await?) }.boxed()
    }

    fn spent_by_agent<'a>(
        &'a self,
        agent: &'a AgentId,
        day: &'a str,
    ) -> BoxFuture<'a, Result<f64, Fault>> {
        async move { Ok(self.0.spent_by_agent(agent, day).await?) }.boxed()
    }
}
