use onyx_types::Fault;

use super::Registry;
use super::vendor::vendor;
use crate::routing::{Candidate, Choice, RoutingSettings, Task, route};

impl Registry {
    /// The models to choose from: those the config names, and the usual one of each provider that
    /// names none.
    pub fn candidates(&self) -> Vec<Candidate> {
        let now = self.clock.now().mono;
        let usable = self.providers.iter().filter_map(|entry| entry.resolved.as_ref().ok());
        // Nobody chooses one that nobody is signed in at; who names it is told so.
        let usable = usable.filter(|provider| provider.absence().is_none());
        let mut candidates = Vec::new();
        for provider in usable {
            let usual = || vendor(&provider.name).and_then(|vendor| vendor.default_model);
            let named: Vec<&str> = match provider.models() {
                [] => usual().into_iter().collect(),
                models => models.iter().map(|model| model.id.as_str()).collect(),
            };
            candidates.extend(named.into_iter().map(|model| Candidate {
                id: format!("{}/{model}", provider.name),
                facts: provider.facts(model, &self.metadata),
                locality: provider.locality,
                rests: !provider.line.health.admits(model, now),
            }));
        }
        candidates.extend(self.sources.iter().flat_map(|sourced| sourced.candidates(now)));
        candidates
    }

    /// Decides for `auto`: which model takes the task, by the config's rules.
    pub fn route(&self, settings: &RoutingSettings, task: &Task) -> Result<Choice, Fault> {
        Ok(route(settings, task, &self.candidates())?)
    }
}
