use std::time::Duration;

use onyx_types::Timestamp;
use serde::Serialize;

use super::catalogue::{Catalogue, Entry};
use super::health::ModelStatus;
use super::kinds::{ProviderKind, ReachedBy};
use super::vendor::Locality;
use crate::Secret;
use crate::decorators::CircuitState;
use crate::oauth::LoginStatus;

/// A provider as people see it. Holds no key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProviderStatus {
    pub name: String,
    pub kind: Option<ProviderKind>,
    pub state: ProviderState,
    /// The key, shortened so that it cannot be used.
    pub key: Option<String>,
    pub locality: Option<Locality>,
    /// The models named in the config.
    pub models: Vec<String>,
    /// The models that were called since the start, with their figures.
    pub called: Vec<ModelStatus>,
    /// The state of the sign-in, if the provider uses one in place of a key.
    #[serde(skip)]
    pub login: Option<LoginStatus>,
    /// The account, if a machine's own identity takes the place of a key.
    pub account: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ProviderState {
    Ready { address: String },
    Disabled { reason: String },
}

/// The health of a provider, in one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderHealth {
    /// The provider was not called yet.
    Untried,
    Well,
    /// The provider's last call to a model failed, or the model is left alone for now.
    Failing {
        model: String,
        since: Option<Timestamp>,
        reason: String,
    },
}

impl ProviderStatus {
    /// The health of the provider, which is that of its worst model.
    pub fn health(&self) -> ProviderHealth {
        let failing = self.called.iter().find(|status| match status.circuit {
            CircuitState::Closed { failures } => failures > 0,
            CircuitState::Open { .. } | CircuitState::HalfOpen { .. } => true,
        });
        match failing {
            Some(status) => {
                let last = status.metrics.last_failure.as_ref();
                ProviderHealth::Failing {
                    model: status.model.clone(),
                    since: last.map(|failure| failure.at),
                    reason: last.map(|failure| failure.message.clone()).unwrap_or_default(),
                }
            }
            None if self.called.is_empty() => ProviderHealth::Untried,
            None => ProviderHealth::Well,
        }
    }
}

pub(super) fn all(catalogue: &Catalogue, now: Duration) -> Vec<ProviderStatus> {
    let shown = catalogue.sources.iter().filter(|sourced| sourced.is_shown());
    let sources = shown.map(|sourced| sourced.status(now));
    catalogue.providers.iter().map(|entry| entry.status(now)).chain(sources).collect()
}

pub(super) fn programs(catalogue: &Catalogue, now: Duration) -> Vec<ProviderStatus> {
    let unusable = catalogue.providers.iter().filter(|entry| entry.kind.is_some_and(is_program));
    let sources = catalogue.sources.iter().filter(|sourced| is_program(sourced.kind()));
    let sources = sources.map(|sourced| sourced.status(now));
    sources.chain(unusable.map(|entry| entry.status(now))).collect()
}

const fn is_program(kind: ProviderKind) -> bool {
    matches!(kind.row().reached_by, ReachedBy::Program)
}

impl Entry {
    fn status(&self, now: Duration) -> ProviderStatus {
        let base = ProviderStatus {
            name: self.name.clone(),
            kind: self.kind,
            state: ProviderState::Disabled { reason: String::new() },
            key: None,
            locality: None,
            models: Vec::new(),
            called: Vec::new(),
            login: self.login.as_ref().ok().map(|login| login.status()),
            account: None,
        };
        match &self.resolved {
            Ok(provider) => ProviderStatus {
                state: match provider.absence() {
                    Some(reason) => ProviderState::Disabled { reason },
                    None => {
                        ProviderState::Ready { address: provider.line.endpoint.url.to_string() }
                    }
                },
                key: provider.line.endpoint.key.as_ref().map(Secret::redacted),
                locality: Some(provider.locality),
                models: provider.models().iter().map(|model| model.id.clone()).collect(),
                called: provider.line.health.snapshot(now),
                account: provider.machine_account(),
                ..base
            },
            Err(reason) => {
                ProviderStatus { state: ProviderState::Disabled { reason: reason.clone() }, ..base }
            }
        }
    }
}
