//! Ollama's own chat API, with one JSON value a line.

mod decode;
mod encode;

pub use decode::{OllamaAnswer, OllamaDecoder};
pub use encode::encode;

use onyx_types::{Knob, ModelFailure, ModelRequest};

use super::{BodyForm, Decoder, ModelPlace, Target, WireFormat};

/// The field that holds reasoning, in requests and answers.
const THINKING: &str = "thinking";

pub(super) struct OllamaFormat;

impl WireFormat for OllamaFormat {
    fn endpoint(&self, base: &str, _place: ModelPlace) -> String {
        format!("{}/api/chat", base.trim_end_matches("/v1"))
    }

    fn takes(&self, knob: Knob, target: &Target) -> bool {
        match knob {
            Knob::TopP
            | Knob::TopK
            | Knob::MinP
            | Knob::Seed
            | Knob::FrequencyPenalty
            | Knob::PresencePenalty
            | Knob::Stop => true,
            Knob::Effort => target.reasons,
            Knob::LogitBias | Knob::Verbosity | Knob::CacheKey => false,
        }
    }

    fn encode(&self, request: &ModelRequest, target: &Target) -> Result<Vec<u8>, ModelFailure> {
        encode(request, target)
    }

    fn decoder(&self, form: BodyForm, _target: &Target) -> Box<dyn Decoder> {
        Box::new(OllamaDecoder::new(form))
    }
}
