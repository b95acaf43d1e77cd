//! Ollama's own chat API, with one JSON value a line.

mod decode;
mod encode;

pub use decode::{OllamaAnswer, OllamaDecoder};
pub use encode::encode;

use onyx_types::{ModelFailure, ModelRequest, SamplingSetting};

use super::{BodyForm, CalledModel, Decoder, ModelPlace, WireFormat};

/// The field that holds reasoning, in requests and answers.
const THINKING: &str = "thinking";

pub(super) struct OllamaFormat;

impl WireFormat for OllamaFormat {
    fn endpoint(&self, base: &str, _place: ModelPlace) -> String {
        format!("{}/api/chat", base.trim_end_matches("/v1"))
    }

    fn takes(&self, setting: SamplingSetting, called: &CalledModel) -> bool {
        match setting {
            SamplingSetting::TopP
            | SamplingSetting::TopK
            | SamplingSetting::MinP
            | SamplingSetting::Seed
            | SamplingSetting::FrequencyPenalty
            | SamplingSetting::PresencePenalty
            | SamplingSetting::Stop => true,
            SamplingSetting::Effort => called.reasons,
            SamplingSetting::LogitBias | SamplingSetting::Verbosity | SamplingSetting::CacheKey => {
                false
            }
        }
    }

    fn encode(
        &self,
        request: &ModelRequest,
        called: &CalledModel,
    ) -> Result<Vec<u8>, ModelFailure> {
        encode(request, called)
    }

    fn decoder(&self, form: BodyForm, _called: &CalledModel) -> Box<dyn Decoder> {
        Box::new(OllamaDecoder::new(form))
    }
}
