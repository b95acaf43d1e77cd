use futures::future::BoxFuture;
use onyx_types::{Fault, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// The gateways that share one database.
pub trait Gateways: Send + Sync {
    /// By name; none where one process keeps everything to itself.
    fn list(&self) -> BoxFuture<'_, Result<Vec<GatewayView>, Fault>>;

    /// Asks one to give back what it holds and to begin nothing more; one that is silent is forgotten.
    fn drain<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Fault>>;
}

/// One of several gateways, and what it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GatewayView {
    pub id: String,
    /// Where the others reach it.
    pub url: String,
    /// Of the program that runs there.
    pub version: String,
    pub state: GatewayViewState,
    /// Is it the one that answers this request?
    pub answers_you: bool,
    /// When it started.
    pub since: Timestamp,
    /// How long ago it last told the database that it lives, in milliseconds.
    pub silent_for_ms: u64,
    /// Answers under way.
    pub runs: u64,
    /// Jobs that run now.
    pub jobs: u64,
    /// Approved changes that it is applying.
    pub drafts: u64,
    /// Accounts of other networks that it asks for messages.
    pub connectors: Vec<String>,
    /// What else one gateway does for all.
    pub duties: Vec<GatewayDuty>,
}

/// Something that one gateway does for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GatewayDuty {
    /// Ends what gateways that died left behind.
    CleansUp,
    /// Renews what is kept of a sign-in.
    RenewsSignIn { of: String },
    /// Asks a provider whether a sign-in was finished.
    AwaitsSignIn { of: String },
    /// Of a newer gateway, by the name that it has in the database.
    Other { name: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GatewayViewState {
    Serving,
    /// Nothing was heard of it for longer than its life. The others have what it held.
    Silent,
    /// Its answers under way end, and nothing new is begun.
    Draining,
    /// It holds nothing and begins nothing until it is restarted.
    Drained,
}
