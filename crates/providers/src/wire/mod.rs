//! Wire formats: how a request is written and how an answer is read.

pub mod anthropic;
mod attachments;
mod calls;
mod copilot;
mod effort;
mod error;
pub mod gemini;
mod names;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub(crate) mod reader;
mod schema;
pub mod sse;

pub use calls::Calls;
pub use copilot::RequestHeaders;
pub use error::{class_by_status, http_failure};
pub use names::{ToolNames, portable};
pub use reader::Reader;

pub use crate::failure::{failure, unsupported};
pub use crate::patience::{AnswerTimeouts, Patience};

use onyx_types::{ModelEvent, ModelFailure, ModelRequest, SamplingSetting};
use reqwest::Url;

/// Reads one answer. A pure fold over bytes: no I/O, no clock.
pub trait Decoder: Send {
    /// The next bytes of the body. Nothing comes after a `Finish` or `Failed`.
    fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent>;

    /// The body ended properly. Yields the last event, unless it was given already.
    fn end(&mut self) -> Vec<ModelEvent>;
}

/// The supported wire formats. Vendors are data over them (see `VENDORS`).
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

/// What a wire must know of the model that it is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledModel {
    /// `<provider>/<model>`: reasoning is replayed only to the model that made it.
    pub id: String,
    /// The name by which the provider knows the model.
    pub model: String,
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Whether the model is known to think before it answers, so that a request may set the effort.
    pub reasons: bool,
    pub compat: Compat,
}

/// How a server differs from the wire's original. These are data, so that no code branches on a
/// vendor.
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
    /// The tokens that a model may think for, on wires whose requests set it. Without it the
    /// provider's default applies.
    pub thinking_budget: Option<u32>,
    pub request_headers: RequestHeaders,
    /// The API version that each address names, if the server requires one.
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
    /// The server accepts no limit.
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

/// Whether a server of OpenAI's wire accepts `top_k` and `min_p`, which the original does not have.
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
    /// The path names the model, as Vertex AI has it for Anthropic's models.
    VertexPath,
    /// The path names the model as a deployment, as Azure does if an API version is set.
    AzurePath,
}

/// Form of a successful answer's body, by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    Stream,
    /// The server ignored that a stream was requested.
    Whole,
}

impl CalledModel {
    /// The lower of the request's limit and the model's. Zero means that the caller sets none.
    pub(crate) fn output_limit(&self, request: &ModelRequest) -> Option<u32> {
        let wanted = (request.max_output_tokens > 0).then_some(request.max_output_tokens);
        match (wanted, self.max_output_tokens) {
            (Some(wanted), Some(most)) => Some(wanted.min(most)),
            (wanted, most) => wanted.or(most),
        }
    }
}

/// The parts in which wires differ. Each folder beside this file implements it once.
trait WireFormat: Sync {
    /// The wire's path on a base URL, which ends without a slash. People write the base with and
    /// without the version, so a version that the path contains is not written twice.
    fn endpoint(&self, base: &str, place: ModelPlace) -> String;

    /// Adds what the address of one request needs beside the endpoint.
    fn complete(&self, _url: &mut Url, _called: &CalledModel) {}

    fn headers(&self) -> WireHeaders {
        &[]
    }

    /// Whether the wire has a field for this setting of a client. A setting without a field is left
    /// out of the request, and the client is informed before the answer begins.
    fn takes(&self, setting: SamplingSetting, called: &CalledModel) -> bool;

    /// Whether the wire itself has a field for stop words.
    fn has_stop(&self) -> bool {
        true
    }

    fn encode(&self, request: &ModelRequest, called: &CalledModel)
    -> Result<Vec<u8>, ModelFailure>;

    fn decoder(&self, form: BodyForm, called: &CalledModel) -> Box<dyn Decoder>;
}

impl Wire {
    const fn format(self) -> &'static dyn WireFormat {
        match self {
            Self::OpenAiChat => &openai_chat::OpenAiChatFormat,
            Self::OpenAiResponses => &openai_responses::OpenAiResponsesFormat,
            Self::Anthropic => &anthropic::AnthropicFormat,
            Self::Gemini => &gemini::GeminiFormat,
            Self::Ollama => &ollama::OllamaFormat,
        }
    }

    /// The base URL with the wire's path.
    pub(crate) fn endpoint(self, base_url: &str, place: ModelPlace) -> String {
        self.format().endpoint(base_url.trim_end_matches('/'), place)
    }

    /// The address of one request.
    pub(crate) fn url(self, endpoint: &Url, called: &CalledModel) -> Url {
        let mut url = endpoint.clone();
        self.format().complete(&mut url, called);
        if let Some(version) = &called.compat.api_version {
            url.query_pairs_mut().append_pair("api-version", version);
        }
        url
    }

    pub(crate) fn headers(self) -> WireHeaders {
        self.format().headers()
    }

    /// Whether the wire has a field for this setting.
    pub fn takes(self, setting: SamplingSetting, called: &CalledModel) -> bool {
        self.format().takes(setting, called)
    }

    pub(crate) fn has_stop(self) -> bool {
        self.format().has_stop()
    }

    pub fn encode(
        self,
        request: &ModelRequest,
        called: &CalledModel,
    ) -> Result<Vec<u8>, ModelFailure> {
        self.format().encode(request, called)
    }

    pub fn decoder(self, form: BodyForm, called: &CalledModel) -> Box<dyn Decoder> {
        self.format().decoder(form, called)
    }
}
