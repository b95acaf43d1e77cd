//! OpenAI responses.

mod decode;
mod encode;

pub use decode::{OpenAiResponsesDecoder, ResponsesAnswer};
pub use encode::encode;
