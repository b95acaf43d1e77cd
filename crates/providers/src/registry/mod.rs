//! Providers by name: settings become models, or the reason why there is none.

mod absent;
mod auto;
mod candidates;
mod catalogue;
mod check;
mod embedder;
mod error;
mod forward;
mod guards;
mod health;
mod kinds;
mod listing;
mod local_servers;
mod login;
mod media;
mod probe;
mod provider;
mod reference;
mod resolve;
mod settings;
mod source;
mod stack;
mod status;
mod vendor;

pub use check::{Finding, ProviderProblem, ProviderTest};
pub use error::RegistryError;
pub use forward::{ForwardRoute, Forwarding};
pub use health::ModelStatus;
pub use kinds::ProviderKind;
pub use listing::ListedModel;
pub use local_servers::LocalServer;
pub use media::MediaRequest;
pub use reference::{Environment, NoSecrets, SecretSource, secret_of};
pub use settings::{CompatSettings, ModelSettings, ProviderSettings, TimeoutSettings};
pub use source::{ModelSource, ModelWeights, NamedSource, WeightsFile};
pub use status::{ProviderHealth, ProviderState, ProviderStatus};
pub use vendor::{AuthStyle, KeyNeed, Locality, MachineIdentity, VENDORS, Vendor};

use std::collections::BTreeMap;
use std::sync::Arc;

use onyx_types::{
    Clock, Embedder, ErrorCode, Fault, Model, ModelId, SamplingSetting, SystemClock, TokenCounter,
};
use serde_json::{Map, Value};

use crate::Secret;
use crate::decorators::{BreakerPolicy, RetryPolicy};
use crate::metadata::{Metadata, ModelFacts, Price};
use crate::oauth::{LoginStatus, LoginWay, Logins, NoTokens, Pending};
use crate::routing::{Candidate, Choice, RoutingSettings, Task, TaskClass, route};
use crate::wire::Wire;
use auto::Auto;
use catalogue::Catalogue;
use guards::Guards;

/// All configured providers. Immutable: a changed config makes a new registry, which keeps the
/// connections and the health of every provider that stays the same.
#[derive(Debug)]
pub struct Registry {
    catalogue: Catalogue,
    guards: Guards,
}

/// What a registry is built from. `new` has what tests and small tools need; a gateway sets the
/// rest.
pub struct Setup<'a> {
    pub environment: Environment<'a>,
    pub secrets: &'a dyn SecretSource,
    pub clock: Arc<dyn Clock>,
    pub metadata: Arc<Metadata>,
    /// Models without a wire, by name. If a provider of the config has the same name, the source
    /// reads its settings and the registry does not use the provider itself. A source that is not
    /// available has the reason and is disabled.
    pub sources: Vec<NamedSource>,
    /// Sign-ins, which outlive registries.
    pub logins: Arc<Logins>,
    /// The registry that this one replaces.
    pub previous: Option<&'a Registry>,
}

impl<'a> Setup<'a> {
    pub fn new(environment: Environment<'a>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        Self {
            environment,
            secrets: &NoSecrets,
            logins: Arc::new(Logins::new(Arc::new(NoTokens), Arc::clone(&clock))),
            clock,
            metadata: Arc::new(Metadata::bundled()),
            sources: Vec::new(),
            previous: None,
        }
    }
}

impl Registry {
    /// Resolves each provider once. One that cannot be used is disabled with a reason; the others
    /// are not affected. `environment` looks up a variable.
    pub fn resolve(
        settings: impl IntoIterator<Item = (String, ProviderSettings)>,
        environment: Environment<'_>,
    ) -> Self {
        Self::resolve_with(settings, Setup::new(environment))
    }

