//! The embedder that makes vectors now, the one that made them before, and how the last call went.

use std::sync::{Arc, PoisonError, RwLock};

use onyx_types::Embedder;

use crate::Ruler;
use crate::status::Embedding;

/// The embedder that is configured, and the ones whose place it has taken.
#[derive(Default)]
pub(crate) struct Embedders {
    state: RwLock<EmbedderState>,
}

#[derive(Clone, Default)]
struct EmbedderState {
    embedder: Option<Arc<dyn Embedder>>,
    /// Which vectors fit together; empty if there is no embedder.
    model: String,
    failing: Option<String>,
    /// The vectors of one of these serve until the present embedder has made as many.
    retired: Vec<Arc<dyn Embedder>>,
}

/// Which vectors searches go by.
#[derive(Clone)]
pub(crate) struct ServingVectors {
    pub(crate) model: String,
    pub(super) embedder: Arc<dyn Embedder>,
    /// Every chunk had its vector once.
    pub(super) is_whole: bool,
}

/// Retired embedders beyond these are forgotten: each came and went before it had made all vectors.
const MOST_RETIRED: usize = 4;

/// Does another model make vectors from now on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmbedderChange {
    Same,
    Other,
}

impl Embedders {
    /// `None`: searches go by words alone. Where another one made the vectors that are there, these
    /// serve until the new one has made as many.
    pub(crate) fn set(&self, embedder: Option<Arc<dyn Embedder>>) -> EmbedderChange {
        self.state.write().unwrap_or_else(PoisonError::into_inner).set(embedder)
    }

    /// There is an embedder, but it cannot be had now.
    pub(crate) fn set_failing(&self, model: &str, reason: &str) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).set_failing(model, reason);
    }

    /// Somebody who can still make vectors that fit the ones that are there.
    pub(crate) fn add_retired(&self, embedder: Arc<dyn Embedder>) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).retired.push(embedder);
    }

    /// Where the table serves the vectors of a model whose embedder is not at hand: which one that
    /// is, as `<provider>/<model>`.
    pub(crate) fn missing(&self, served: Option<String>) -> Option<String> {
        let state = self.now();
        let is_known = |model: &String| {
            *model == state.model || state.retired.iter().any(|old| fingerprint(&**old) == *model)
        };
        let lost = served.filter(|model| !state.model.is_empty() && !is_known(model));
        lost.map(|model| match model.rsplit_once(" (") {
            Some((id, _)) => id.to_owned(),
            None => model,
        })
    }

    /// The ruler that texts are measured with now.
    pub(crate) fn ruler(&self) -> Ruler {
        Ruler::of(self.now().embedder)
    }

    /// Is it to be tried again? One that is not at hand announces itself when it comes.
    pub(crate) fn is_failing(&self) -> bool {
        let state = self.now();
        state.embedder.is_some() && state.failing.is_some()
    }

    /// Why the last call failed, where it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.now().failing
    }

    pub(crate) fn status(&self) -> Embedding {
        let state = self.now();
        match (state.embedder, state.failing) {
            (_, Some(reason)) => Embedding::Failing { model: state.model, reason },
            (Some(_), None) => Embedding::Ready { model: state.model },
            (None, None) => Embedding::Off,
        }
    }

    /// The embedder that makes vectors now, and the name of its vectors.
    pub(crate) fn current(&self) -> Option<(Arc<dyn Embedder>, String)> {
        let state = self.now();
        state.embedder.map(|embedder| (embedder, state.model))
    }

    /// Which vectors searches go by where the table serves those of this model. `None`: there is
    /// no embedder.
    pub(crate) fn serving(&self, served: Option<String>) -> Option<ServingVectors> {
        let state = self.now();
        let is_whole = served.as_ref() == Some(&state.model);
        if let Some(model) = served.filter(|_| !is_whole) {
            let old = state.retired.iter().find(|old| fingerprint(&***old) == model);
            if let Some(embedder) = old.cloned() {
                return Some(ServingVectors { model, embedder, is_whole: true });
            }
        }
        let model = state.model;
        state.embedder.map(|embedder| ServingVectors { model, embedder, is_whole })
    }

    /// The vectors of this model serve from now on, so those of older ones are not needed.
    pub(super) fn forget_retired(&self, model: &str) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.model == model {
            state.retired.clear();
        }
    }

    /// How the last call went, unless another embedder has come meanwhile.
    pub(super) fn note(&self, model: &str, failed: Option<&String>) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.model != model || state.embedder.is_none() {
            return;
        }
        if let (None, Some(reason)) = (&state.failing, failed) {
            tracing::warn!(model, reason, "the embedder fails: searches use words only");
        }
        state.failing = failed.cloned();
    }

    fn now(&self) -> EmbedderState {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EmbedderState {
    fn set(&mut self, embedder: Option<Arc<dyn Embedder>>) -> EmbedderChange {
        let before = std::mem::take(self);
        self.model = embedder.as_deref().map_or_else(String::new, fingerprint);
        // If no embedder is wanted, the retired ones are not wanted either, so they are dropped.
        if embedder.is_some() {
            self.retired = before.retired;
            self.retired.extend(before.embedder);
            self.retired.retain(|old| fingerprint(&**old) != self.model);
            let surplus = self.retired.len().saturating_sub(MOST_RETIRED);
            self.retired.drain(..surplus);
        }
        self.embedder = embedder;
        if self.model == before.model { EmbedderChange::Same } else { EmbedderChange::Other }
    }

    fn set_failing(&mut self, model: &str, reason: &str) {
        let before = std::mem::take(self);
        self.model = model.to_owned();
        self.failing = Some(reason.to_owned());
        self.retired = before.retired;
        self.retired.extend(before.embedder);
    }
}

fn fingerprint(embedder: &dyn Embedder) -> String {
    let identity = embedder.identity();
    format!("{}/{} ({})", identity.provider, identity.model, identity.dims)
}
