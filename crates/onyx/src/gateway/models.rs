//! The models of the current config, each charged to the budget of the person who uses it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use futures::future::{BoxFuture, FutureExt};
use onyx_agent::{ModelChoice, Models, Payer};
use onyx_identity::Secrets;
use onyx_local::{LOCAL, SMOLLM2};
use onyx_providers::{
    BookedModel, ConfiguredModels, Locality, Logins, Metadata, PickedModel, Registry, SecretSource,
    Setup, SpendAccounts, SpendBook, SpendLimits, UsageEstimate,
};
use onyx_storage::Ledger;
use onyx_tools::{ModelPick, ModelRouter, ModelWish};
use onyx_types::{
    AgentId, Clock, Fault, IdGenerator, Limits, Model, ModelId, PersonId, SessionKey, TokenCounter,
    Usage,
};

use super::bedrock;
use super::booked::LedgerBook;
use super::local::LocalHost;
use super::logins::KeptTokens;
use super::pauses::pauses;
use super::runtimes::{RuntimeHost, RuntimeSetup};
use super::secrets::StoredSecrets;
use super::subscription;
use crate::config::Config;
use crate::env;
use crate::home::HomeFolder;

pub(super) struct LiveModels {
    current: RwLock<Arc<ConfiguredModels>>,
    accounts: Arc<SpendAccounts>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    secrets: StoredSecrets,
    logins: Arc<Logins>,
    local: LocalHost,
    runtimes: RuntimeHost,
    /// The ports of model servers on this machine that are not at their usual port.
    ports: BTreeMap<String, u16>,
}

impl LiveModels {
    pub(super) fn new(
        home: &HomeFolder,
        config: &Config,
        ledger: Arc<dyn Ledger>,
        clock: Arc<dyn Clock>,
        secrets: Arc<Secrets>,
        tokens: KeptTokens,
    ) -> Self {
        let logins = Arc::new(Logins::new(Arc::new(tokens), Arc::clone(&clock)));
        let secrets = StoredSecrets(secrets);
        let (local, runtimes) = (LocalHost::default(), RuntimeHost::default());
        let setup = RegistrySetup {
            home,
            clock: Arc::clone(&clock),
            previous: None,
            secrets: &secrets,
            logins: &logins,
            local: &local,
            runtimes: &runtimes,
        };
        let registry = registry(config, setup);
        Self {
            current: RwLock::new(Arc::new(configured(registry, config))),
            accounts: Arc::new(SpendAccounts::new(
                Arc::new(LedgerSpending(Arc::clone(&ledger))),
                Arc::clone(&clock),
            )),
            ledger,
            clock,
            secrets,
            logins,
            local,
            runtimes,
            ports: env::local_ports(),
        }
    }

    /// The models after an edit of the config.
    pub(super) fn next(&self, home: &HomeFolder, config: &Config) -> ConfiguredModels {
        let before = self.get();
        let setup = RegistrySetup {
            home,
            clock: Arc::clone(&self.clock),
            previous: Some(&before.registry),
            secrets: &self.secrets,
            logins: &self.logins,
            local: &self.local,
            runtimes: &self.runtimes,
        };
        configured(registry(config, setup), config)
    }

    pub(super) fn logins(&self) -> &Logins {
        &self.logins
    }

    pub(super) fn ports(&self) -> &BTreeMap<String, u16> {
        &self.ports
    }

    pub(super) fn set(&self, next: ConfiguredModels) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }

    pub(super) fn get(&self) -> Arc<ConfiguredModels> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LiveModels {
    /// A model for a person's request without an agent. Its cost is recorded, and its text is not
    /// stored.
    pub(super) fn paid_by(
        &self,
        model: Arc<dyn Model>,
        person: &PersonId,
        limits_of: &Limits,
        estimate: UsageEstimate,
    ) -> Result<Arc<dyn Model>, Fault> {
        let payer = onyx_providers::Payer::without_agent(person)?;
        let key = self.key_without_session(&payer);
        let model = Arc::new(self.accounts.budget(model, payer, limits(limits_of)));
        let (ledger, clock) = (Arc::clone(&self.ledger), Arc::clone(&self.clock));
        let book = LedgerBook { ledger, clock, key, pauses: pauses() };
        Ok(Arc::new(BookedModel::new(model, Arc::new(book), estimate)))
    }

    /// The ledger charges a session, so a request without one is charged to a new name.
    fn key_without_session(&self, payer: &onyx_providers::Payer) -> SessionKey {
        let now = self.clock.wall();
        let session = IdGenerator::new(now.as_millis().unsigned_abs()).session(now);
        SessionKey { person: payer.person.clone(), agent: payer.agent.clone(), session }
    }

    /// Records the cost of making vectors of texts.
    pub(super) async fn book_embedding(
        &self,
        person: &PersonId,
        model: &ModelId,
        usage: Usage,
    ) -> Result<(), Fault> {
        let key = self.key_without_session(&onyx_providers::Payer::without_agent(person)?);
        Ok(self.ledger.book(&key, model, usage, self.clock.wall()).await?)
    }
}

