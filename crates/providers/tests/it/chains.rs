//! Registries over several scripted servers, with a clock that tests move.

use crate::support::NO_RETRY;
use onyx_providers::{BreakerPolicy, ProviderSettings, Registry, Setup};
use onyx_test_support::{ManualClock, ScriptedModel};
use onyx_types::{Clock, Model, ModelId};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const TOUCHY: BreakerPolicy = BreakerPolicy {
    failures: 3,
    rest: Duration::from_secs(10),
    longest_rest: Duration::from_secs(60),
};

pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) registry: Registry,
}

/// Providers `one`, `two`, … at the given servers.
pub(crate) fn world(servers: &[&ScriptedModel]) -> World {
    world_with(servers, json!({}))
}

/// `more` is added to the settings of each provider.
pub(crate) fn world_with(servers: &[&ScriptedModel], more: Value) -> World {
    let clock = Arc::new(ManualClock::new());
    let registry = registry_at(settings(servers, &more), &clock, None);
    World { clock, registry }
}

pub(crate) fn settings(
    servers: &[&ScriptedModel],
    more: &Value,
) -> Vec<(String, ProviderSettings)> {
    let name = |index: usize| ["one", "two", "three"][index].to_owned();
    let provider = |(index, server): (usize, &&ScriptedModel)| {
        let mut value = json!({"kind": "openai", "baseUrl": server.base_url()});
        for (key, field) in more.as_object().unwrap() {
            value[key] = field.clone();
        }
        (name(index), serde_json::from_value(value).unwrap())
    };
    servers.iter().enumerate().map(provider).collect()
}

pub(crate) fn registry_at(
    settings: Vec<(String, ProviderSettings)>,
    clock: &Arc<ManualClock>,
    previous: Option<&Registry>,
) -> Registry {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
    let setup = Setup { clock, previous, ..Setup::new(&crate::support::environment) };
    Registry::resolve_with(settings, setup).with_retry(NO_RETRY).with_breaker(TOUCHY)
}

impl World {
    pub(crate) fn model(&self, id: &str) -> Arc<dyn Model> {
        self.registry.model(id).unwrap()
    }

    /// The chain of `one/m` and its fallback `two/m`.
    pub(crate) fn chain(&self) -> Arc<dyn Model> {
        self.registry.chain(&ModelId::new("one/m"), &[ModelId::new("two/m")]).unwrap()
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}
