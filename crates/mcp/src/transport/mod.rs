//! The two transports to a server. Each carries one request at a time to its answer, replies to the
//! server's requests in between, and ends when it is dropped.

mod events;
mod http;
mod stdio;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::McpError;
use crate::wire::Era;

pub(crate) use http::{HttpAccess, HttpTransport};
pub(crate) use stdio::{StdioTransport, Task};

pub(crate) enum Transport {
    Stdio(Box<StdioTransport>),
    Http(Arc<HttpTransport>),
}

/// An outgoing request.
pub(crate) struct Outgoing<'a> {
    pub(crate) era: &'a Era,
    pub(crate) method: &'a str,
    pub(crate) params: Value,
    /// The name of the tool or resource that the request is about, for proxies that route by
    /// headers.
    pub(crate) name: Option<&'a str>,
    /// Arguments that are repeated in headers.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) limit: Duration,
}

impl Transport {
    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Value, McpError> {
        match self {
            Self::Stdio(stdio) => stdio.request(outgoing).await,
            Self::Http(http) => http.request(outgoing).await,
        }
    }

    pub(crate) async fn notify(&self, era: &Era, method: &str) -> Result<(), McpError> {
        match self {
            Self::Stdio(stdio) => stdio.notify(method).await,
            Self::Http(http) => http.notify(era, method).await,
        }
    }

    /// Listens for the server's own messages, after a handshake.
    pub(crate) async fn listen(&self, era: &Era) {
        match self {
            // A program's output is read from its start, so nothing needs to be opened.
            Self::Stdio(_) => {}
            Self::Http(http) => http.listen(era).await,
        }
    }

    /// Why the transport can no longer be used; `None` if it can.
    pub(crate) fn broken(&self) -> Option<String> {
        match self {
            Self::Stdio(stdio) => stdio.broken(),
            Self::Http(_) => None,
        }
    }

    /// Whether the server has reported changed tools since the last call of this function.
    pub(crate) fn tools_changed(&self) -> bool {
        match self {
            Self::Stdio(stdio) => stdio.tools_changed(),
            Self::Http(http) => http.tools_changed(),
        }
    }
}
