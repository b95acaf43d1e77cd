//! Signing in to MCP servers that require it, by OAuth 2.1 with PKCE. The server names its
//! authorization server (RFC 9728), which names its endpoints (RFC 8414). Onyx identifies itself
//! there (by its metadata document, a registration, or a client id from the config), a person
//! agrees in their browser, and the tokens are stored sealed, bound to the server's address.
//!
//! No code here opens a browser or listens for one: the caller does, through [`Consent`] or with
//! [`SignIn::begin`] and [`SignIn::finish`].

mod challenge;
mod client;
mod discovery;
mod form;
mod record;
mod sign_in;

use async_trait::async_trait;
use onyx_types::Fault;
use serde::{Deserialize, Serialize};

use crate::McpError;

pub(crate) use challenge::Challenge;
pub use sign_in::{BegunSignIn, SignIn, SignInSetup};

/// The setting `oauth` of a server in the config, for authorization servers that do not support
/// registration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OauthSettings {
    pub client_id: Option<String>,
    /// The client secret, which may be given as `secret:<name>`.
    pub client_secret: Option<String>,
    /// The https address at which our metadata document can be read.
    pub client_metadata_url: Option<String>,
    /// The scope to ask for, in place of the one that the server asks for.
    pub scope: Option<String>,
}

/// The store in which tokens are sealed.
#[async_trait]
pub trait TokenKeeper: Send + Sync {
    fn load(&self, server: &str) -> Result<Option<String>, Fault>;
    async fn keep(&self, server: &str, record: &str) -> Result<(), Fault>;
    async fn forget(&self, server: &str) -> Result<(), Fault>;

    /// Whether several gateways share this store. The stored tokens may then be newer than those in
    /// memory.
    fn is_shared(&self) -> bool {
        false
    }

    /// Waits until no other gateway changes these tokens; `load` then returns the latest ones. The
    /// turn ends when the returned value is dropped.
    async fn turn(&self, _server: &str) -> Result<Option<Box<dyn Send + Sync>>, Fault> {
        Ok(None)
    }

    /// Stores a sign-in that waits for its browser, which may return to any gateway.
    async fn put_attempt(&self, _state: &str, _attempt: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// Takes a sign-in that waits for its browser; each can be taken only once.
    async fn take_attempt(&self, _state: &str) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}

/// Parses the names and values of a form or a query.
pub fn pairs(query: &str) -> Vec<(String, String)> {
    form::pairs(query)
}

/// Writes the names and values of a form or a query.
pub fn form(pairs: &[(&str, &str)]) -> String {
    form::written(pairs)
}

/// The values that the browser returned with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callback {
    pub state: String,
    pub code: Option<String>,
    /// The issuer of the answer (RFC 9207).
    pub iss: Option<String>,
    pub error: Option<String>,
}

impl Callback {
    /// Reads the query of the address that the browser returned to.
    pub fn read(query: &str) -> Self {
        let mut callback = Self::default();
        for (name, value) in form::pairs(query) {
            match name.as_str() {
                "state" => callback.state = value,
                "code" => callback.code = Some(value),
                "iss" => callback.iss = Some(value),
                "error" => callback.error = Some(value),
                _ => {}
            }
        }
        callback
    }
}

/// A person who can be asked to sign in right now.
#[async_trait]
pub trait Consent: Send + Sync {
    fn redirect_uri(&self) -> &str;
    /// Sends the person to this address and waits until they come back.
    async fn ask(&self, address: &str) -> Result<Callback, McpError>;
}
