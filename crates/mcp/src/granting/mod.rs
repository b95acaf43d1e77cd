//! The other end of a sign-in: programs that come to our `/mcp` by its address alone and are let in
//! by a person. OAuth 2.1 for clients without secrets: who a program says it is, where it may be sent
//! back to, and codes that are good once. Tokens are made by whoever knows the people.
//!
//! A client's name is its own word. What a person agrees to is shown with the address that the code
//! goes to, and that is what counts.

mod client;
mod codes;

pub use client::{GrantClient, registered};
pub use codes::{GrantCodes, GrantRequest};

/// Why a request gets nothing, as RFC 6749 names it.
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
