//! Lists a provider's models. It is a good first request: it costs nothing, and it needs the
//! address, the key and the network to be right.

use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass};
use reqwest::Url;
use serde::Deserialize;

use super::kinds::ProviderKind;
use super::provider::Provider;
use crate::failure::failure;
use crate::http::{Bounds, NoAnswer, exchange};
use crate::routing::Candidate;

/// Marketplaces list hundreds of models, each with pages of description.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

/// Listing models is quick for every server, so one that takes longer is in trouble.
const PATIENCE: Duration = Duration::from_secs(20);
const SHORT_PATIENCE: Duration = Duration::from_secs(5);

/// A model as its provider lists it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ListedModel {
    pub id: String,
    /// The context window, if the provider reports it.
    pub context_window: Option<u32>,
}

impl ListedModel {
    /// A source's model, without the source's name.
    pub(super) fn of(source: &str, candidate: &Candidate) -> Self {
        let model = candidate.id.strip_prefix(source).and_then(|rest| rest.strip_prefix('/'));
        Self {
            id: model.unwrap_or(&candidate.id).to_owned(),
            context_window: candidate.facts.context_window,
        }
    }
}

pub(super) async fn list(provider: &Provider) -> Result<Vec<ListedModel>, NoAnswer> {
    list_as(provider, provider.kind, provider.base.as_str(), PATIENCE).await
}

/// Looks for a list elsewhere on the same server, in case the address or the kind is wrong.
pub(super) async fn found_elsewhere(provider: &Provider) -> Option<(ProviderKind, String)> {
    let mut origin = provider.base.clone();
    origin.set_path("");
    let origin = origin.as_str().trim_end_matches('/');
    let own = provider.base.as_str().trim_end_matches('/');
    let usual =
        [(ProviderKind::OpenAi, "/v1"), (ProviderKind::Ollama, ""), (ProviderKind::Gemini, "")];
    for (kind, path) in usual {
        let base = format!("{origin}{path}");
        let same = kind == provider.kind && base == own;
        if !same && list_as(provider, kind, &base, SHORT_PATIENCE).await.is_ok() {
            return Some((kind, base));
        }
    }
    None
}

pub(super) async fn list_as(
    provider: &Provider,
    kind: ProviderKind,
    base: &str,
    patience: Duration,
) -> Result<Vec<ListedModel>, NoAnswer> {
    let (line, mut url) = (&provider.line, listing_url(kind, base)?);
    if let Some(version) = provider.api_version() {
        // Azure lists the models beside the deployments, not below them.
        if !url.path().contains("/openai/") {
            url.set_path(&format!("{}/openai/models", url.path().trim_end_matches("/models")));
        }
        url.query_pairs_mut().append_pair("api-version", version);
    }
    let request = line.client()?.get(url).headers(line.headers());
    let bounds = Bounds { patience, max_bytes: MAX_LIST_BYTES };
    let body = exchange(request, &line.endpoint, bounds).await?;
    let list: Listing = serde_json::from_slice(&body).map_err(|_| {
        let message = "the address answers, but not with a list of models";
        failure(ModelFailureClass::Transport, message)
    })?;
    Ok(list.models())
}

fn listing_url(kind: ProviderKind, base: &str) -> Result<Url, ModelFailure> {
    let Some(list) = kind.row().list else {
        let message = format!("providers of kind `{}` have no list", kind.as_str());
        return Err(failure(ModelFailureClass::InvalidRequest, message));
    };
    let address = list(base.trim_end_matches('/'));
    Url::parse(&address).map_err(|_| {
        failure(ModelFailureClass::InvalidRequest, "the address of the list is not valid")
    })
}

/// The answer formats in which wires and their imitators list models.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listing {
    Data { data: Vec<Row> },
    Models { models: Vec<Row> },
    Bare(Vec<Row>),
}

#[derive(Deserialize)]
struct Row {
    #[serde(alias = "slug")]
    id: Option<String>,
    name: Option<String>,
    #[serde(alias = "inputTokenLimit", alias = "max_context_length", alias = "max_model_len")]
    #[serde(alias = "context_window")]
    context_length: Option<u32>,
    /// Copilot's fields: what a model can do, and whether the person may use it.
    #[serde(default)]
    capabilities: Option<Capabilities>,
    policy: Option<Policy>,
}

#[derive(Deserialize)]
struct Capabilities {
    #[serde(rename = "type")]
    kind: Option<String>,
    limits: Option<Limits>,
}

#[derive(Deserialize)]
struct Limits {
    max_context_window_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct Policy {
    state: Option<String>,
}

impl Listing {
    fn models(self) -> Vec<ListedModel> {
        let (Self::Data { data: rows } | Self::Models { models: rows } | Self::Bare(rows)) = self;
        rows.into_iter().filter_map(Row::model).collect()
    }
}

impl Row {
    fn model(self) -> Option<ListedModel> {
        let off =
            self.policy.and_then(|policy| policy.state).is_some_and(|state| state != "enabled");
        let capabilities = self.capabilities;
        let kind = capabilities.as_ref().and_then(|able| able.kind.as_deref());
        if off || kind.is_some_and(|kind| kind != "chat") {
            return None;
        }
        let name = self.id.or(self.name)?;
        // Gemini names its models by their path.
        let id = name.strip_prefix("models/").unwrap_or(&name).to_owned();
        let limits = capabilities.and_then(|able| able.limits);
        let window = limits.and_then(|limits| limits.max_context_window_tokens);
        Some(ListedModel { id, context_window: self.context_length.or(window) })
    }
}
