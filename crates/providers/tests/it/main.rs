//! The wire layer against a scripted server, and its decoders against every cut of an answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value)]

mod breaker;
mod budget;
mod chains;
mod claude_cli;
mod configured;
mod credentials;
mod cuts;
mod decoding;
mod embedding;
mod encoding;
mod fallback;
mod faults;
mod keys;
mod listing;
mod metadata;
mod page_server;
mod pi_sidecar;
mod real_programs;
mod registry;
mod retry;
mod routing;
mod secrets;
mod sign_ins;
mod sources;
mod sse;
mod support;
mod tokens;
mod vendors;
mod wires;
