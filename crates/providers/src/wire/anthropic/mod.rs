//! Anthropic messages.

mod decode;
mod encode;

pub use decode::{AnthropicAnswer, AnthropicDecoder};
pub use encode::encode;
