//! The server side of the protocol: programs that connect to us. This folder knows how MCP is
//! spoken (both eras, sessions, questions to the client, streams of events); the tools come from a
//! [`Service`], which the route creates for each request.
//!
//! It opens no socket and knows no web framework: an [`Endpoint`] takes headers and a body and gives
//! an [`HttpReply`]. Who may come in, the Host and Origin checks and the size of a body are the route's.

mod endpoint;
mod era;
mod exchange;
mod message;
mod running;
mod sealed;
mod sessions;
mod tasks;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

pub use endpoint::{Change, Endpoint};
pub use era::Headers;
pub use exchange::{Exchange, Question};
pub use message::Refusal;
use running::Task;

/// What a caller can use: tools, resources, prompts.
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
    /// The capabilities as both eras write them; `logging` is left out where the era has none.
    pub capabilities: Map<String, Value>,
}

/// Why a method has no result.
#[derive(Debug)]
pub enum Stop {
    Refused(Refusal),
    /// There is no such resource; each era has its own code for it.
    NoSuchResource(String),
    /// The client is asked first, and calls again with its answers.
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

/// A stream of events. Their source is stopped when the stream is dropped.
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
