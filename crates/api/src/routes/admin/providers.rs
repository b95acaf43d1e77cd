//! `/api/admin/providers*`: model providers, their settings and their state.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use onyx_types::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::models::Models;
use crate::wire::{Json, etag, expected};
use crate::{ApiState, ConfigChange, JsonBody, Problem, ProviderView, TestView};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Providers {
    providers: Vec<ProviderView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ProviderDetails {
    #[serde(flatten)]
    provider: ProviderView,
    /// `providers.<name>` of onyx.json, keys shortened; its version is the ETag.
    settings: Map<String, Value>,
}

pub(crate) async fn list(State(state): State<ApiState>) -> Json<Providers> {
    Json(Providers { providers: state.catalogue.providers() })
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    details(&state, &name)
}

fn details(state: &ApiState, name: &str) -> Result<Response, Problem> {
    let found = state.catalogue.providers().into_iter().find(|known| known.name == name);
    let provider = found.ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, format!("There is no provider {name:?}."))
    })?;
    let written = state.configuration.provider(name)?;
    let tag = written.as_ref().map(|written| etag(&written.hash));
    let settings = written.map(|written| written.value).unwrap_or_default();
    let mut response = Json(ProviderDetails { provider, settings }).into_response();
    response.headers_mut().extend(tag);
    Ok(response)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PutProvider {
    /// The new content of `providers.<name>` in onyx.json: `kind`, `baseUrl`, `models`, … A
    /// shortened key in it stands for the current one.
    #[serde(default)]
    settings: Map<String, Value>,
    /// Stored encrypted under the provider's name, and named as `apiKey` in the settings.
    api_key: Option<String>,
}

/// Creates a provider, or replaces its settings.
pub(crate) async fn put(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBody(PutProvider { mut settings, api_key }): JsonBody<PutProvider>,
) -> Result<Response, Problem> {
    check_name(&name)?;
    let expected = expected(&headers)?;
    if api_key.is_some() {
        settings.insert("apiKey".to_owned(), reference(&name).into());
    }
    let before = match &api_key {
        Some(key) => {
            // The key is stored before the config refers to it; the old key is restored if the
            // config is refused.
            let before = state.secrets.get(&name)?;
            state.secrets.set(&name, key).await?;
            Some(before)
        }
        None => None,
    };
    let change = ConfigChange::PutProvider { name: name.clone(), settings };
    if let Err(problem) = state.configuration.change(change, expected).await {
        match before {
            None => {}
            Some(Some(before)) => state.secrets.set(&name, before.reveal()).await?,
            Some(None) => state.secrets.remove(&name).await?,
        }
        return Err(problem);
    }
    details(&state, &name)
}

/// Also removes the provider's key and other secrets that are stored under its own name, and its
/// sign-in.
pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let written = state.configuration.provider(&name)?;
    let change = ConfigChange::RemoveProvider(name.clone());
    state.configuration.change(change, expected(&headers)?).await?;
    for secret in written.iter().flat_map(|written| own_secrets(&name, &written.value)) {
        if state.secrets.get(&secret)?.is_some() {
            state.secrets.remove(&secret).await?;
        }
    }
    state.catalogue.end_login(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn test(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<TestView>, Problem> {
    Ok(Json(state.catalogue.test(&name).await?))
}

pub(crate) async fn listed(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<Models>, Problem> {
    let found = state.catalogue.providers().into_iter().find(|known| known.name == name);
    if let Some(disabled) = found.filter(|known| known.state == "disabled") {
        let why = disabled.detail.unwrap_or_default();
        return Err(Problem::new(ErrorCode::NotFound, format!("{name} is disabled: {why}")));
    }
    Ok(Json(Models { models: state.catalogue.listed(&name).await? }))
}

/// The secrets that the settings name and whose names begin with the provider's.
fn own_secrets(name: &str, settings: &Map<String, Value>) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), settings.values().collect::<Vec<_>>());
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                let secret = text.strip_prefix("secret:").unwrap_or_default();
                let rest = secret.strip_prefix(name);
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
                    found.push(secret.to_owned());
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

fn reference(name: &str) -> String {
    format!("secret:{name}")
}

/// The name comes before the slash in the names of models.
fn check_name(name: &str) -> Result<(), Problem> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=64).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    Err(Problem::field("name", "letters, digits, `-`, `_` and `.`, at most 64 of them"))
}
