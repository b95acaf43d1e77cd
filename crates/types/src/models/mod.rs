//! Requests to a language model or an embedder, and their answers. No provider's wire format is
//! known here.

mod model;
mod sampling;
mod tokens;
mod upstream_error;
mod usage;

pub use model::{
    CallsAtOnce, Embedded, Embedder, EmbedderIdentity, FinishReason, Model, ModelEvent,
    ModelFailure, ModelFailureClass, ModelRequest, ResponseFormat, SystemBlock, TokenVectors,
    ToolChoice, ToolUse,
};
pub use sampling::{Effort, Sampling, SamplingSetting, Verbosity};
pub use tokens::{TokenCounter, estimate_tokens};
pub use upstream_error::UpstreamError;
pub use usage::Usage;
