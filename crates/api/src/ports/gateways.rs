use futures::future::BoxFuture;
use onyx_types::{Fault, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// The gateways that share one database.
pub trait Gateways: Send + Sync {
    /// All gateways by name; empty where a single process runs without a shared database.
    fn list(&self) -> BoxFuture<'_, Result<Vec<GatewayView>, Fault>>;

    /// Asks a gateway to give back what it holds and to begin nothing more; a silent one is removed
    /// from the list.
    fn drain<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Fault>>;
}

/// One of several gateways, and what it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GatewayView {
    pub id: String,
    /// The address at which the other gateways reach it.
    pub url: String,
    /// The version of its program.
    pub version: String,
    pub state: GatewayViewState,
    /// Whether this gateway answers the request.
    pub answers_you: bool,
    /// When it started.
    pub since: Timestamp,
    /// Milliseconds since it last reported to the database.
    pub silent_for_ms: u64,
    /// Answers in progress.
    pub runs: u64,
    /// Jobs in progress.
    pub jobs: u64,
    /// Approved changes that it is applying.
    pub drafts: u64,
    /// The connector accounts that it serves.
    pub connectors: Vec<String>,
    /// Other duties that one gateway performs for all.
    pub duties: Vec<GatewayDuty>,
}

/// A duty that one gateway performs for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GatewayDuty {
    /// Finishes what gateways that ended unexpectedly left behind.
    CleansUp,
    /// Renews the tokens of a sign-in.
    RenewsSignIn { of: String },
    /// Asks a provider whether a sign-in was finished.
    AwaitsSignIn { of: String },
    /// Imports a source, named by its id.
    ImportsSource { of: String },
    /// Reads texts for facts with a model.
    ReadsFacts,
    /// Makes the vectors of texts.
    MakesVectors,
    /// A duty of a newer gateway, by its name in the database.
    Other { name: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GatewayViewState {
    Serving,
    /// It has not reported for too long. The other gateways took over what it held.
    Silent,
    /// Its answers in progress end, and it begins nothing new.
    Draining,
    /// It holds nothing and begins nothing until it is restarted.
    Drained,
}
