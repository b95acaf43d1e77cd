//! OpenAI chat completions, spoken by OpenAI and by nearly every compatible server.

mod decode;
mod encode;
mod tool_calls;

pub use decode::{ChatAnswer, OpenAiChatDecoder};
pub use encode::encode;
