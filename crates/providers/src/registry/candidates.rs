use onyx_types::Fault;

use super::Registry;
use super::provider::Provider;
use super::source::Sourced;
use super::vendor::Locality;
use crate::routing::{Candidate, Choice, RoutingSettings, Task, route};

impl Registry {
    /// The models to choose from: those the config names, and the usual one of each provider that
    /// names none.
    pub fn candidates(&self) -> Vec<Candidate> {
        let now = self.clock.now().mono;
        let mut candidates = Vec::new();
        for provider in self.usable() {
            candidates.extend(provider.choices().map(|model| Candidate {
                id: format!("{}/{model}", provider.name),
                facts: provider.facts(model, &self.metadata),
                locality: provider.locality,
                rests: !provider.line.health.admits(model, now),
            }));
        }
        candidates.extend(self.sources.iter().flat_map(|sourced| sourced.candidates(now)));
        candidates
    }

    /// Where a model runs; `None` for one that nobody offers.
    pub fn locality(&self, model: &str) -> Option<Locality> {
        let (name, _) = model.split_once('/')?;
        let resolved = self.providers.iter().filter_map(|entry| entry.resolved.as_deref().ok());
        let own = resolved.into_iter().find(|provider| provider.name == name);
        let other = || self.candidates().into_iter().find(|known| known.id == model);
        own.map(|provider| provider.locality).or_else(|| other().map(|known| known.locality))
    }

    /// Is there more than one to choose from?
    pub fn has_choice(&self) -> bool {
        let configured = self.usable().flat_map(|provider| provider.choices()).take(2).count();
        let own = || self.sources.iter().map(Sourced::count).sum::<usize>();
        configured > 1 || configured + own() > 1
    }

    /// Nobody chooses one that nobody is signed in at; who names it is told so.
    fn usable(&self) -> impl Iterator<Item = &Provider> {
        let resolved = self.providers.iter().filter_map(|entry| entry.resolved.as_deref().ok());
        resolved.filter(|provider| provider.absence().is_none())
    }

    /// Decides for `auto`: which model takes the task, by the config's rules.
    pub fn route(&self, settings: &RoutingSettings, task: &Task) -> Result<Choice, Fault> {
        Ok(route(settings, task, &self.candidates())?)
    }
}
