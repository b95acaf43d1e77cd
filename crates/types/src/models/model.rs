use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Cancel, ErrorCode, Fault, Message, Sampling, StatusCode, ToolOffer, ToolUseId, UpstreamError,
    Usage,
};

/// A language model. Its stream never returns an error: a failure is the last event, with a class.
pub trait Model: Send + Sync {
    /// The model's id, `<provider>/<model>`, as configured.
    fn id(&self) -> &str;

    /// The number of tokens that prompt and answer share; `None` if it is unknown.
    fn context_window(&self) -> Option<u32>;

    /// Streams the answer, which ends with exactly one `Finish` or `Failed`. Dropping the stream,
    /// or cancelling, closes the connection at once.
    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent>;
}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    fn identity(&self) -> EmbedderIdentity;
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>>;

    /// Whether `embed_tokens` returns the vectors of tokens.
    fn gives_tokens(&self) -> bool {
        false
    }

    /// The vector of each text, and the vectors of its tokens if the model returns them.
    fn embed_tokens(
        &self,
        texts: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<Embedded>, ModelFailure>> {
        let vectors = self.embed(texts);
        Box::pin(async move {
            let whole = |vector| Embedded { vector, tokens: None };
            Ok(vectors.await?.into_iter().map(whole).collect())
        })
    }

    /// The number of tokens in a text, if it can be computed without a request.
    fn tokens_in(&self, _text: &str) -> Option<usize> {
        None
    }
}

/// An embedder's result for a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    pub vector: Vec<f32>,
    /// The vectors of the tokens; `None` if the model does not return them.
    pub tokens: Option<TokenVectors>,
}

/// A vector for each token of a text, except for tokens that are only marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenVectors {
    /// The word of each token, as the model reads it.
    pub words: Vec<String>,
    /// One vector after the other; only their directions count.
    pub values: Vec<i8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedderIdentity {
    pub provider: String,
    pub model: String,
    pub dims: usize,
}

/// One call to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The blocks of the system prompt, stable ones first, so that provider prompt caches hit. Like
    /// everything that stays the same between calls, they are shared with their owner.
    pub system: Arc<[SystemBlock]>,
    /// The messages, by far the largest part.
    pub messages: Arc<Vec<Message>>,
    pub tools: Arc<[ToolOffer]>,
    pub tool_use: ToolUse,
    pub max_output_tokens: u32,
    pub temperature: Option<f32>,
    pub sampling: Sampling,
    pub response_format: Option<ResponseFormat>,
    /// Identifies the stable prefix for providers that route requests by it.
    pub cache_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemBlock {
    pub text: String,
    /// Whether the prefix that ends with this block stays equal over many calls.
    pub stable: bool,
}

/// How a model may use the tools it is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    pub choice: ToolChoice,
    pub at_once: CallsAtOnce,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called; the tools are offered because the conversation refers to them.
    None,
    /// At least one tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
}

impl ToolChoice {
    /// Whether the answer must contain a call.
    pub const fn is_forced(&self) -> bool {
        match self {
            Self::Required | Self::Named(_) => true,
            Self::Auto | Self::None => false,
        }
    }
}

/// How many calls one response may contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallsAtOnce {
    #[default]
    Several,
    One,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat {
    JsonObject,
    JsonSchema { name: String, schema: Value },
}

/// An event of a model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    TextDelta(String),
    ReasoningDelta(String),
    /// A whole reasoning item in the provider's own form, to be replayed to the same model.
    Reasoning(Value),
    ToolCallStart {
        index: u32,
        id: ToolUseId,
        name: String,
    },
    ToolCallDelta {
        index: u32,
        arguments: String,
    },
    /// The parsed arguments. The event is sent only after the stream has ended normally, so every
    /// call that is reported may run.
    ToolCallEnd {
        index: u32,
        id: ToolUseId,
        name: String,
        arguments: Value,
        provider_data: Option<Value>,
    },
    Usage(Usage),
    /// Something the person should see: a retry, a fallback, a degraded mode.
    Notice {
        code: StatusCode,
        message: String,
    },
    /// From here on another model than the requested one answers.
    AnsweredBy {
        model: String,
    },
    Finish(FinishReason),
    Failed(ModelFailure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    Stop,
    ToolCalls,
    /// The output limit was reached.
    Length,
    ContentFilter,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class:?}: {message}")]
pub struct ModelFailure {
    pub class: ModelFailureClass,
    /// A message for people. It holds no secret and is never parsed.
    pub message: String,
    /// The provider's own answer, if it answered.
    pub upstream: Option<Box<UpstreamError>>,
}

impl ModelFailure {
    pub fn new(class: ModelFailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), upstream: None }
    }
}

/// The class of a failure. It is decided where the HTTP answer or the frame arrives, never by
/// wording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelFailureClass {
    RateLimited {
        retry_after: Option<Duration>,
    },
    Overloaded {
        retry_after: Option<Duration>,
    },
    Auth,
    /// No person is signed in at the provider, or the sign-in is no longer accepted.
    SignIn {
        provider: String,
    },
    ContextLength,
    InvalidRequest,
    /// The model's format lacks this field of the request. Nothing was sent.
    Unsupported {
        field: &'static str,
    },
    ContentFilter,
    /// The stream ended without its finish marker, or a tool call's arguments do not parse.
    Truncated,
    Transport,
    Timeout,
    Cancelled,
    Unavailable,
    /// The model failed several times in a row and is paused for this long.
    Paused {
        retry_after: Duration,
    },
    /// A budget was used up before the call.
    Budget,
}

impl ModelFailureClass {
    /// When a retry may succeed, if that is known.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Overloaded { retry_after } => *retry_after,
            Self::Paused { retry_after } => Some(*retry_after),
            Self::Auth
            | Self::SignIn { .. }
            | Self::ContextLength
            | Self::InvalidRequest
            | Self::Unsupported { .. }
            | Self::ContentFilter
            | Self::Truncated
            | Self::Transport
            | Self::Timeout
            | Self::Cancelled
            | Self::Unavailable
            | Self::Budget => None,
        }
    }

    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::RateLimited { .. } => ErrorCode::ProviderRateLimited,
            Self::Overloaded { .. } => ErrorCode::ProviderOverloaded,
            Self::Auth | Self::SignIn { .. } => ErrorCode::ProviderAuth,
            Self::ContextLength => ErrorCode::ProviderContextLength,
            Self::InvalidRequest | Self::ContentFilter => ErrorCode::ProviderRefused,
            Self::Unsupported { .. } => ErrorCode::InvalidRequest,
            Self::Truncated => ErrorCode::ProviderTruncated,
            Self::Transport | Self::Unavailable => ErrorCode::ProviderUnavailable,
            Self::Paused { .. } => ErrorCode::ProviderPaused,
            Self::Timeout => ErrorCode::ProviderTimeout,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Budget => ErrorCode::LimitBudget,
        }
    }
}

impl From<ModelFailure> for Fault {
    fn from(failure: ModelFailure) -> Self {
        let mut fault = Self::new(failure.class.code(), failure.message);
        fault.upstream = failure.upstream;
        fault.retry_after = failure.class.retry_after();
        if let ModelFailureClass::Unsupported { field } = failure.class {
            return fault.with_field(field);
        }
        if let ModelFailureClass::SignIn { provider } = failure.class {
            return fault.with_hint(format!(
                "Sign in again: Settings → Providers, or `onyx providers login {provider}`"
            ));
        }
        fault
    }
}
