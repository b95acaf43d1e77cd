//! The models that `auto` can choose from.

use std::time::Duration;

use super::catalogue::Catalogue;
use super::provider::Provider;
use super::source::ListedSource;
use super::vendor::Locality;
use crate::routing::Candidate;

/// The models in the config, and the default one of each provider that lists none.
pub(super) fn candidates(catalogue: &Catalogue, now: Duration) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for provider in usable(catalogue) {
        candidates.extend(provider.choices().map(|model| Candidate {
            id: format!("{}/{model}", provider.name),
            facts: provider.facts(model, &catalogue.metadata),
            locality: provider.locality,
            rests: !provider.line.health.admits(model, now),
        }));
    }
    candidates.extend(catalogue.sources.iter().flat_map(|sourced| sourced.candidates(now)));
    candidates
}

pub(super) fn locality(catalogue: &Catalogue, model: &str, now: Duration) -> Option<Locality> {
    let (name, _) = model.split_once('/')?;
    let own = catalogue.resolved().find(|provider| provider.name == name);
    let other = || candidates(catalogue, now).into_iter().find(|known| known.id == model);
    own.map(|provider| provider.locality).or_else(|| other().map(|known| known.locality))
}

pub(super) fn has_choice(catalogue: &Catalogue) -> bool {
    let configured = usable(catalogue).flat_map(Provider::choices).take(2).count();
    let own = || catalogue.sources.iter().map(ListedSource::count).sum::<usize>();
    configured > 1 || configured + own() > 1
}

/// The usable providers. One that needs a sign-in is never chosen; a request that names it gets an
/// error.
fn usable(catalogue: &Catalogue) -> impl Iterator<Item = &Provider> {
    catalogue.resolved().map(|provider| &**provider).filter(|provider| provider.absence().is_none())
}
