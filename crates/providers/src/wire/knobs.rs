//! Which of a client's settings each wire has a field for. What is not here is left out of the
//! request, and whoever asked is told before the answer begins.

use onyx_types::{Effort, Knob, ModelRequest, Sampling};

use super::{ExtraSampling, PromptCacheKey, Target, Wire};

impl Wire {
    /// Whether this setting reaches the model.
    pub fn takes(self, knob: Knob, target: &Target) -> bool {
        match self {
            Self::OpenAiChat => match knob {
                Knob::TopP
                | Knob::Seed
                | Knob::FrequencyPenalty
                | Knob::PresencePenalty
                | Knob::LogitBias
                | Knob::Stop => true,
                Knob::TopK | Knob::MinP => target.compat.extra_sampling == ExtraSampling::Send,
                Knob::Effort | Knob::Verbosity => target.reasons,
                Knob::CacheKey => target.compat.prompt_cache_key == PromptCacheKey::Send,
            },
            // Stop words are kept by `StopWords`: the wire has none.
            Self::OpenAiResponses => match knob {
                Knob::TopP | Knob::Stop => true,
                Knob::Effort | Knob::Verbosity => target.reasons,
                Knob::CacheKey => target.compat.prompt_cache_key == PromptCacheKey::Send,
                Knob::TopK
                | Knob::MinP
                | Knob::Seed
                | Knob::FrequencyPenalty
                | Knob::PresencePenalty
                | Knob::LogitBias => false,
            },
            Self::Anthropic => match knob {
                Knob::TopP | Knob::TopK | Knob::Stop => true,
                Knob::Effort => target.reasons,
                Knob::MinP
                | Knob::Seed
                | Knob::FrequencyPenalty
                | Knob::PresencePenalty
                | Knob::LogitBias
                | Knob::CacheKey
                | Knob::Verbosity => false,
            },
            Self::Gemini => match knob {
                Knob::TopP
                | Knob::TopK
                | Knob::Seed
                | Knob::FrequencyPenalty
                | Knob::PresencePenalty
                | Knob::Stop => true,
                Knob::Effort => target.reasons,
                Knob::MinP | Knob::LogitBias | Knob::Verbosity | Knob::CacheKey => false,
            },
            Self::Ollama => match knob {
                Knob::TopP
                | Knob::TopK
                | Knob::MinP
                | Knob::Seed
                | Knob::FrequencyPenalty
                | Knob::PresencePenalty
                | Knob::Stop => true,
                Knob::Effort => target.reasons,
                Knob::LogitBias | Knob::Verbosity | Knob::CacheKey => false,
            },
        }
    }

    /// Whether the wire itself has a field for stop words.
    pub(crate) const fn has_stop(self) -> bool {
        match self {
            Self::OpenAiChat | Self::Anthropic | Self::Gemini | Self::Ollama => true,
            Self::OpenAiResponses => false,
        }
    }
}

impl Target {
    /// How hard the model is to think, where it was asked for and the model can.
    pub(crate) fn effort(&self, request: &ModelRequest) -> Option<Effort> {
        request.sampling.effort.filter(|_| self.reasons)
    }

    pub(crate) fn verbosity(&self, sampling: &Sampling) -> Option<&'static str> {
        sampling.verbosity.filter(|_| self.reasons).map(onyx_types::Verbosity::as_str)
    }

    /// The effort in the words of OpenAI's wires.
    pub(crate) fn effort_word(&self, request: &ModelRequest) -> Option<&'static str> {
        self.effort(request).map(Effort::as_str)
    }
}
