//! Other people's tools under our gate: a client of MCP servers.
//!
//! A server is a program in the sandbox, or an address that is reached through egress. Its tools
//! become tools of the toolbox once the owner has accepted exactly what they say of themselves; a
//! tool that says something else later is taken away until it is accepted again. What servers answer
//! comes from outside and taints. Both eras of the protocol are spoken: with a handshake
//! (2025-11-25 and before) and without (2026-07-28).
//!
//! The client is our own and thin: every message has a bound, every request a deadline, requests
//! leave through egress, and nothing that a server asks of us is done (it may ask; it is declined).
//!
//! What may not enter: policy (the gate decides), prompts, surfaces, providers.

mod error;
mod peer;
mod pins;
mod result;
mod servers;
mod settings;
mod tool;
mod transport;
mod wire;

pub use error::McpError;
pub use pins::ToolPin;
pub use servers::{McpServers, McpSetup, OfferedTool, OfferedToolState, ServerStatus, ServerView};
pub use settings::{BadMcpSettings, Folders, McpSettings, ServerSettings, ToolChoice, from_others};
