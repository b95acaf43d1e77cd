//! OpenAI chat completions, spoken by OpenAI and by nearly every compatible server.

mod decode;
mod encode;
mod error;
mod tool_calls;

pub use decode::OpenAiChatDecoder;
pub use encode::encode;
pub use error::http_failure;
