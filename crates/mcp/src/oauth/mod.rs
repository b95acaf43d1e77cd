//! Signing in at MCP servers that ask for it: OAuth 2.1 with PKCE. The server says who signs people
//! in (RFC 9728), that one says where (RFC 8414), we make ourselves known there (a document of ours,
//! a registration, or what the owner wrote in the config), a person agrees in their browser, and the
//! tokens are kept sealed, bound to the address that they are for.
//!
//! Nothing here opens a browser or listens: whoever signs in does, through [`Consent`] or with
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
pub use sign_in::{Begun, SignIn, SignInSetup};

/// `oauth` of a server in the config: for authorization servers that do not let clients make
/// themselves known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OauthSettings {
    pub client_id: Option<String>,
    /// May be `secret:<name>`.
    pub client_secret: Option<String>,
    /// Where our description of ourselves can be read, over https.
    pub client_metadata_url: Option<String>,
    /// Instead of what the server asks for.
    pub scope: Option<String>,
}

/// Where tokens are kept, sealed.
#[async_trait]
pub trait TokenKeeper: Send + Sync {
    fn load(&self, server: &str) -> Result<Option<String>, Fault>;
    async fn keep(&self, server: &str, record: &str) -> Result<(), Fault>;
    async fn forget(&self, server: &str) -> Result<(), Fault>;

    /// Do several gateways keep tokens there? Then what is kept may be newer than what is known here.
    fn is_shared(&self) -> bool {
        false
    }

    /// Waits until no other gateway changes these tokens; `load` gives what the last one kept. The turn
    /// ends when what is returned is dropped.
    async fn turn(&self, _server: &str) -> Result<Option<Box<dyn Send + Sync>>, Fault> {
        Ok(None)
    }

    /// Keeps a sign-in that waits for its browser, for whichever gateway that comes back to.
    async fn put_attempt(&self, _state: &str, _attempt: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// The same, once.
    async fn take_attempt(&self, _state: &str) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}

/// Names and values of a form or a query.
pub fn pairs(query: &str) -> Vec<(String, String)> {
    form::pairs(query)
}

/// The same, written.
pub fn form(pairs: &[(&str, &str)]) -> String {
    form::written(pairs)
}

/// What the browser brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callback {
    pub state: String,
    pub code: Option<String>,
    /// Who it comes from (RFC 9207).
    pub iss: Option<String>,
    pub error: Option<String>,
}

impl Callback {
    /// Of the query of the address that the browser was sent back to.
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

/// A person who can be asked right now.
#[async_trait]
pub trait Consent: Send + Sync {
    fn redirect_uri(&self) -> &str;
    /// Sends them to this address and waits until they come back.
    async fn ask(&self, address: &str) -> Result<Callback, McpError>;
}
