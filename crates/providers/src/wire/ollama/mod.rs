//! Ollama's own chat: one JSON value a line.

mod decode;
mod encode;

pub use decode::{OllamaAnswer, OllamaDecoder};
pub use encode::encode;

/// The field that reasoning stands in, both ways.
const THINKING: &str = "thinking";
