//! The thinking effort of a request, in the words that each wire has for it.

use onyx_types::{Effort, ModelRequest, Sampling};

use super::CalledModel;

impl CalledModel {
    /// The thinking effort, if one was requested and the model supports it.
    pub(crate) fn effort(&self, request: &ModelRequest) -> Option<Effort> {
        request.sampling.effort.filter(|_| self.reasons)
    }

    pub(crate) fn verbosity(&self, sampling: &Sampling) -> Option<&'static str> {
        sampling.verbosity.filter(|_| self.reasons).map(onyx_types::Verbosity::as_str)
    }

    /// The effort as OpenAI's wires name it.
    pub(crate) fn effort_word(&self, request: &ModelRequest) -> Option<&'static str> {
        self.effort(request).map(Effort::as_str)
    }
}
