//! Providers by name: from settings to models, with the reason where there is none.

mod absent;
mod auto;
mod candidates;
mod check;
mod embedder;
mod forward;
mod found;
mod health;
mod listing;
mod login;
mod media;
mod provider;
mod reference;
mod resolve;
mod settings;
mod source;
mod stack;
mod status;
mod vendor;

pub use check::{Finding, ProviderTest, Trouble};
pub use forward::{Forwarding, Way};
pub use found::Found;
pub use health::ModelStatus;
pub use listing::ListedModel;
pub use media::MediaRequest;
pub use reference::{Environment, NoSecrets, SecretSource, secret_of};
pub use settings::{
    CompatSettings, ModelSettings, ProviderKind, ProviderSettings, TimeoutSettings,
};
pub use source::{ModelSource, ModelWeights, NamedSource, WeightsFile};
pub use status::{ProviderHealth, ProviderState, ProviderStatus};
pub use vendor::{AuthStyle, KeyNeed, Locality, MachineIdentity, VENDORS, Vendor};

use std::sync::Arc;

use onyx_types::{Clock, ErrorCode, Fault, Model, SystemClock};

use crate::Secret;
use crate::decorators::{BreakerPolicy, Priced, RetryPolicy, StopWords};
use crate::metadata::{Metadata, ModelFacts};
use crate::oauth::{Login, Logins, NoTokens};
use provider::Provider;
use reference::References;
use source::Sourced;

/// All configured providers. Immutable: a changed config makes a new registry, which goes on with
/// the connections and the health of every provider that stays the same.
#[derive(Debug)]
pub struct Registry {
    /// In the order of the config, which decides the default.
    providers: Vec<Entry>,
    sources: Vec<Sourced>,
    retry: RetryPolicy,
    breaker: BreakerPolicy,
    clock: Arc<dyn Clock>,
    metadata: Arc<Metadata>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    kind: Option<ProviderKind>,
    resolved: Result<Arc<Provider>, String>,
    /// Its sign-in, or what to set for one.
    login: Result<Arc<Login>, Fault>,
}

