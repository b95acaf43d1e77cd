//! OpenAI chat completions, spoken by OpenAI and by nearly every compatible server.

mod decode;
mod encode;
mod tool_calls;

pub use decode::{ChatAnswer, OpenAiChatDecoder};
pub use encode::encode;

use onyx_types::{ModelFailure, ModelRequest, SamplingSetting};
use reqwest::Url;

use super::{BodyForm, Decoder, ExtraSampling, ModelPlace, PromptCacheKey, Target, WireFormat};

pub(super) struct OpenAiChatFormat;

impl WireFormat for OpenAiChatFormat {
    fn endpoint(&self, base: &str, place: ModelPlace) -> String {
        if place == ModelPlace::AzurePath {
            format!("{}/openai/deployments", base.trim_end_matches("/openai"))
        } else {
            format!("{base}/chat/completions")
        }
    }

    fn complete(&self, url: &mut Url, target: &Target) {
        // The base URL was checked to be one that can have a path.
        if target.compat.model_place == ModelPlace::AzurePath
            && let Ok(mut path) = url.path_segments_mut()
        {
            path.extend([target.model.as_str(), "chat", "completions"]);
        }
    }

    fn takes(&self, setting: SamplingSetting, target: &Target) -> bool {
        match setting {
            SamplingSetting::TopP
            | SamplingSetting::Seed
            | SamplingSetting::FrequencyPenalty
            | SamplingSetting::PresencePenalty
            | SamplingSetting::LogitBias
            | SamplingSetting::Stop => true,
            SamplingSetting::TopK | SamplingSetting::MinP => {
                target.compat.extra_sampling == ExtraSampling::Send
            }
            SamplingSetting::Effort | SamplingSetting::Verbosity => target.reasons,
            SamplingSetting::CacheKey => target.compat.prompt_cache_key == PromptCacheKey::Send,
        }
    }

    fn encode(&self, request: &ModelRequest, target: &Target) -> Result<Vec<u8>, ModelFailure> {
        encode(request, target)
    }

    fn decoder(&self, form: BodyForm, _target: &Target) -> Box<dyn Decoder> {
        Box::new(OpenAiChatDecoder::new(form))
    }
}
