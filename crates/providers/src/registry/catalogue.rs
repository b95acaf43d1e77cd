//! The providers of the config and the other sources, by name, with what is known of their models.

use std::sync::Arc;

use onyx_types::Fault;

use super::error::RegistryError;
use super::kinds::ProviderKind;
use super::provider::Provider;
use super::reference::References;
use super::settings::ProviderSettings;
use super::source::{ListedSource, ModelWeights};
use super::vendor::Locality;
use super::{Registry, Setup, login, resolve};
use crate::Secret;
use crate::metadata::{Metadata, ModelFacts};
use crate::oauth::{Login, Logins};

#[derive(Debug)]
pub(super) struct Catalogue {
    /// The providers in the order of the config, which decides the default.
    pub(super) providers: Vec<Entry>,
    pub(super) sources: Vec<ListedSource>,
    pub(super) metadata: Arc<Metadata>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: Option<ProviderKind>,
    pub(super) resolved: Result<Arc<Provider>, String>,
    /// The provider's sign-in, or the settings that are missing for one.
    pub(super) login: Result<Arc<Login>, Fault>,
}

impl Catalogue {
    pub(super) fn new(
        settings: impl IntoIterator<Item = (String, ProviderSettings)>,
        setup: Setup<'_>,
    ) -> Self {
        let references = References { environment: setup.environment, secrets: setup.secrets };
        let before = setup.previous.map(|registry: &Registry| &registry.catalogue);
        let mut providers = Vec::new();
        for (name, settings) in settings {
            let source = setup.sources.iter().find(|(other, _)| *other == name);
            let resolved = match source {
                None => {
                    let before = before.and_then(|before| before.provider(&name).ok());
                    let (logins, metadata) = (&setup.logins, &setup.metadata);
                    resolved(&name, &settings, references, logins, metadata, before.as_deref())
                }
                Some((_, Ok(_))) => continue,
                Some((_, Err(reason))) => Err(reason.clone()),
            };
            let kind = resolve::kind_of(&name, &settings);
            let login = login::of(&name, &settings, &resolved);
            providers.push(Entry { name, kind, resolved, login });
        }
        let sources = setup.sources.into_iter().filter_map(|(name, source)| {
            let before = before.and_then(|before| before.sourced(&name));
            Some(ListedSource::new(name, source.ok()?, before))
        });
        Self { providers, sources: sources.collect(), metadata: setup.metadata }
    }

    /// Whether the name belongs to a provider, even a disabled one.
    pub(super) fn has_provider(&self, name: &str) -> bool {
        self.sourced(name).is_some() || self.providers.iter().any(|entry| entry.name == name)
    }

    pub(super) fn sourced(&self, name: &str) -> Option<&ListedSource> {
        self.sources.iter().find(|sourced| sourced.name == name)
    }

    pub(super) fn provider(&self, name: &str) -> Result<Arc<Provider>, RegistryError> {
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

    /// Every provider whose settings are valid, even if no person is signed in to it.
    pub(super) fn resolved(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.iter().filter_map(|entry| entry.resolved.as_ref().ok())
    }

    pub(super) fn facts(&self, id: &str) -> Result<ModelFacts, RegistryError> {
        let (name, model) = split(id)?;
        if let Some(sourced) = self.sourced(name) {
            return Ok(sourced.facts(model).or(self.metadata.facts(name, model, None)));
        }
        Ok(match self.provider(name) {
            Ok(provider) => provider.facts(model, &self.metadata),
            Err(_) => self.metadata.facts(name, model, None),
        })
    }

    pub(super) fn weights(&self, id: &str) -> Option<(ModelWeights, Locality)> {
        let (name, model) = split(id).ok()?;
        let sourced = self.sourced(name)?;
        Some((sourced.weights(model)?, sourced.locality()))
    }

    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let sources = self.sources.iter().flat_map(ListedSource::secrets);
        self.resolved().flat_map(|provider| &provider.line.endpoint.secrets).chain(sources)
    }
}

/// A provider resolved from its settings; it keeps the connections and the health of its
/// predecessor.
fn resolved(
    name: &str,
    settings: &ProviderSettings,
    references: References<'_>,
    logins: &Logins,
    metadata: &Metadata,
    before: Option<&Provider>,
) -> Result<Arc<Provider>, String> {
    let mut provider =
        resolve::resolve(name, settings, references, logins).map_err(|disabled| {
            let reason = disabled.to_string();
            tracing::warn!(provider = name, reason, "provider disabled");
            reason
        })?;
    if let Some(before) = before {
        provider.succeed(before);
    }
    provider.learn(metadata);
    Ok(Arc::new(provider))
}

pub(super) fn split(id: &str) -> Result<(&str, &str), RegistryError> {
    id.split_once('/')
        .filter(|(name, model)| !name.is_empty() && !model.is_empty())
        .ok_or_else(|| RegistryError::NotAModel(id.to_owned()))
}
