//! Models of Amazon Bedrock, through Amazon's own client, which does the signing and the
//! event-stream framing. Everything else works as for our own wires.
//!
//! A leaf: only the `onyx` program may depend on it, and only with its feature `bedrock`. What may
//! not enter: reading the environment or the machine's AWS files (credentials are passed in).

#![cfg(feature = "sdk")]

mod answer;
mod call;
mod document;
mod encode;
mod failure;
mod source;

pub use source::{Bedrock, BedrockKey, BedrockSettings, BedrockTimeouts};
