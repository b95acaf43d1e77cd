//! Anthropic messages.

mod decode;
mod encode;

pub use decode::{AnthropicAnswer, AnthropicDecoder};
pub use encode::encode;

use onyx_types::{ModelFailure, ModelRequest, SamplingSetting};
use reqwest::Url;

use super::{BodyForm, CalledModel, Decoder, ModelPlace, WireFormat, WireHeaders};

pub(super) struct AnthropicFormat;

impl WireFormat for AnthropicFormat {
    fn endpoint(&self, base: &str, place: ModelPlace) -> String {
        if place == ModelPlace::VertexPath {
            format!("{base}/publishers/anthropic/models")
        } else {
            format!("{}/v1/messages", base.trim_end_matches("/v1"))
        }
    }

    fn complete(&self, url: &mut Url, called: &CalledModel) {
        // The base URL was checked to be one that can have a path.
        if called.compat.model_place == ModelPlace::VertexPath
            && let Ok(mut path) = url.path_segments_mut()
        {
            path.push(&format!("{}:streamRawPredict", called.model));
        }
    }

    fn headers(&self) -> WireHeaders {
        &[("anthropic-version", "2023-06-01")]
    }

    fn takes(&self, setting: SamplingSetting, called: &CalledModel) -> bool {
        match setting {
            SamplingSetting::TopP | SamplingSetting::TopK | SamplingSetting::Stop => true,
            SamplingSetting::Effort => called.reasons,
            SamplingSetting::MinP
            | SamplingSetting::Seed
            | SamplingSetting::FrequencyPenalty
            | SamplingSetting::PresencePenalty
            | SamplingSetting::LogitBias
            | SamplingSetting::CacheKey
            | SamplingSetting::Verbosity => false,
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
        Box::new(AnthropicDecoder::new(form))
    }
}
