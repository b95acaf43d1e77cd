//! Providers, models and costs as the administration routes show them. The binary implements this;
//! no provider is known here.

use futures::future::BoxFuture;
use onyx_types::{Fault, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// What is known of providers and models, read again for every request.
pub trait Catalogue: Send + Sync {
    fn providers(&self) -> Vec<ProviderView>;

    /// Tests the provider with a request; a provider that is not configured is `not_found`.
    fn test<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<TestView, Fault>>;

    /// The models that the provider itself lists.
    fn listed<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<ModelView>, Fault>>;

    /// The available models.
    fn models(&self) -> Vec<ModelView>;

    fn model(&self, id: &str) -> Result<ModelView, Fault>;

    /// Model servers that run on this machine and are not configured.
    fn found(&self) -> BoxFuture<'_, Vec<FoundProviderView>>;

    /// The state of the sign-in at a provider; `not_found` where there is no such provider.
    fn login(&self, name: &str) -> Result<LoginView, Fault>;

    /// Asks for a code and waits for it in the background; a second caller gets the same one.
    /// `way`: `code` or `browser`; none is the provider's usual one.
    fn begin_login<'a>(
        &'a self,
        name: &'a str,
        way: Option<&'a str>,
    ) -> BoxFuture<'a, Result<LoginBegun, Fault>>;

    /// Finishes a sign-in with the address that a browser on another machine ended at.
    fn finish_login(&self, name: &str, address: &str) -> Result<(), Fault>;

    /// Signs out or cancels the sign-in, whether or not the config names the provider.
    fn end_login<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), Fault>>;
}

/// A server that answered at its usual address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundProviderView {
    /// The vendor's name: a provider of this name needs no other settings.
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
    /// The first of its models that answers and is not only for embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_with: Option<String>,
    pub latency_ms: u64,
}

/// A code that waits to be entered, or a page that waits to be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoginBegun {
    /// Always `waiting`.
    pub state: &'static str,
    /// `code` or `browser`.
    pub way: &'static str,
    /// The code to enter on the page; none where the browser returns automatically.
    pub user_code: Option<String>,
    /// The page to open.
    pub verification_uri: String,
    /// An address that contains the code already, where the provider offers one.
    pub verification_uri_complete: Option<String>,
    pub expires_at: Timestamp,
}

/// Fields that do not apply are null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoginView {
    /// `none`, `waiting`, `signed_in`, `failed` or `sign_in_again`.
    pub state: &'static str,
    pub account: Option<String>,
    pub user_code: Option<String>,
    pub verification_uri: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// Why the last attempt failed, or why a new sign-in is needed.
    pub error: Option<String>,
    /// When a sign-in ends that cannot be renewed automatically.
    pub until: Option<Timestamp>,
    /// The ways to sign in: `code`, `browser`.
    pub ways: Vec<&'static str>,
    /// The last known usage of a plan's quota.
    pub quota: Option<QuotaView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuotaView {
    /// The name of the limit, for people.
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
    /// The key, shortened so that it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<&'static str>,
    /// `untried`, `well` or `failing`.
    pub health: &'static str,
    /// The models that the config names.
    pub models: Vec<String>,
    /// The models that were called since the start.
    pub called: Vec<CalledModelView>,
    /// The sign-in, for a provider that people sign in at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginView>,
    /// The account that is used, where this machine's own identity replaces a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CalledModelView {
    pub model: String,
    /// `closed`, `open` (calls are paused) or `half_open` (one call tries it).
    pub circuit: &'static str,
    /// Failures in a row.
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

/// A model; a field is absent where its value is unknown.
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
    /// It failed recently and is paused for now.
    pub rests: bool,
    /// The model's files, for a model on this machine that is requested by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightsView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WeightsView {
    pub files: Vec<WeightsFileView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The context window that it was trained with, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained_window: Option<u32>,
    /// Whether it is in memory now.
    pub loaded: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WeightsFileView {
    pub path: String,
    pub bytes: u64,
    /// The expected SHA-256, where it is known.
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
