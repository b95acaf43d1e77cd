//! Providers by name: from settings to models, with the reason where there is none.

mod provider;
mod resolve;
mod settings;
mod vendor;

pub use settings::{
    CompatSettings, ModelSettings, ProviderKind, ProviderSettings, TimeoutSettings,
};
pub use vendor::{AuthStyle, KeyNeed, VENDORS, Vendor};

use std::sync::Arc;

use onyx_types::{ErrorCode, Fault, Model};

use crate::decorators::{Retry, RetryPolicy};
use provider::{Provider, WireModel};

/// All configured providers. Immutable: a changed config makes a new registry.
#[derive(Debug)]
pub struct Registry {
    /// In the order of the config, which decides the default.
    providers: Vec<Entry>,
    retry: RetryPolicy,
}

#[derive(Debug)]
struct Entry {
    name: String,
    kind: Option<ProviderKind>,
    resolved: Result<Arc<Provider>, String>,
}

/// What people are shown of a provider. Holds no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderStatus {
    pub name: String,
    pub kind: Option<ProviderKind>,
    pub state: ProviderState,
    /// The models named in the config.
    pub models: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderState {
    Ready { address: String },
    Disabled { reason: String },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("`{0}` is not a model: write <provider>/<model>")]
    NotAModel(String),
    #[error("no provider is named `{0}` in the config")]
    UnknownProvider(String),
    #[error("the provider `{name}` is disabled: {reason}")]
    Disabled { name: String, reason: String },
}

impl Registry {
    /// Resolves each provider once. One that cannot be used is disabled with a reason; the others
    /// are not affected. `environment` looks up a variable.
    pub fn resolve(
        settings: impl IntoIterator<Item = (String, ProviderSettings)>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let entry = |(name, settings): (String, ProviderSettings)| {
            let kind = resolve::kind_of(&name, &settings);
            let resolved = resolve::resolve(&name, &settings, environment);
            let resolved = resolved.map(Arc::new).map_err(|disabled| disabled.to_string());
            if let Err(reason) = &resolved {
                tracing::warn!(provider = name, reason, "provider disabled");
            }
            Entry { name, kind, resolved }
        };
        let providers = settings.into_iter().map(entry).collect();
        Self { providers, retry: RetryPolicy::default() }
    }

    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The model of this id, `<provider>/<model>`; the model's own name may hold slashes.
    pub fn model(&self, id: &str) -> Result<Arc<dyn Model>, RegistryError> {
        let (name, model) = id
            .split_once('/')
            .filter(|(name, model)| !name.is_empty() && !model.is_empty())
            .ok_or_else(|| RegistryError::NotAModel(id.to_owned()))?;
        let provider = self.provider(name)?;
        let wire = Arc::new(WireModel::new(provider, model));
        Ok(Arc::new(Retry::new(wire, self.retry)))
    }

    /// The first model that the config names for a provider that can be used.
    pub fn default_model(&self) -> Option<String> {
        self.providers.iter().find_map(|entry| {
            let first = entry.resolved.as_ref().ok()?.models().first()?;
            Some(format!("{}/{}", entry.name, first.id))
        })
    }

    pub fn status(&self) -> Vec<ProviderStatus> {
        self.providers.iter().map(Entry::status).collect()
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

impl Entry {
    fn status(&self) -> ProviderStatus {
        let (state, models) = match &self.resolved {
            Ok(provider) => (
                ProviderState::Ready { address: provider.address().to_owned() },
                provider.models().iter().map(|model| model.id.clone()).collect(),
            ),
            Err(reason) => (ProviderState::Disabled { reason: reason.clone() }, Vec::new()),
        };
        ProviderStatus { name: self.name.clone(), kind: self.kind, state, models }
    }
}

impl From<RegistryError> for Fault {
    fn from(error: RegistryError) -> Self {
        let code = match error {
            RegistryError::NotAModel(_) | RegistryError::UnknownProvider(_) => {
                ErrorCode::ModelNotFound
            }
            RegistryError::Disabled { .. } => ErrorCode::ProviderUnavailable,
        };
        Self::new(code, error.to_string())
    }
}
