//! The models of the current config, each charged to the budget of the person who uses it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use futures::future::{BoxFuture, FutureExt};
use onyx_agent::{ModelChoice, Models, Payer};
use onyx_identity::Secrets;
use onyx_local::{LOCAL, SMOLLM2};
use onyx_providers::{
    BookedModel, Locality, Logins, Metadata, ModelsSettings, Need, Registry, RoutingSettings,
    SecretSource, Setup, SpendAccounts, SpendBook, SpendLimits, Task, TaskClass, UsageEstimate,
};
use onyx_storage::Ledger;
use onyx_tools::{ModelPick, ModelRouter, ModelWish};
use onyx_types::{
    AgentId, Clock, ErrorCode, Fault, IdGenerator, Limits, Model, ModelId, PersonId, SessionKey,
    TokenCounter, Usage,
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
    current: RwLock<Arc<Current>>,
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

pub(super) struct Current {
    pub(super) registry: Registry,
    pub(super) default_model: Option<String>,
    pub(super) aliases: ModelsSettings,
    routing: RoutingSettings,
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
            current: RwLock::new(Arc::new(Current::of(registry, config))),
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
    pub(super) fn next(&self, home: &HomeFolder, config: &Config) -> Current {
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
        Current::of(registry(config, setup), config)
    }

    pub(super) fn logins(&self) -> &Logins {
        &self.logins
    }

    pub(super) fn ports(&self) -> &BTreeMap<String, u16> {
        &self.ports
    }

    pub(super) fn set(&self, next: Current) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }

    pub(super) fn get(&self) -> Arc<Current> {
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
        let key = self.passing_key(person)?;
        let payer = onyx_providers::Payer { person: person.clone(), agent: key.agent.clone() };
        let model = Arc::new(self.accounts.budget(model, payer, limits(limits_of)));
        let (ledger, clock) = (Arc::clone(&self.ledger), Arc::clone(&self.clock));
        let book = LedgerBook { ledger, clock, key, pauses: pauses() };
        Ok(Arc::new(BookedModel::new(model, Arc::new(book), estimate)))
    }

    /// The key to which a request without a session is charged.
    fn passing_key(&self, person: &PersonId) -> Result<SessionKey, Fault> {
        let now = self.clock.wall();
        let session = IdGenerator::new(now.as_millis().unsigned_abs()).session(now);
        Ok(SessionKey { person: person.clone(), agent: PASSING.parse()?, session })
    }

    /// Records the cost of making vectors of texts.
    pub(super) async fn book_embedding(
        &self,
        person: &PersonId,
        model: &ModelId,
        usage: Usage,
    ) -> Result<(), Fault> {
        let key = self.passing_key(person)?;
        Ok(self.ledger.book(&key, model, usage, self.clock.wall()).await?)
    }
}

/// The name under which the spending of requests that pass through is summed up.
const PASSING: &str = "pass-through";

impl Current {
    fn of(registry: Registry, config: &Config) -> Self {
        Self {
            registry,
            default_model: config.default_model.clone(),
            aliases: config.models.clone(),
            routing: config.routing.clone(),
        }
    }

    fn chain(&self, choice: &ModelChoice) -> Result<Arc<dyn Model>, Fault> {
        self.registry.chosen(&self.routing, &self.primary(choice), &choice.fallbacks)
    }

    /// The first model of a choice: the one it names, the default one, or the one that is always
    /// here.
    fn primary(&self, choice: &ModelChoice) -> ModelId {
        let default = || self.default_model.clone().or_else(|| self.registry.default_model());
        let named = choice.primary.clone().or_else(|| default().map(ModelId::new));
        named.unwrap_or_else(|| ModelId::new(format!("{LOCAL}/{SMOLLM2}")))
    }

    /// The choice if all its models run on this machine; an error names the others.
    fn local_choice(&self, choice: &ModelChoice) -> Result<ModelChoice, Fault> {
        let primary = self.primary(choice);
        let primary = self.registry.local_only(&self.routing, primary, &choice.fallbacks)?;
        Ok(ModelChoice { primary: Some(primary), fallbacks: choice.fallbacks.clone() })
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
        let model = self.get().chain(choice)?;
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
        let choice = self.get().local_choice(choice)?;
        self.resolve(&choice, payer)
    }

    fn through_gateway(&self, choice: &ModelChoice) -> Option<Result<ModelChoice, Fault>> {
        let current = self.get();
        let default = || current.default_model.clone().or_else(|| current.registry.default_model());
        let primary = choice.primary.clone().or_else(|| default().map(ModelId::new))?;
        subscription::through(&current.registry, &primary)
    }

    fn lacks_tools(&self, model: &str) -> bool {
        let known = self.get().registry.candidates();
        known.iter().any(|known| known.id == model && known.facts.tools == Some(false))
    }

    /// Whether the model is small. Models that Onyx runs itself are.
    fn is_small(&self, model: &str) -> bool {
        model.strip_prefix(LOCAL).is_some_and(|rest| rest.starts_with('/'))
    }

    fn token_counter(&self, model: &str) -> Arc<dyn TokenCounter> {
        self.get().registry.token_counter(model)
    }
}

impl ModelRouter for LiveModels {
    fn pick(&self, wish: &ModelWish) -> Result<ModelPick, Fault> {
        let current = self.get();
        if let Some(model) = &wish.model {
            let known: Vec<String> =
                current.registry.candidates().into_iter().map(|known| known.id).collect();
            return if known.iter().any(|known| known == model.as_str()) {
                Ok(ModelPick {
                    model: model.clone(),
                    reason: String::new(),
                    is_local: current.registry.is_local(model.as_str()),
                })
            } else {
                Err(Fault::new(
                    ErrorCode::ModelNotFound,
                    format!("`{model}` is not among the configured models."),
                )
                .with_hint(format!("There are: {}.", known.join(", "))))
            };
        }
        let class = wish.task.as_deref().map_or(Ok(TaskClass::default()), TaskClass::named)?;
        let locality = wish.local.then_some(Locality::ThisMachine);
        let task = Task { class, locality, needs: vec![Need::Tools], ..Task::default() };
        let choice = current.registry.route(&current.routing, &task)?;
        let is_local = current.registry.is_local(&choice.model);
        Ok(ModelPick { model: ModelId::new(choice.model), reason: choice.reason, is_local })
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