/// What a registry stands on. `new` has what tests and small tools need; a gateway sets the rest.
pub struct Setup<'a> {
    pub environment: Environment<'a>,
    pub secrets: &'a dyn SecretSource,
    pub clock: Arc<dyn Clock>,
    pub metadata: Arc<Metadata>,
    /// Models without a wire, by the name they go under. A provider of the config with the same
    /// name stands back: its settings are the source's own to read. One that cannot be had comes
    /// with the reason, and is disabled.
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

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("`{0}` is not a model: write <provider>/<model>")]
    NotAModel(String),
    #[error("no provider is named `{0}` in the config")]
    UnknownProvider(String),
    #[error("the provider `{name}` is disabled: {reason}")]
    Disabled { name: String, reason: String },
    /// What a source of its own says of one of its models.
    #[error(transparent)]
    Source(Fault),
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
        let references = References { environment: setup.environment, secrets: setup.secrets };
        let entry = |(name, settings): (String, ProviderSettings)| {
            let kind = resolve::kind_of(&name, &settings);
            let before = setup.previous.and_then(|registry| registry.provider(&name).ok());
            let resolved = resolve::resolve(&name, &settings, references, &setup.logins);
            let resolved = resolved.map(|mut provider| {
                if let Some(before) = &before {
                    provider.succeed(before);
                }
                provider.learn(&setup.metadata);
                Arc::new(provider)
            });
            let resolved = resolved.map_err(|disabled| disabled.to_string());
            if let Err(reason) = &resolved {
                tracing::warn!(provider = name, reason, "provider disabled");
            }
            let login = login::of(&name, &settings, &resolved);
            Entry { name, kind, resolved, login }
        };
        let unable = |name: &str| {
            let source = setup.sources.iter().find(|(other, _)| other == name);
            source.map(|(_, source)| source.as_ref().err().cloned())
        };
        let providers = settings
            .into_iter()
            .filter_map(|(name, settings)| match unable(&name) {
                None => Some(entry((name, settings))),
                Some(reason) => {
                    let resolved = Err(reason?);
                    let login = login::of(&name, &settings, &resolved);
                    let kind = resolve::kind_of(&name, &settings);
                    Some(Entry { kind, name, resolved, login })
                }
            })
            .collect();
        let sources = setup.sources.into_iter().filter_map(|(name, source)| {
            let before = setup.previous.and_then(|registry| registry.sourced(&name));
            Some(Sourced::new(name, source.ok()?, before))
        });
        Self {
            providers,
            sources: sources.collect(),
            retry: setup.previous.map_or_else(RetryPolicy::default, |before| before.retry),
            breaker: setup.previous.map_or_else(BreakerPolicy::default, |before| before.breaker),
            clock: setup.clock,
            metadata: setup.metadata,
        }
    }

    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    #[must_use]
    pub fn with_breaker(mut self, breaker: BreakerPolicy) -> Self {
        self.breaker = breaker;
        self
    }

    /// Whether models can be asked for under this name, also where it is disabled.
    pub fn has_provider(&self, name: &str) -> bool {
        self.sourced(name).is_some() || self.providers.iter().any(|entry| entry.name == name)
    }

    /// The model of this id, `<provider>/<model>`; the model's own name may hold slashes.
    pub fn model(&self, id: &str) -> Result<Arc<dyn Model>, RegistryError> {
        let (name, model) = split(id)?;
        if let Some(sourced) = self.sourced(name) {
            let (health, price) = (sourced.health.of(model), self.facts(id)?.price);
            let stopped = Arc::new(StopWords::new(sourced.model(model)?));
            let priced = Arc::new(Priced::new(stopped, price));
            return Ok(self.around(priced, &health, self.breaker));
        }
        Ok(self.stacked(self.provider(name)?, model))
    }

    /// What is known of a model, whether or not its provider can be used.
    pub fn facts(&self, id: &str) -> Result<ModelFacts, RegistryError> {
        let (name, model) = split(id)?;
        if let Some(sourced) = self.sourced(name) {
            return Ok(sourced.facts(model).or(self.metadata.facts(name, model, None)));
        }
        Ok(match self.provider(name) {
            Ok(provider) => provider.facts(model, &self.metadata),
            Err(_) => self.metadata.facts(name, model, None),
        })
    }

    /// The files of a model that runs here, and where that is.
    pub fn weights(&self, id: &str) -> Option<(ModelWeights, Locality)> {
        let (name, model) = split(id).ok()?;
        let sourced = self.sourced(name)?;
        Some((sourced.weights(model)?, sourced.locality()))
    }

    /// Asks a provider which models it has, and says in words what is wrong if it does not answer.
    pub async fn test(&self, name: &str) -> ProviderTest {
        if let Some(sourced) = self.sourced(name) {
            return match sourced.check().await {
                Err(fault) => check::unusable(name, fault),
                Ok(()) => check::sourced(&sourced.status(self.clock.now().mono)),
            };
        }
        let provider = match self.provider(name) {
            Ok(provider) => provider,
            Err(RegistryError::Disabled { reason, .. }) => return check::disabled(name, &reason),
            Err(RegistryError::Source(fault)) => return check::disabled(name, &fault.message),
            Err(RegistryError::UnknownProvider(_) | RegistryError::NotAModel(_)) => {
                let known: Vec<String> =
                    self.providers.iter().map(|entry| entry.name.clone()).collect();
                return check::unknown(name, &known);
            }
        };
        if let Some(reason) = provider.absence() {
            return check::disabled(name, &reason);
        }
        let start = self.clock.now().mono;
        match listing::list(&provider).await {
            Ok(models) => {
                let latency = self.clock.now().mono.saturating_sub(start);
                let configured: Vec<String> =
                    provider.models().iter().map(|model| model.id.clone()).collect();
                check::works(name, latency, models, &configured)
            }
            Err(none) => {
                let elsewhere = if Trouble::of(&none).may_be_mistaken() {
                    listing::found_elsewhere(&provider).await
                } else {
                    None
                };
                check::fails(name, &none, elsewhere)
            }
        }
    }

    /// The models a provider says it has.
    pub async fn list_models(&self, name: &str) -> Result<Vec<ListedModel>, Fault> {
        if let Some(sourced) = self.sourced(name) {
            let listed = sourced.candidates(self.clock.now().mono);
            return Ok(listed.map(|candidate| ListedModel::of(name, &candidate)).collect());
        }
        let provider = self.provider(name)?;
        listing::list(&provider).await.map_err(|none| none.failure.into())
    }

    /// Every key and secret header that the providers are asked with: what no text may hold.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let usable = self.providers.iter().filter_map(|entry| entry.resolved.as_ref().ok());
        let sources = self.sources.iter().flat_map(Sourced::secrets);
        usable.flat_map(|provider| &provider.line.endpoint.secrets).chain(sources)
    }

    fn sourced(&self, name: &str) -> Option<&Sourced> {
        self.sources.iter().find(|sourced| sourced.name == name)
    }

    fn provider(&self, name: &str) -> Result<Arc<Provider>, RegistryError> {
        let entry = self
            .providers
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| RegistryError::UnknownProvider(name.to_owned()))?;
        entry
            .resolved
            .clone()
            .map_err(|reason| RegistryError::Disabled { name: name.to_owned(), reason })
    }
}

fn split(id: &str) -> Result<(&str, &str), RegistryError> {
    id.split_once('/')
        .filter(|(name, model)| !name.is_empty() && !model.is_empty())
        .ok_or_else(|| RegistryError::NotAModel(id.to_owned()))
}

impl From<RegistryError> for Fault {
    fn from(error: RegistryError) -> Self {
        let code = match error {
            RegistryError::Source(fault) => return fault,
            RegistryError::NotAModel(_) | RegistryError::UnknownProvider(_) => {
                ErrorCode::ModelNotFound
            }
            RegistryError::Disabled { .. } => ErrorCode::ProviderUnavailable,
        };
        Self::new(code, error.to_string())
    }
}
