//! The tools as a model is shown them, built once for all runs that have the same tools.

use std::sync::{Arc, Mutex, PoisonError};

use onyx_types::{ToolEffect, ToolOffer, ToolSpec, estimate_tokens};

use crate::tool::Registration;

/// How many sets of tools are kept: one for each policy, and a few more when tools come and go.
const MOST_KEPT: usize = 32;

/// What the agent loop needs to know about a tool.
#[derive(Clone, Debug)]
pub struct ToolTraits {
    pub offer: ToolOffer,
    /// The size of the offer in a prompt, in tokens.
    pub weight: usize,
    /// Whether calls may run in parallel.
    pub parallel: bool,
    /// Whether equal calls may be repeated without being a loop.
    pub repeats: bool,
    /// The registration of the tool, because its name may be given to another one.
    pub registration: Registration,
}

impl ToolTraits {
    pub(super) fn of(spec: &ToolSpec, registration: Registration) -> Self {
        Self {
            offer: spec.offer(),
            weight: Self::weight_of(spec),
            parallel: spec.usual_effect == ToolEffect::Read,
            repeats: spec.repeats,
            registration,
        }
    }

    /// The size of a tool in a prompt, in tokens.
    pub(super) fn weight_of(spec: &ToolSpec) -> usize {
        spec.input_schema.tokens() + estimate_tokens(&spec.description)
    }
}

/// The tools of a run.
#[derive(Debug, Default)]
pub struct Offering {
    tools: Vec<ToolTraits>,
    offers: Arc<[ToolOffer]>,
    weight: usize,
}

impl Offering {
    pub fn tools(&self) -> &[ToolTraits] {
        &self.tools
    }

    /// The offers as a request holds them.
    pub fn offers(&self) -> &Arc<[ToolOffer]> {
        &self.offers
    }

    /// The size of all offers in a prompt, in tokens.
    pub fn weight(&self) -> usize {
        self.weight
    }

    pub fn get(&self, name: &str) -> Option<&ToolTraits> {
        self.tools.iter().find(|tool| tool.offer.name == name)
    }

    #[must_use]
    pub fn without(&self, is_left_out: impl Fn(&str) -> bool) -> Self {
        let remaining = self.tools.iter().filter(|tool| !is_left_out(&tool.offer.name));
        remaining.cloned().collect()
    }
}

impl FromIterator<ToolTraits> for Offering {
    fn from_iter<I: IntoIterator<Item = ToolTraits>>(tools: I) -> Self {
        let tools: Vec<ToolTraits> = tools.into_iter().collect();
        Self {
            offers: tools.iter().map(|tool| tool.offer.clone()).collect(),
            weight: tools.iter().map(|tool| tool.weight).sum(),
            tools,
        }
    }
}

/// The sets that were asked for last, each with a flag for every tool of the toolbox.
#[derive(Default)]
pub(crate) struct Offerings(Mutex<Vec<(Vec<bool>, Arc<Offering>)>>);

impl Offerings {
    pub(crate) fn of(
        &self,
        ready: Vec<bool>,
        make: impl FnOnce(&[bool]) -> Offering,
    ) -> Arc<Offering> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().find(|(tools, _)| *tools == ready) {
            return Arc::clone(known);
        }
        if kept.len() >= MOST_KEPT {
            kept.remove(0);
        }
        let made = Arc::new(make(&ready));
        kept.push((ready, Arc::clone(&made)));
        made
    }
}
