//! From a name to a model with everything around it, and which name it is when none is given.

use std::sync::Arc;

use onyx_types::{Knob, Model, TokenCounter};

use super::absent::Absent;
use super::health::ModelHealth;
use super::provider::{Provider, WireModel};
use super::source::Sourced;
use super::{Entry, Registry, RegistryError, split};
use crate::decorators::{Breaker, BreakerPolicy, Fallback, Metrics, Priced, Retry, StopWords};
use crate::tokens::{Calibrate, CalibratedTokens};

impl Registry {
    /// The first model, and those to ask in its place when it cannot answer. Fails only when none
    /// of them can be had; one alone that cannot is passed over at each call, visibly.
    pub fn chain(
        &self,
        primary: &str,
        fallbacks: &[String],
    ) -> Result<Arc<dyn Model>, RegistryError> {
        let first = self.model(primary);
        // A model twice in a chain would be asked again right after it failed.
        let mut names = vec![primary];
        names.extend(fallbacks.iter().map(String::as_str));
        let mut others: Vec<Arc<dyn Model>> = Vec::new();
        let mut any = first.is_ok();
        for (place, name) in names.iter().enumerate().skip(1) {
            if names[..place].contains(name) {
                continue;
            }
            let model = self.model(name);
            any |= model.is_ok();
            others.push(model.unwrap_or_else(|reason| Arc::new(Absent::new(name, reason))));
        }
        match first {
            Ok(first) if others.is_empty() => Ok(first),
            Ok(first) => Ok(Arc::new(Fallback::new(first, others))),
            Err(reason) if any => {
                Ok(Arc::new(Fallback::new(Arc::new(Absent::new(primary, reason)), others)))
            }
            Err(reason) => Err(reason),
        }
    }

    /// What answers when no model is named: the default of the first provider that can be used and
    /// is not at rest, else of the first that can be used, else of the first source.
    pub fn default_model(&self) -> Option<String> {
        let now = self.clock.now().mono;
        let usable = || self.providers.iter().filter_map(Entry::default_model);
        let rested =
            |(provider, model): &(&Arc<Provider>, &str)| provider.line.health.admits(model, now);
        let chosen = usable().find(rested).or_else(|| usable().next());
        let sourced = || self.sources.iter().find_map(Sourced::usual);
        chosen.map(|(provider, model)| format!("{}/{model}", provider.name)).or_else(sourced)
    }

    /// Counts tokens as this model does, the better the more it has answered. A model that cannot
    /// be had is counted by the rule that holds for all.
    pub fn token_counter(&self, id: &str) -> Arc<dyn TokenCounter> {
        let scale = split(id).ok().and_then(|(name, model)| {
            let health = match self.sourced(name) {
                Some(sourced) => sourced.health.of(model),
                None => self.provider(name).ok()?.line.health.of(model),
            };
            Some(Arc::clone(&health.scale))
        });
        Arc::new(CalibratedTokens::new(scale.unwrap_or_default()))
    }

    /// The settings of a request that reach this model; of others whoever asks is told.
    pub fn takes(&self, id: &str) -> Vec<Knob> {
        let Ok((name, model)) = split(id) else { return Vec::new() };
        if self.sourced(name).is_some() {
            // Sources know a temperature and a length; stop words are kept around them.
            return vec![Knob::Stop];
        }
        let Ok(provider) = self.provider(name) else { return Knob::ALL.to_vec() };
        let facts = provider.facts(model, &self.metadata);
        let wire = WireModel::new(provider, model, &facts);
        Knob::ALL.into_iter().filter(|knob| wire.takes(*knob)).collect()
    }

    pub(super) fn stacked(&self, provider: Arc<Provider>, model: &str) -> Arc<dyn Model> {
        let health = provider.line.health.of(model);
        let facts = provider.facts(model, &self.metadata);
        let rest = provider.line.timeouts.rest.unwrap_or(self.breaker.rest);
        let breaker = BreakerPolicy { rest, ..self.breaker };
        let has_stop = provider.line.wire_of(model).has_stop();
        let wire: Arc<dyn Model> = Arc::new(WireModel::new(provider, model, &facts));
        let wire = if has_stop { wire } else { Arc::new(StopWords::new(wire)) };
        self.around(Arc::new(Priced::new(wire, facts.price)), &health, breaker)
    }

    /// Everything that goes around one model.
    pub(super) fn around(
        &self,
        model: Arc<dyn Model>,
        health: &ModelHealth,
        breaker: BreakerPolicy,
    ) -> Arc<dyn Model> {
        let clock = || Arc::clone(&self.clock);
        let circuit = || Arc::clone(&health.circuit);
        let counted = Arc::new(Calibrate::new(model, Arc::clone(&health.scale)));
        // All attempts of one request are one failure: the breaker stands around the retries.
        let retry = Arc::new(Retry::new(counted, self.retry, circuit(), clock()));
        let breaker = Arc::new(Breaker::new(retry, circuit(), breaker, clock()));
        Arc::new(Metrics::new(breaker, Arc::clone(&health.counts), clock()))
    }
}

impl Entry {
    /// The first model that the config names, else the vendor's own.
    fn default_model(&self) -> Option<(&Arc<Provider>, &str)> {
        let provider = self.resolved.as_ref().ok().filter(|it| it.absence().is_none())?;
        let named = provider.models().first().map(|model| model.id.as_str());
        let usual = || super::vendor::vendor(&self.name).and_then(|vendor| vendor.default_model);
        Some((provider, named.or_else(usual)?))
    }
}