    pub fn resolve_with(
        settings: impl IntoIterator<Item = (String, ProviderSettings)>,
        setup: Setup<'_>,
    ) -> Self {
        let before = setup.previous.map(|registry| &registry.guards);
        let guards = Guards {
            retry: before.map_or_else(RetryPolicy::default, |before| before.retry),
            breaker: before.map_or_else(BreakerPolicy::default, |before| before.breaker),
            clock: Arc::clone(&setup.clock),
        };
        Self { catalogue: Catalogue::new(settings, setup), guards }
    }

    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.guards.retry = retry;
        self
    }

    #[must_use]
    pub fn with_breaker(mut self, breaker: BreakerPolicy) -> Self {
        self.guards.breaker = breaker;
        self
    }

    /// Whether the name belongs to a provider, even a disabled one.
    pub fn has_provider(&self, name: &str) -> bool {
        self.catalogue.has_provider(name)
    }

    /// The model of this id, `<provider>/<model>`; the model's own name may hold slashes.
    pub fn model(&self, id: &str) -> Result<Arc<dyn Model>, RegistryError> {
        stack::model(&self.catalogue, &self.guards, id)
    }

    /// The first model, and those to ask in its place when it cannot answer. Fails only when none
    /// of them is available; a single unavailable one is skipped at each call, with a notice.
    pub fn chain(
        &self,
        primary: &ModelId,
        fallbacks: &[ModelId],
    ) -> Result<Arc<dyn Model>, RegistryError> {
        stack::chain(primary, fallbacks, |id| self.model(id))
    }

    /// The model for one run: for `auto` one that the rules choose, otherwise the one that is named.
    pub fn chosen(
        &self,
        settings: &RoutingSettings,
        primary: &ModelId,
        fallbacks: &[ModelId],
    ) -> Result<Arc<dyn Model>, Fault> {
        match TaskClass::of_auto(primary.as_str()) {
            Some(class) => self.auto(settings, class?, fallbacks),
            None => Ok(self.chain(primary, fallbacks)?),
        }
    }

    /// The first model of a choice, if it and its fallbacks run on this machine; `auto` is decided
    /// among those that do. The error names a model that runs elsewhere.
    pub fn local_only(
        &self,
        settings: &RoutingSettings,
        primary: ModelId,
        fallbacks: &[ModelId],
    ) -> Result<ModelId, Fault> {
        let primary = match TaskClass::of_auto(primary.as_str()) {
            Some(class) => {
                let locality = Some(Locality::ThisMachine);
                let task = Task { class: class?, locality, ..Task::default() };
                ModelId::new(self.route(settings, &task)?.model)
            }
            None => primary,
        };
        let mut all = std::iter::once(&primary).chain(fallbacks);
        if let Some(elsewhere) = all.find(|model| !self.is_local(model.as_str())) {
            let message = format!("Only local models may be used here; {elsewhere} is not local.");
            return Err(Fault::new(ErrorCode::Forbidden, message).with_hint(
                "Choose a local model, or remove `localOnly` from the agent or `local_only` from the \
                 space.",
            ));
        }
        Ok(primary)
    }

    /// Whether a model runs on this machine.
    pub fn is_local(&self, model: &str) -> bool {
        self.locality(model) == Some(Locality::ThisMachine)
    }

    /// A model for one run that chooses the answering model at its first call and keeps it.
    /// `fallbacks` are asked after the models of the rules.
    pub fn auto(
        &self,
        settings: &RoutingSettings,
        class: TaskClass,
        fallbacks: &[ModelId],
    ) -> Result<Arc<dyn Model>, Fault> {
        let mut choices = Vec::new();
        for candidate in self.candidates() {
            let model = self.model(&candidate.id)?;
            choices.push((candidate, model));
        }
        let standby =
            fallbacks.iter().map(|id| self.model(id.as_str())).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(Auto::new(settings, class, choices, standby)?))
    }

    /// The embedding model of this id, `<provider>/<model>`. Asks the provider for the length of
    /// its vectors unless the config, the person's file or the snapshot knows it.
    pub async fn embedder(&self, id: &str) -> Result<Arc<dyn Embedder>, Fault> {
        embedder::embedder(&self.catalogue, &self.guards, id).await
    }

    /// Sends the body, with the model's own name, to the provider's address with the provider's
    /// key.
    pub fn forward(
        &self,
        id: &str,
        wire: Wire,
        body: Map<String, Value>,
        betas: Option<&str>,
    ) -> Result<ForwardRoute, RegistryError> {
        forward::forward(&self.catalogue, &self.guards, id, wire, body, betas)
    }

    /// Prepares a request to a provider that may have such a route.
    pub fn media(&self, id: &str, request: MediaRequest) -> Result<Forwarding, RegistryError> {
        media::media(&self.catalogue, &self.guards, id, request)
    }

    /// The default model: that of the first usable provider whose circuit is closed, else of the
    /// first usable one, else of the first source.
    pub fn default_model(&self) -> Option<String> {
        stack::default_model(&self.catalogue, self.guards.now())
    }

    /// The models to choose from: those in the config, and the default one of each provider that
    /// lists none.
    pub fn candidates(&self) -> Vec<Candidate> {
        candidates::candidates(&self.catalogue, self.guards.now())
    }

    /// Whether there is more than one model to choose from.
    pub fn has_choice(&self) -> bool {
        candidates::has_choice(&self.catalogue)
    }

    /// Decides for `auto`: which model takes the task, by the config's rules.
    pub fn route(&self, settings: &RoutingSettings, task: &Task) -> Result<Choice, Fault> {
        Ok(route(settings, task, &self.candidates())?)
    }

    /// The known facts of a model, whether or not its provider can be used.
    pub fn facts(&self, id: &str) -> Result<ModelFacts, RegistryError> {
        self.catalogue.facts(id)
    }

    /// The known price of a model. A call of a model that cannot be used fails by itself, so it needs
    /// no price.
    pub fn price(&self, id: &str) -> Option<Price> {
        self.facts(id).ok().and_then(|facts| facts.price)
    }

    /// Where a model runs; `None` for a model that no provider offers.
    pub fn locality(&self, model: &str) -> Option<Locality> {
        candidates::locality(&self.catalogue, model, self.guards.now())
    }

    /// The files of a model that runs here, and where it runs.
    pub fn weights(&self, id: &str) -> Option<(ModelWeights, Locality)> {
        self.catalogue.weights(id)
    }

    /// Counts tokens as this model does, more exactly the more it has answered. For a model that is
    /// not available, the general rule counts.
    pub fn token_counter(&self, id: &str) -> Arc<dyn TokenCounter> {
        stack::token_counter(&self.catalogue, id)
    }

    /// The settings of a request that this model supports; the client is informed about the others.
    pub fn takes(&self, id: &str) -> Vec<SamplingSetting> {
        stack::takes(&self.catalogue, id)
    }

    /// The settings that are supported by every model from which `auto` chooses.
    pub fn taken_by_all(&self) -> Vec<SamplingSetting> {
        let candidates = self.candidates();
        let taken: Vec<Vec<SamplingSetting>> =
            candidates.iter().map(|model| self.takes(&model.id)).collect();
        let by_all = |setting: &SamplingSetting| taken.iter().all(|taken| taken.contains(setting));
        SamplingSetting::ALL.into_iter().filter(by_all).collect()
    }

    /// Lists a provider's models, and explains what is wrong if it does not answer.
    pub async fn test(&self, name: &str) -> ProviderTest {
        probe::probe(&self.catalogue, &self.guards.clock, name).await
    }

    /// The models that a provider lists.
    pub async fn list_models(&self, name: &str) -> Result<Vec<ListedModel>, Fault> {
        probe::list_models(&self.catalogue, &self.guards.clock, name).await
    }

    /// Finds model servers on this machine that are not configured, asking all at once. `ports`:
    /// where a vendor listens when it is not at its usual port; the host is always this machine.
    pub async fn found(&self, ports: &BTreeMap<String, u16>) -> Vec<LocalServer> {
        local_servers::found(&self.catalogue, &self.guards.clock, ports).await
    }

    pub fn status(&self) -> Vec<ProviderStatus> {
        status::all(&self.catalogue, self.guards.now())
    }

    /// The providers that are programs of this machine with a person's sign-in, in the order of the
    /// config; no others are looked at.
    pub fn programs(&self) -> Vec<ProviderStatus> {
        status::programs(&self.catalogue, self.guards.now())
    }

    /// Every key and secret header of the providers, for masking.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.catalogue.secrets()
    }

    /// The state of a provider's sign-in; `None` for a provider that uses a key, or no credential.
    pub fn login(&self, name: &str) -> Result<Option<LoginStatus>, Fault> {
        login::status(&self.catalogue, name)
    }

    /// Begins a sign-in in one of the provider's ways, and waits for the person.
    pub async fn begin_login(&self, name: &str, way: Option<LoginWay>) -> Result<Pending, Fault> {
        login::named(&self.catalogue, name)?.begin(way).await
    }

    /// Finishes a sign-in with the address at which the browser ended, pasted by the person.
    pub fn finish_login(&self, name: &str, address: &str) -> Result<(), Fault> {
        login::named(&self.catalogue, name)?.finish(address)
    }
}
