//! The person's own Claude Code CLI as a model (`claude-subscription/…`): stream-json both ways, our
//! tools offered to it as an MCP server over its control channel.
//!
//! The CLI has its own loop: it asks for a tool, waits, and continues. For Onyx each step stays one
//! model call: when the model's message is complete, the call ends with the tools that the message
//! asks for, and the process waits, parked, until the next call delivers their results. A parked
//! process is a cache: everything it knew can be sent to another one as text (`transcript.rs`).

mod account;
mod call;
mod conversation;
mod failure;
mod pool;
mod protocol;
mod source;
mod tools;
mod transcript;
mod turn;

pub use source::{ClaudeCli, ClaudeLimits, ClaudeSettings};
