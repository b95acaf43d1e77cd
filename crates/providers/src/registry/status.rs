use onyx_types::Timestamp;
use serde::Serialize;

use super::health::ModelStatus;
use super::settings::ProviderKind;
use super::{Entry, Registry};
use crate::decorators::CircuitState;

/// What people are shown of a provider. Holds no key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProviderStatus {
    pub name: String,
    pub kind: Option<ProviderKind>,
    pub state: ProviderState,
    /// The models named in the config.
    pub models: Vec<String>,
    /// The models that were called since the start, with their figures.
    pub called: Vec<ModelStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ProviderState {
    Ready { address: String },
    Disabled { reason: String },
}

/// How a provider does, in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderHealth {
    /// Not called yet.
    Untried,
    Well,
    /// Its last call to a model failed, or the model is left alone for now.
    Failing {
        model: String,
        since: Option<Timestamp>,
        reason: String,
    },
}

impl ProviderStatus {
    /// The worst of its models counts.
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

impl Registry {
    pub fn status(&self) -> Vec<ProviderStatus> {
        let now = self.clock.now().mono;
        let sources = self.sources.iter().map(|sourced| sourced.status(now));
        self.providers.iter().map(|entry| entry.status(now)).chain(sources).collect()
    }
}

impl Entry {
    fn status(&self, now: std::time::Duration) -> ProviderStatus {
        let (state, models, called) = match &self.resolved {
            Ok(provider) => (
                ProviderState::Ready { address: provider.address().to_owned() },
                provider.models().iter().map(|model| model.id.clone()).collect(),
                provider.line.health.snapshot(now),
            ),
            Err(reason) => {
                (ProviderState::Disabled { reason: reason.clone() }, Vec::new(), Vec::new())
            }
        };
        ProviderStatus { name: self.name.clone(), kind: self.kind, state, models, called }
    }
}
