//! The server side of a sign-in, for programs that know only the address of our `/mcp` and that a
//! person allows. It is OAuth 2.1 for clients without secrets: a program's name, and the addresses
//! to which it may be sent back. Codes and tokens are made elsewhere, where people are known. A client chooses its own name, so a person also sees the address to which the
//! code goes: the agreement is with that address.

mod client;

pub use client::{GrantClient, registered};

/// Why a request is refused, with the names of RFC 6749.
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
