//! Turns a model's name into the model with all its decorators, and finds the default name when
//! none is given.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Model, ModelId, SamplingSetting, TokenCounter};

use super::absent::MissingModel;
use super::catalogue::{Catalogue, Entry, split};
use super::error::RegistryError;
use super::guards::Guards;
use super::provider::{Provider, WireModel};
use super::source::ListedSource;
use crate::decorators::{Fallback, PricedModel, StopWords};
use crate::tokens::{Calibrate, CalibratedTokens};

pub(super) fn model(
    catalogue: &Catalogue,
    guards: &Guards,
    id: &str,
) -> Result<Arc<dyn Model>, RegistryError> {
    let (name, model) = split(id)?;
    let (bare, guards, health): (Arc<dyn Model>, Guards, _) = match catalogue.sourced(name) {
        Some(sourced) => {
            let stopped = Arc::new(StopWords::new(sourced.model(model)?));
            let priced = PricedModel::new(stopped, catalogue.facts(id)?.price);
            (Arc::new(priced), guards.clone(), sourced.health.of(model))
        }
        None => {
            let provider = catalogue.provider(name)?;
            let health = provider.line.health.of(model);
            let guards = guards.with_rest(provider.line.timeouts.rest);
            (on_wire(catalogue, provider, model), guards, health)
        }
    };
    let counted = Arc::new(Calibrate::new(bare, Arc::clone(&health.scale)));
    Ok(guards.retried(counted, &health))
}

fn on_wire(catalogue: &Catalogue, provider: Arc<Provider>, model: &str) -> Arc<dyn Model> {
    let facts = provider.facts(model, &catalogue.metadata);
    let has_stop = provider.line.wire_of(model).has_stop();
    let wire: Arc<dyn Model> = Arc::new(WireModel::new(provider, model, &facts));
    let wire = if has_stop { wire } else { Arc::new(StopWords::new(wire)) };
    Arc::new(PricedModel::new(wire, facts.price))
}

/// The first model, and those to ask in its place when it cannot answer.
pub(super) fn chain(
    primary: &ModelId,
    fallbacks: &[ModelId],
    model: impl Fn(&str) -> Result<Arc<dyn Model>, RegistryError>,
) -> Result<Arc<dyn Model>, RegistryError> {
    let primary = primary.as_str();
    let first = model(primary);
    // A model that is twice in a chain would be asked again right after it failed.
    let mut names = vec![primary];
    names.extend(fallbacks.iter().map(ModelId::as_str));
    let mut others: Vec<Arc<dyn Model>> = Vec::new();
    let mut any = first.is_ok();
    for (place, name) in names.iter().enumerate().skip(1) {
        if names[..place].contains(name) {
            continue;
        }
        let other = model(name);
        any |= other.is_ok();
        others.push(other.unwrap_or_else(|reason| Arc::new(MissingModel::new(name, reason))));
    }
    match first {
        Ok(first) if others.is_empty() => Ok(first),
        Ok(first) => Ok(Arc::new(Fallback::new(first, others))),
        Err(reason) if any => {
            Ok(Arc::new(Fallback::new(Arc::new(MissingModel::new(primary, reason)), others)))
        }
        Err(reason) => Err(reason),
    }
}

pub(super) fn default_model(catalogue: &Catalogue, now: Duration) -> Option<String> {
    let usable = || catalogue.providers.iter().filter_map(Entry::default_model);
    let rested =
        |(provider, model): &(&Arc<Provider>, &str)| provider.line.health.admits(model, now);
    let chosen = usable().find(rested).or_else(|| usable().next());
    let sourced = || catalogue.sources.iter().find_map(ListedSource::usual);
    chosen.map(|(provider, model)| format!("{}/{model}", provider.name)).or_else(sourced)
}

pub(super) fn token_counter(catalogue: &Catalogue, id: &str) -> Arc<dyn TokenCounter> {
    let scale = split(id).ok().and_then(|(name, model)| {
        let health = match catalogue.sourced(name) {
            Some(sourced) => sourced.health.of(model),
            None => catalogue.provider(name).ok()?.line.health.of(model),
        };
        Some(Arc::clone(&health.scale))
    });
    Arc::new(CalibratedTokens::new(scale.unwrap_or_default()))
}

pub(super) fn takes(catalogue: &Catalogue, id: &str) -> Vec<SamplingSetting> {
    let Ok((name, model)) = split(id) else { return Vec::new() };
    if catalogue.sourced(name).is_some() {
        // Sources support a temperature and a length; the stop words are handled around them.
        return vec![SamplingSetting::Stop];
    }
    let Ok(provider) = catalogue.provider(name) else { return SamplingSetting::ALL.to_vec() };
    let facts = provider.facts(model, &catalogue.metadata);
    let wire = WireModel::new(provider, model, &facts);
    SamplingSetting::ALL.into_iter().filter(|setting| wire.takes(*setting)).collect()
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
