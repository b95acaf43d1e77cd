//! The server side of the protocol, for programs that connect to us. This folder implements MCP
//! itself (both eras, sessions, questions to the client, streams of events); the tools come from a
//! [`Service`], which the route creates for each request.
//!
//! No code here opens a socket or knows a web framework: an [`Endpoint`] takes headers and a body
//! and returns an [`HttpReply`]. The route decides who may come in, checks Host and Origin, and
//! limits the size of a body.

mod endpoint;
mod era;
mod exchange;
mod message;
mod running;
mod sealed;
mod sessions;
mod task_rows;
mod tasks;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

pub use endpoint::{Change, Endpoint};
pub use era::Headers;
pub use exchange::{Exchange, Question};
pub use message::Refusal;
use running::Task;
pub use sealed::EndpointKeys;

/// The tools, resources and prompts that a caller can use.
#[async_trait]
pub trait Service: Send + Sync {
    fn offer(&self) -> Offer;

    /// Answers a method that the protocol leaves to the service, such as `tools/call`.
    async fn answer(
        &self,
        method: &str,
        params: &Value,
        exchange: &Exchange,
    ) -> Result<Value, Stop>;
}

/// The service's description of itself.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// `serverInfo`: name, title, version.
    pub info: Value,
    pub instructions: String,
    /// The capabilities in the form of both eras; `logging` is left out if the era does not have
    /// it.
    pub capabilities: Map<String, Value>,
}

/// Why a method has no result.
#[derive(Debug)]
pub enum Stop {
    Refused(Refusal),
    /// The resource does not exist; each era has its own error code for this.
    NoSuchResource(String),
    /// The client must answer questions first, and then calls again with its answers.
    InputRequired(Value),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The answer over HTTP.
pub enum HttpReply {
    Empty {
        status: u16,
    },
    Json {
        status: u16,
        session: Option<String>,
        body: Value,
    },
    /// Server-sent events, already written out.
    Events(Events),
}

/// A stream of events. Its source is stopped when the stream is dropped.
pub struct Events {
    first: Vec<String>,
    rest: mpsc::Receiver<Value>,
    _task: Task,
}

impl Events {
    pub async fn next(&mut self) -> Option<String> {
        if !self.first.is_empty() {
            return Some(self.first.remove(0));
        }
        self.rest.recv().await.map(|message| event(&message))
    }
}

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}
