//! Measures texts in tokens, so that they can be cut to a size.

use std::sync::Arc;

use onyx_types::{Embedder, estimate_tokens};

use crate::Chunking;

/// Counts the tokens of the embedder, if the embedder can count them at once. Otherwise the number
/// is estimated.
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

    /// Counts a line. The estimate counts the line break too; the embedder does not see it.
    pub(crate) fn count_line(&self, line: &str) -> usize {
        self.count(line) + usize::from(self.counter.is_none())
    }

    /// A name for the way of cutting and measuring, by which chunks of another way are recognised.
    pub(crate) fn fingerprint(&self, chunking: &Chunking) -> String {
        match &self.counter {
            Some(embedder) => {
                let identity = embedder.identity();
                format!("{}:{}/{}", chunking.fingerprint(), identity.provider, identity.model)
            }
            None => chunking.fingerprint(),
        }
    }

    /// Whether chunks with this fingerprint are as good as newly cut ones. Counted tokens are
    /// better than estimated ones, so chunks that an embedder has measured are kept while it is not
    /// available.
    pub(crate) fn is_met_by(&self, fingerprint: &str, chunking: &Chunking) -> bool {
        let rest = fingerprint.strip_prefix(&chunking.fingerprint());
        match &self.counter {
            Some(_) => fingerprint == self.fingerprint(chunking),
            None => rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')),
        }
    }
}
