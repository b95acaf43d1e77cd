//! OpenAI chat completions, spoken by OpenAI and by nearly every compatible server.

mod decode;
mod encode;
mod tool_calls;

pub use decode::{ChatAnswer, OpenAiChatDecoder};
pub use encode::encode;

use onyx_types::{ModelFailure, ModelRequest, SamplingSetting};
use reqwest::Url;

use super::{
    BodyForm, CalledModel, Decoder, ExtraSampling, ModelPlace, PromptCacheKey, WireFormat,
};

pub(super) struct OpenAiChatFormat;

impl WireFormat for OpenAiChatFormat {
    fn endpoint(&self, base: &str, place: ModelPlace) -> String {
        if place == ModelPlace::AzurePath {
            format!("{}/openai/deployments", base.trim_end_matches("/openai"))
        } else {
            format!("{base}/chat/completions")
        }
    }

    fn complete(&self, url: &mut Url, called: &CalledModel) {
        // The base URL was checked to be one that can have a path.
        if called.compat.model_place == ModelPlace::AzurePath
            && let Ok(mut path) = url.path_segments_mut()
        {
            path.extend([called.model.as_str(), "chat", "completions"]);
        }
    }

    fn takes(&self, setting: SamplingSetting, called: &CalledModel) -> bool {
        match setting {
            SamplingSetting::TopP
            | SamplingSetting::Seed
            | SamplingSetting::FrequencyPenalty
            | SamplingSetting::PresencePenalty
            | SamplingSetting::LogitBias
            | SamplingSetting::Stop => true,
            SamplingSetting::TopK | SamplingSetting::MinP => {
                called.compat.extra_sampling == ExtraSampling::Send
            }
            SamplingSetting::Effort | SamplingSetting::Verbosity => called.reasons,
            SamplingSetting::CacheKey => called.compat.prompt_cache_key == PromptCacheKey::Send,
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
        Box::new(OpenAiChatDecoder::new(form))
    }
}
