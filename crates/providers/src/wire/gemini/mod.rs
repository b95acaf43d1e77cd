//! Gemini `generateContent`, in AI Studio and in Vertex AI. The two differ in address and key only.

mod decode;
mod encode;

pub use decode::{GeminiAnswer, GeminiDecoder};
pub use encode::encode;

use onyx_types::{ModelFailure, ModelRequest, SamplingSetting};
use reqwest::Url;

use super::{BodyForm, CalledModel, Decoder, ModelPlace, WireFormat};

/// The field of `provider_data` that names the model whose signature it holds.
const SIGNED_BY: &str = "model";

const SIGNATURE: &str = "thoughtSignature";

pub(super) struct GeminiFormat;

impl WireFormat for GeminiFormat {
    fn endpoint(&self, base: &str, _place: ModelPlace) -> String {
        // AI Studio is written as a bare host; Vertex AI has project and region in its path.
        if Url::parse(base).is_ok_and(|url| url.path() == "/") {
            format!("{base}/v1beta/models")
        } else {
            format!("{base}/models")
        }
    }

    fn complete(&self, url: &mut Url, called: &CalledModel) {
        url.set_query(Some("alt=sse"));
        // The base URL was checked to be one that can have a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(&format!("{}:streamGenerateContent", called.model));
        }
    }

    fn takes(&self, setting: SamplingSetting, called: &CalledModel) -> bool {
        match setting {
            SamplingSetting::TopP
            | SamplingSetting::TopK
            | SamplingSetting::Seed
            | SamplingSetting::FrequencyPenalty
            | SamplingSetting::PresencePenalty
            | SamplingSetting::Stop => true,
            SamplingSetting::Effort => called.reasons,
            SamplingSetting::MinP
            | SamplingSetting::LogitBias
            | SamplingSetting::Verbosity
            | SamplingSetting::CacheKey => false,
        }
    }

    fn encode(
        &self,
        request: &ModelRequest,
        called: &CalledModel,
    ) -> Result<Vec<u8>, ModelFailure> {
        encode(request, called)
    }

    fn decoder(&self, form: BodyForm, called: &CalledModel) -> Box<dyn Decoder> {
        Box::new(GeminiDecoder::of_model(form, &called.id))
    }
}
