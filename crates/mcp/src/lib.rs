//! MCP in both directions: a client of MCP servers, which puts other people's tools under our gate,
//! and the server side for programs that connect to us ([`serving`]).
//!
//! A server is a program in the sandbox, or an address that is reached through egress. Its tools
//! become tools of the toolbox once the owner has accepted exactly their descriptions; a tool whose
//! description changes is removed until it is accepted again. Answers of servers come from outside
//! and taint the run. Both eras of the protocol are supported: with a handshake (up to 2025-11-25)
//! and without one (2026-07-28).
//!
//! The client is our own and small: every message has a size limit, every request a deadline,
//! requests leave through egress, and every request of a server to us is declined.
//!
//! What may not enter: policy (the gate decides), prompts, surfaces, providers.

mod client;
mod error;
pub mod granting;
mod mirrored;
pub mod oauth;
mod pins;
pub mod program;
mod result;
mod server_connection;
mod servers;
pub mod serving;
mod settings;
mod tool;
mod transport;
mod wire;

pub use client::{Client, ClientSetup};
pub use error::McpError;
pub use pins::ToolPin;
pub use server_connection::Opening;
pub use servers::{McpServers, McpSetup, OfferedTool, OfferedToolState, ServerStatus, ServerView};
pub use settings::{
    BadMcpSettings, Folders, McpSettings, ServerSettings, ToolChoice, from_others, parse_hosts,
};
pub use wire::Elicitations;
