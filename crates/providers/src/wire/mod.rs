//! Wire formats: how a request is written and how an answer is read.

pub mod anthropic;
mod attachments;
mod calls;
mod copilot;
mod error;
pub mod gemini;
mod knobs;
mod names;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub(crate) mod reader;
mod schema;
pub mod sse;

pub use calls::Calls;
pub use copilot::RequestHeaders;
pub use error::http_failure;
pub use names::{ToolNames, portable};
pub use reader::Reader;

pub use crate::failure::{failure, unsupported};
pub use crate::patience::{Patience, Waits};

use onyx_types::{ModelEvent, ModelFailure, ModelRequest};
use reqwest::Url;

/// Reads one answer. A pure fold over bytes: no I/O, no clock.
pub trait Decoder: Send {
    /// The next bytes of the body. Nothing comes after a `Finish` or `Failed`.
    fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent>;

    /// The body ended properly. Yields the last event, unless it was given already.
    fn end(&mut self) -> Vec<ModelEvent>;
}

/// The wire formats that are built. Vendors are data over them (see `VENDORS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Ollama,
}

/// Headers that belong to a wire and not to a vendor.
pub(crate) type WireHeaders = &'static [(&'static str, &'static str)];

/// What a wire must know of the model it talks to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `<provider>/<model>`: reasoning is replayed only to the model that made it.
    pub id: String,
    /// The name the provider knows it by.
    pub model: String,
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Known to think before it answers, so that it may be told how hard.
    pub reasons: bool,
    pub compat: Compat,
}

/// How a server differs from the wire's original. Data, so that no vendor is a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    pub system_role: SystemRole,
    pub max_tokens_field: MaxTokensField,
    pub stream_usage: StreamUsage,
    pub prompt_cache_key: PromptCacheKey,
    pub reasoning_replay: ReasoningReplay,
    pub model_place: ModelPlace,
    pub extra_sampling: ExtraSampling,
    /// JSON Schema keywords the server refuses in tool parameters.
    pub dropped_schema_keywords: Vec<String>,
    /// Tokens a model may think for, on wires where thinking is asked for by the request. Without
    /// it the provider's default holds.
    pub thinking_budget: Option<u32>,
    pub request_headers: RequestHeaders,
    /// Named in each address, where the server wants that.
    pub api_version: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    #[default]
    System,
    Developer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
    /// The server takes no limit.
    Omit,
}

/// Whether usage is asked for with `stream_options`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamUsage {
    #[default]
    Ask,
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptCacheKey {
    Send,
    #[default]
    Omit,
}

/// Whether plain reasoning text goes back to the model that wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    Text,
    #[default]
    Omit,
}

/// Whether a server of OpenAI's wire takes `top_k` and `min_p`, which the original has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtraSampling {
    Send,
    #[default]
    Omit,
}

/// Where a request names its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelPlace {
    #[default]
    Body,
    /// In the path, as Vertex AI has it for Anthropic's models.
    VertexPath,
    /// In the path as a deployment, as Azure has it with a version of its API.
    AzurePath,
}

/// Form of a successful answer's body, by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    Stream,
    /// The server ignored that a stream was asked for.
    Whole,
}

impl Target {
    /// The request's limit and the model's, whichever is lower. Zero means that the caller sets
    /// none.
    pub(crate) fn output_limit(&self, request: &ModelRequest) -> Option<u32> {
        let wanted = (request.max_output_tokens > 0).then_some(request.max_output_tokens);
        match (wanted, self.max_output_tokens) {
            (Some(wanted), Some(most)) => Some(wanted.min(most)),
            (wanted, most) => wanted.or(most),
        }
    }
}

impl Wire {
    /// The base URL with the wire's path. People write the base with the version and without, so
    /// one that the path brings along is not written twice.
    pub(crate) fn endpoint(self, base_url: &str, place: ModelPlace) -> String {
        let base = base_url.trim_end_matches('/');
        match self {
            Self::OpenAiChat if place == ModelPlace::AzurePath => {
                format!("{}/openai/deployments", base.trim_end_matches("/openai"))
            }
            Self::OpenAiResponses if place == ModelPlace::AzurePath => {
                format!("{}/openai/responses", base.trim_end_matches("/openai"))
            }
            Self::OpenAiChat => format!("{base}/chat/completions"),
            Self::OpenAiResponses => format!("{base}/responses"),
            Self::Anthropic if place == ModelPlace::VertexPath => {
                format!("{base}/publishers/anthropic/models")
            }
            Self::Anthropic => format!("{}/v1/messages", base.trim_end_matches("/v1")),
            // AI Studio is written as a bare host; Vertex AI has project and region in its path.
            Self::Gemini if Url::parse(base).is_ok_and(|url| url.path() == "/") => {
                format!("{base}/v1beta/models")
            }
            Self::Gemini => format!("{base}/models"),
            Self::Ollama => format!("{}/api/chat", base.trim_end_matches("/v1")),
        }
    }

    /// The address of one request.
    pub(crate) fn url(self, endpoint: &Url, target: &Target) -> Url {
        let mut url = endpoint.clone();
        match self {
            Self::Gemini => {
                url.set_query(Some("alt=sse"));
                // The base URL was checked to be one that has a path.
                if let Ok(mut path) = url.path_segments_mut() {
                    path.push(&format!("{}:streamGenerateContent", target.model));
                }
            }
            Self::Anthropic if target.compat.model_place == ModelPlace::VertexPath => {
                if let Ok(mut path) = url.path_segments_mut() {
                    path.push(&format!("{}:streamRawPredict", target.model));
                }
            }
            Self::OpenAiChat if target.compat.model_place == ModelPlace::AzurePath => {
                if let Ok(mut path) = url.path_segments_mut() {
                    path.extend([target.model.as_str(), "chat", "completions"]);
                }
            }
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Ollama => {}
        }
        if let Some(version) = &target.compat.api_version {
            url.query_pairs_mut().append_pair("api-version", version);
        }
        url
    }

    pub(crate) fn headers(self) -> WireHeaders {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenAiChat | Self::OpenAiResponses | Self::Gemini | Self::Ollama => &[],
        }
    }

    pub fn encode(self, request: &ModelRequest, target: &Target) -> Result<Vec<u8>, ModelFailure> {
        match self {
            Self::OpenAiChat => openai_chat::encode(request, target),
            Self::OpenAiResponses => openai_responses::encode(request, target),
            Self::Anthropic => anthropic::encode(request, target),
            Self::Gemini => gemini::encode(request, target),
            Self::Ollama => ollama::encode(request, target),
        }
    }

    pub fn decoder(self, form: BodyForm, target: &Target) -> Box<dyn Decoder> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::OpenAiChatDecoder::new(form)),
            Self::OpenAiResponses => Box::new(openai_responses::OpenAiResponsesDecoder::new(form)),
            Self::Anthropic => Box::new(anthropic::AnthropicDecoder::new(form)),
            Self::Gemini => Box::new(gemini::GeminiDecoder::of_model(form, &target.id)),
            Self::Ollama => Box::new(ollama::OllamaDecoder::new(form)),
        }
    }
}
