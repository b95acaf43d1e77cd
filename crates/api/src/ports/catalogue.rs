//! Providers, models and money as the administration routes show them. What stands behind is the
//! binary's to wire: no provider is known here.

use futures::future::BoxFuture;
use onyx_types::{Fault, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// What is known of providers and models, asked anew for every request.
pub trait Catalogue: Send + Sync {
    fn providers(&self) -> Vec<ProviderView>;

    /// Asks the provider; a provider that nobody configured is `not_found`.
    fn test<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<TestView, Fault>>;

    /// What the provider itself says it has.
    fn listed<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<ModelView>, Fault>>;

    /// The models to choose from.
    fn models(&self) -> Vec<ModelView>;

    fn model(&self, id: &str) -> Result<ModelView, Fault>;

    /// What runs on this machine and is not configured.
    fn found(&self) -> BoxFuture<'_, Vec<FoundView>>;

    /// How it stands with the sign-in at a provider; `not_found` where there is no such provider.
    fn login(&self, name: &str) -> Result<LoginView, Fault>;

    /// Asks for a code and waits for it in the background; who comes second gets the same one.
    /// `way`: `code` or `browser`; none is the provider's usual one.
    fn begin_login<'a>(
        &'a self,
        name: &'a str,
        way: Option<&'a str>,
    ) -> BoxFuture<'a, Result<LoginBegun, Fault>>;

    /// With the address at which a browser ended that could not come back by itself.
    fn finish_login(&self, name: &str, address: &str) -> Result<(), Fault>;

    /// Signs out or stops waiting, whatever the config says of the provider.
    fn end_login<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), Fault>>;
}

/// A server that answered at its usual address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundView {
    /// As the vendor is known: a provider of this name needs no other settings.
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
    /// The first of them that answers, and does not only make vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_with: Option<String>,
    pub latency_ms: u64,
}

/// A code that waits to be entered, or a page that waits to be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoginBegun {
    /// `waiting`.
    pub state: &'static str,
    /// `code` or `browser`.
    pub way: &'static str,
    /// To be entered on the page; none where the browser comes back by itself.
    pub user_code: Option<String>,
    /// The page.
    pub verification_uri: String,
    /// Holds the code already, where the provider gives such an address.
    pub verification_uri_complete: Option<String>,
    pub expires_at: Timestamp,
}

/// What does not apply is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoginView {
    /// `none`, `waiting`, `signed_in`, `failed` or `sign_in_again`.
    pub state: &'static str,
    pub account: Option<String>,
    pub user_code: Option<String>,
    pub verification_uri: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// Why the last try came to nothing, or why it must be made again.
    pub error: Option<String>,
    /// When a sign-in ends that cannot be renewed.
    pub until: Option<Timestamp>,
    /// How people can sign in: `code`, `browser`.
    pub ways: Vec<&'static str>,
    /// What was last told of how much of a plan is used.
    pub quota: Option<QuotaView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuotaView {
    /// Which limit it is, in words.
    pub limit: String,
    pub used_percent: Option<u8>,
    pub resets_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProviderView {
    pub name: String,
    pub kind: Option<&'static str>,
    /// `ready` or `disabled`.
    pub state: &'static str,
    /// Why it is disabled, or what fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Shortened beyond use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<&'static str>,
    /// `untried`, `well` or `failing`.
    pub health: &'static str,
    /// Those that the config names.
    pub models: Vec<String>,
    /// Those that were called since the start.
    pub called: Vec<CalledModelView>,
    /// Of a provider that people sign in at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginView>,
    /// As whom it is asked, where this machine's own identity takes the place of a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CalledModelView {
    pub model: String,
    /// `closed`, `open` (it is left alone) or `half_open` (one call tries it).
    pub circuit: &'static str,
    /// In a row.
    pub failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_try_seconds: Option<u64>,
    pub calls: u64,
    pub answered: u64,
    pub retries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_content_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailureView {
    pub at: Timestamp,
    pub class: &'static str,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TestView {
    pub name: String,
    pub ok: bool,
    /// What is right or wrong, and what to do.
    pub advice: String,
    /// `disabled`, `dns`, `refused`, `tls`, `key`, …; none when it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_count: Option<usize>,
}

/// A field that is absent is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelView {
    /// `<provider>/<model>`.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<&'static str>,
    /// It fails of late and is left alone for now.
    pub rests: bool,
    /// Of a model that runs on this machine, where one is asked for by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightsView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WeightsView {
    pub files: Vec<WeightsFileView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The tokens that it was trained to read at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained_window: Option<u32>,
    /// Whether it is in memory now.
    pub loaded: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WeightsFileView {
    pub path: String,
    pub bytes: u64,
    /// What its SHA-256 must be, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_sha256: Option<String>,
}

/// Per million tokens, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PriceView {
    pub input: f64,
    pub output: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}
