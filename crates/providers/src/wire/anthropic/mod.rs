//! Anthropic messages.

mod decode;
mod encode;

pub use decode::{AnthropicAnswer, AnthropicDecoder};
pub use encode::encode;

use onyx_types::{ModelFailure, ModelRequest, SamplingSetting};
use reqwest::Url;

use super::{BodyForm, Decoder, ModelPlace, Target, WireFormat, WireHeaders};

pub(super) struct AnthropicFormat;

impl WireFormat for AnthropicFormat {
    fn endpoint(&self, base: &str, place: ModelPlace) -> String {
        if place == ModelPlace::VertexPath {
            format!("{base}/publishers/anthropic/models")
        } else {
            format!("{}/v1/messages", base.trim_end_matches("/v1"))
        }
    }

    fn complete(&self, url: &mut Url, target: &Target) {
        // The base URL was checked to be one that can have a path.
        if target.compat.model_place == ModelPlace::VertexPath
            && let Ok(mut path) = url.path_segments_mut()
        {
            path.push(&format!("{}:streamRawPredict", target.model));
        }
    }

    fn headers(&self) -> WireHeaders {
        &[("anthropic-version", "2023-06-01")]
    }

    fn takes(&self, setting: SamplingSetting, target: &Target) -> bool {
        match setting {
            SamplingSetting::TopP | SamplingSetting::TopK | SamplingSetting::Stop => true,
            SamplingSetting::Effort => target.reasons,
            SamplingSetting::MinP
            | SamplingSetting::Seed
            | SamplingSetting::FrequencyPenalty
            | SamplingSetting::PresencePenalty
            | SamplingSetting::LogitBias
            | SamplingSetting::CacheKey
            | SamplingSetting::Verbosity => false,
        }
    }

    fn encode(&self, request: &ModelRequest, target: &Target) -> Result<Vec<u8>, ModelFailure> {
        encode(request, target)
    }

    fn decoder(&self, form: BodyForm, _target: &Target) -> Box<dyn Decoder> {
        Box::new(AnthropicDecoder::new(form))
    }
}
