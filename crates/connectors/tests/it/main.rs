//! Tests connectors over real sockets and a real ledger, against fake networks that misbehave and
//! an agent that remembers what it was asked.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod agent;
mod clock;
mod discord;
mod process;
mod sandboxed;
mod secrets;
mod telegram;
mod text;
mod webhook;
mod widget;
