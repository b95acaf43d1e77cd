//! Wire formats: how a request is written and how an answer is read.

mod calls;
mod error;
mod names;
pub mod openai_chat;
mod reader;
mod schema;
pub mod sse;

pub use error::http_failure;
pub use names::{ToolNames, portable};
pub use reader::Reader;

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
    /// JSON Schema keywords the server refuses in tool parameters.
    pub dropped_schema_keywords: Vec<String>,
    /// Tokens a model may think for, on wires where thinking is asked for by the request. Without
    /// it the provider's default holds.
    pub thinking_budget: Option<u32>,
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
    /// Path below the base URL, without what depends on the model.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::OpenAiChat => "/chat/completions",
        }
    }

    /// The address of one request; `endpoint` is the base URL with the wire's path.
    pub(crate) fn url(self, endpoint: &Url, _target: &Target) -> Url {
        match self {
            Self::OpenAiChat => endpoint.clone(),
        }
    }

    pub(crate) fn headers(self) -> WireHeaders {
        match self {
            Self::OpenAiChat => &[],
        }
    }

    pub(crate) fn encode(
        self,
        request: &ModelRequest,
        target: &Target,
    ) -> Result<Vec<u8>, ModelFailure> {
        match self {
            Self::OpenAiChat => openai_chat::encode(request, target),
        }
    }

    pub(crate) fn decoder(self, form: BodyForm, _target: &Target) -> Box<dyn Decoder> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::OpenAiChatDecoder::new(form)),
        }
    }
}
