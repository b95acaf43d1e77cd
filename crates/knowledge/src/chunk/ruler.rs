//! By what texts are measured before they are cut.

use std::sync::Arc;

use onyx_types::{Embedder, estimate_tokens};

use crate::Chunking;

/// The tokens of the embedder where it can tell them at once, else the usual estimate.
#[derive(Clone)]
pub struct Ruler {
    counter: Option<Arc<dyn Embedder>>,
}

impl Ruler {
    pub const fn estimate() -> Self {
        Self { counter: None }
    }

    pub fn of(embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { counter: embedder.filter(|embedder| embedder.tokens_in("").is_some()) }
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        let counted = self.counter.as_ref().and_then(|embedder| embedder.tokens_in(text));
        counted.unwrap_or_else(|| estimate_tokens(text))
    }

    /// A line with its end, which the estimate counts and the embedder does not see.
    pub(crate) fn count_line(&self, line: &str) -> usize {
        self.count(line) + usize::from(self.counter.is_none())
    }

    /// What tells chunks that were cut so from others.
    pub(crate) fn fingerprint(&self, chunking: &Chunking) -> String {
        match &self.counter {
            Some(embedder) => {
                let identity = embedder.identity();
                format!("{}:{}/{}", chunking.fingerprint(), identity.provider, identity.model)
            }
            None => chunking.fingerprint(),
        }
    }

    /// Are chunks of this fingerprint as good as those that would be cut now? An estimate is never
    /// better than a count, so an embedder that is away changes nothing.
    pub(crate) fn is_met_by(&self, fingerprint: &str, chunking: &Chunking) -> bool {
        let rest = fingerprint.strip_prefix(&chunking.fingerprint());
        match &self.counter {
            Some(_) => fingerprint == self.fingerprint(chunking),
            None => rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')),
        }
    }
}
