//! Gemini `generateContent`, in AI Studio and in Vertex AI. The two differ in address and key only.

mod decode;
mod encode;

pub use decode::{GeminiAnswer, GeminiDecoder};
pub use encode::encode;

/// The field of `provider_data` that names the model whose signature it holds.
const SIGNED_BY: &str = "model";

const SIGNATURE: &str = "thoughtSignature";
