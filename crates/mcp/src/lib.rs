//! MCP, both ways: other people's tools under our gate (a client of MCP servers), and how the
//! protocol is spoken to programs that come to us ([`serving`]).
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

mod client;
mod error;
pub mod granting;
mod mirrored;
pub mod oauth;
mod peer;
mod pins;
pub mod program;
mod result;
mod servers;
pub mod serving;
mod settings;
mod tool;
mod transport;
mod wire;

pub use client::{Client, ClientSetup};
pub use error::McpError;
pub use peer::Opening;
pub use pins::ToolPin;
pub use servers::{McpServers, McpSetup, OfferedTool, OfferedToolState, ServerStatus, ServerView};
pub use settings::{
    BadMcpSettings, Folders, McpSettings, ServerSettings, ToolChoice, from_others, parse_hosts,
};
pub use wire::Elicitations;
