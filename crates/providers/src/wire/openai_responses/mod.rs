//! OpenAI responses.

mod decode;
mod encode;

pub use decode::{OpenAiResponsesDecoder, ResponsesAnswer};
pub use encode::encode;

use onyx_types::{ModelFailure, ModelRequest, SamplingSetting};

use super::{BodyForm, CalledModel, Decoder, ModelPlace, PromptCacheKey, WireFormat};

pub(super) struct OpenAiResponsesFormat;

impl WireFormat for OpenAiResponsesFormat {
    fn endpoint(&self, base: &str, place: ModelPlace) -> String {
        if place == ModelPlace::AzurePath {
            format!("{}/openai/responses", base.trim_end_matches("/openai"))
        } else {
            format!("{base}/responses")
        }
    }

    fn takes(&self, setting: SamplingSetting, called: &CalledModel) -> bool {
        match setting {
            // `StopWords` handles stop words: the wire has none.
            SamplingSetting::TopP | SamplingSetting::Stop => true,
            SamplingSetting::Effort | SamplingSetting::Verbosity => called.reasons,
            SamplingSetting::CacheKey => called.compat.prompt_cache_key == PromptCacheKey::Send,
            SamplingSetting::TopK
            | SamplingSetting::MinP
            | SamplingSetting::Seed
            | SamplingSetting::FrequencyPenalty
            | SamplingSetting::PresencePenalty
            | SamplingSetting::LogitBias => false,
        }
    }

    fn has_stop(&self) -> bool {
        false
    }

    fn encode(
        &self,
        request: &ModelRequest,
        called: &CalledModel,
    ) -> Result<Vec<u8>, ModelFailure> {
        encode(request, called)
    }

    fn decoder(&self, form: BodyForm, _called: &CalledModel) -> Box<dyn Decoder> {
        Box::new(OpenAiResponsesDecoder::new(form))
    }
}