/// The model that answers on a home that names none.
pub(crate) fn embedded_model() -> ModelId {
    ModelId::new(format!("{LOCAL}/{SMOLLM2}"))
}

fn configured(registry: Registry, config: &Config) -> ConfiguredModels {
    ConfiguredModels {
        registry,
        default_model: config.default_model.clone(),
        aliases: config.models.clone(),
        routing: config.routing.clone(),
        embedded: embedded_model(),
    }
}

/// What a registry is built from, beside the config.
pub(crate) struct RegistrySetup<'a> {
    pub(crate) home: &'a HomeFolder,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) previous: Option<&'a Registry>,
    pub(crate) secrets: &'a dyn SecretSource,
    pub(crate) logins: &'a Arc<Logins>,
    pub(crate) local: &'a LocalHost,
    pub(crate) runtimes: &'a RuntimeHost,
}

/// The providers of a config; unchanged ones keep the state that `previous` had of them.
pub(crate) fn registry(config: &Config, setup: RegistrySetup<'_>) -> Registry {
    let RegistrySetup { home, clock, previous, secrets, logins, local, runtimes } = setup;
    let environment = |name: &str| config.environment.get(name);
    let metadata = Metadata::with_overrides(&home.model_facts()).unwrap_or_else(|error| {
        // The person's `models.json` is optional, so an unreadable one stops nothing.
        tracing::warn!(%error, "models.json cannot be read and is ignored");
        Metadata::bundled()
    });
    let programs = runtimes.sources(config, &RuntimeSetup { home, clock: &clock, secrets });
    let setup = Setup {
        metadata: Arc::new(metadata),
        clock,
        previous,
        secrets,
        logins: Arc::clone(logins),
        // Providers of the config take precedence over those found on the machine.
        sources: [bedrock::sources(config, secrets), programs, local.sources(home, config)]
            .concat(),
        ..Setup::new(&environment)
    };
    Registry::resolve_with(config.providers.clone(), setup)
}

impl Models for LiveModels {
    fn resolve(&self, choice: &ModelChoice, payer: Payer<'_>) -> Result<Arc<dyn Model>, Fault> {
        let model = self.get().chain(choice.primary.as_ref(), &choice.fallbacks)?;
        let limits = limits(payer.limits);
        let payer =
            onyx_providers::Payer { person: payer.person.clone(), agent: payer.agent.clone() };
        Ok(Arc::new(self.accounts.budget(model, payer, limits)))
    }

    fn resolve_local(
        &self,
        choice: &ModelChoice,
        payer: Payer<'_>,
    ) -> Result<Arc<dyn Model>, Fault> {
        let fallbacks = choice.fallbacks.clone();
        let primary = self.get().local_primary(choice.primary.as_ref(), &fallbacks)?;
        self.resolve(&ModelChoice { primary: Some(primary), fallbacks }, payer)
    }

    fn through_gateway(&self, choice: &ModelChoice) -> Option<Result<ModelChoice, Fault>> {
        let current = self.get();
        let primary = current.named_or_default(choice.primary.as_ref())?;
        subscription::through(&current.registry, &primary)
    }

    fn lacks_tools(&self, model: &str) -> bool {
        self.get().lacks_tools(model)
    }

    fn is_small(&self, model: &str) -> bool {
        self.get().is_small(model)
    }

    fn token_counter(&self, model: &str) -> Arc<dyn TokenCounter> {
        self.get().registry.token_counter(model)
    }
}

impl ModelRouter for LiveModels {
    fn pick(&self, wish: &ModelWish) -> Result<ModelPick, Fault> {
        let current = self.get();
        let locality = wish.local.then_some(Locality::ThisMachine);
        let PickedModel { model, reason, is_local } = match &wish.model {
            Some(model) => current.pick_named(model)?,
            None => current.pick_for_task(wish.task.as_deref(), locality)?,
        };
        Ok(ModelPick { model, reason, is_local })
    }

    fn has_choice(&self) -> bool {
        self.get().registry.has_choice()
    }
}

fn limits(limits: &Limits) -> SpendLimits {
    SpendLimits {
        run: limits.max_cost,
        person: limits.max_cost_per_day,
        agent: limits.max_cost_per_agent_day,
    }
}

/// Spending as the ledger has it.
struct LedgerSpending(Arc<dyn Ledger>);

impl SpendBook for LedgerSpending {
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
