//! The server side of a sign-in: programs that know only the address of our `/mcp`, and that a
//! person allows. OAuth 2.1 for clients without secrets: a program's name, the addresses it may be
//! sent back to, and codes that are valid once. Tokens are made elsewhere, where people are known.
//! A client chooses its own name, so a person is also shown the address that the code goes to: the
//! agreement is with that address.

mod client;
mod codes;

pub use client::{GrantClient, registered};
pub use codes::{GrantCodes, GrantRequest};

/// Why a request is refused, as RFC 6749 names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRefusal {
    pub error: &'static str,
    pub message: String,
}

impl GrantRefusal {
    pub fn new(error: &'static str, message: impl Into<String>) -> Self {
        Self { error, message: message.into() }
    }
}
