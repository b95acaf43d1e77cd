//! The facts of models that a subscription pays for, which are known without asking.

use crate::metadata::{Modality, ModelFacts, Price};
use crate::registry::ModelSettings;

const WINDOW: u32 = 200_000;

pub(super) fn facts() -> ModelFacts {
    ModelFacts {
        context_window: Some(WINDOW),
        inputs: Some(vec![Modality::Image]),
        tools: Some(true),
        // The subscription pays, so these models cost nothing of a budget in money.
        price: Some(Price::FREE),
        ..ModelFacts::default()
    }
}

/// The models that a person named, else the usual ones.
pub(super) fn models(named: &[ModelSettings], usual: &[&str]) -> Vec<ModelSettings> {
    if named.is_empty() {
        let of = |id: &&str| ModelSettings { id: (*id).to_owned(), facts: facts() };
        return usual.iter().map(of).collect();
    }
    let of = |model: &ModelSettings| ModelSettings {
        id: model.id.clone(),
        facts: model.facts.clone().or(facts()),
    };
    named.iter().map(of).collect()
}

pub(super) fn window(named: &[ModelSettings], name: &str) -> u32 {
    let named = named.iter().find(|model| model.id == name);
    named.and_then(|model| model.facts.context_window).unwrap_or(WINDOW)
}
