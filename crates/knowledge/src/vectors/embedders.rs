//! Holds the embedder that makes vectors now, those that made them before, and how the last call
//! went.

use std::sync::{Arc, PoisonError, RwLock};

use onyx_types::Embedder;

use crate::Ruler;
use crate::status::EmbeddingState;

/// The configured embedder, and those that it has replaced.
#[derive(Default)]
pub(crate) struct Embedders {
    state: RwLock<EmbedderState>,
}

#[derive(Clone, Default)]
struct EmbedderState {
    embedder: Option<Arc<dyn Embedder>>,
    /// The name of the vectors that fit together; empty if there is no embedder.
    model: String,
    failing: Option<String>,
    /// Replaced embedders. The vectors of one of these serve until the present embedder has made as
    /// many.
    retired: Vec<Arc<dyn Embedder>>,
}

/// The vectors that searches use, and the embedder that makes query vectors for them.
#[derive(Clone)]
pub(crate) struct ServingVectors {
    pub(crate) model: String,
    pub(super) embedder: Arc<dyn Embedder>,
    /// Whether every chunk had its vector once.
    pub(super) is_whole: bool,
}

/// The most replaced embedders that are kept. Each further one was replaced before it had made all
/// vectors.
const MOST_RETIRED: usize = 4;

/// Whether another model makes vectors from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmbedderChange {
    Same,
    Other,
}

impl Embedders {
    /// Sets the embedder; with `None` searches use words alone. If another embedder made the
    /// existing vectors, they serve searches until the new one has made as many.
    pub(crate) fn set(&self, embedder: Option<Arc<dyn Embedder>>) -> EmbedderChange {
        self.state.write().unwrap_or_else(PoisonError::into_inner).set(embedder)
    }

    /// Notes that an embedder is configured but not available now.
    pub(crate) fn set_failing(&self, model: &str, reason: &str) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).set_failing(model, reason);
    }

    /// Adds an embedder that is not configured any more but can make query vectors that fit the
    /// existing vectors.
    pub(crate) fn add_retired(&self, embedder: Arc<dyn Embedder>) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).retired.push(embedder);
    }

    /// The embedder, as `<provider>/<model>`, whose vectors serve but which is not available.
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

    /// The ruler by which texts are measured now.
    pub(crate) fn ruler(&self) -> Ruler {
        Ruler::of(self.now().embedder)
    }

    /// Whether to call the embedder again after a failure. One that is not available reports itself
    /// when it is.
    pub(crate) fn is_failing(&self) -> bool {
        let state = self.now();
        state.embedder.is_some() && state.failing.is_some()
    }

    /// The reason why the last call failed, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.now().failing
    }

    pub(crate) fn status(&self) -> EmbeddingState {
        let state = self.now();
        match (state.embedder, state.failing) {
            (_, Some(reason)) => EmbeddingState::Failing { model: state.model, reason },
            (Some(_), None) => EmbeddingState::Ready { model: state.model },
            (None, None) => EmbeddingState::Off,
        }
    }

    /// The embedder that makes vectors now, and the name of its vectors.
    pub(crate) fn current(&self) -> Option<(Arc<dyn Embedder>, String)> {
        let state = self.now();
        state.embedder.map(|embedder| (embedder, state.model))
    }

    /// The vectors that searches use if those of the model `served` are in the table; `None` if
    /// there is no embedder.
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

    /// Forgets replaced embedders, because the vectors of this model serve searches from now on.
    pub(super) fn forget_retired(&self, model: &str) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.model == model {
            state.retired.clear();
        }
    }

    /// Notes how the last call went, unless the embedder was replaced meanwhile.
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
        // If no embedder is wanted, the replaced ones are not wanted either, so they are dropped.
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
