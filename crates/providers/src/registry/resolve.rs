//! Settings into a provider that can be called, or the reason why it cannot.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::provider::Provider;
use super::settings::{ProviderKind, ProviderSettings, TimeoutSettings};
use super::vendor::{AuthStyle, KeyNeed, PLAIN, vendor};
use crate::Secret;
use crate::http::{Endpoint, Timeouts};
use crate::wire::Wire;

/// Looks up a variable of the environment.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Why a provider is disabled, for people. Never holds a value, only names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Disabled {
    #[error("it needs `kind` (one of openai, openai-responses, anthropic, gemini, ollama, …)")]
    NoKind,
    #[error("the wire of kind `{0}` is not built yet")]
    NoWire(&'static str),
    #[error("it needs `baseUrl`")]
    NoBaseUrl,
    #[error("`baseUrl` is not an http or https address without user name and query")]
    BaseUrl,
    #[error("the environment variable {0} is not set")]
    MissingVariable(String),
    #[error("it needs `apiKey`, or the environment variable {0}")]
    NoKey(&'static str),
    #[error("`{0}` refers to a secret in a way that is not known: use ${{NAME}} or env:NAME")]
    SecretReference(String),
    #[error("`{0}` holds `${{` without a closing brace")]
    Reference(String),
    #[error("the header `{0}` is not a valid header")]
    Header(String),
    #[error("`timeouts.{0}` is not a positive number of seconds")]
    Timeout(&'static str),
}

pub(super) fn kind_of(name: &str, settings: &ProviderSettings) -> Option<ProviderKind> {
    settings.kind.or_else(|| vendor(name).map(|vendor| vendor.kind))
}

pub(super) fn resolve(
    name: &str,
    settings: &ProviderSettings,
    environment: Environment<'_>,
) -> Result<Provider, Disabled> {
    let kind = kind_of(name, settings).ok_or(Disabled::NoKind)?;
    let wire = wire(kind)?;
    let known = vendor(name);
    let base_url = match (&settings.base_url, known.and_then(|vendor| vendor.base_url)) {
        (Some(own), _) => expand("baseUrl", own, environment)?,
        (None, Some(usual)) => usual.to_owned(),
        (None, None) => return Err(Disabled::NoBaseUrl),
    };
    let key = key(name, settings, environment)?;
    let auth = known.map_or(AuthStyle::Bearer, |vendor| vendor.auth);
    let (headers, mut secrets) = headers(settings, key.as_ref(), auth, environment)?;
    secrets.extend(key);
    Ok(Provider::new(
        name,
        wire,
        Arc::new(Endpoint { url: endpoint_url(&base_url, kind, wire)?, headers, secrets }),
        timeouts(&settings.timeouts)?,
        settings.models.clone(),
        known.map_or(PLAIN, |vendor| vendor.compat).with(&settings.compat),
    ))
}

fn wire(kind: ProviderKind) -> Result<Wire, Disabled> {
    match kind {
        // Ollama speaks this wire too, until its own is built.
        ProviderKind::OpenAi | ProviderKind::Ollama => Ok(Wire::OpenAiChat),
        ProviderKind::OpenAiResponses
        | ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::Bedrock
        | ProviderKind::ClaudeCli
        | ProviderKind::Pi
        | ProviderKind::Embedded => Err(Disabled::NoWire(kind.as_str())),
    }
}

fn endpoint_url(base_url: &str, kind: ProviderKind, wire: Wire) -> Result<Url, Disabled> {
    let base = base_url.trim_end_matches('/');
    // Ollama's address is written without the version, which belongs to the borrowed wire.
    let version = match kind {
        ProviderKind::Ollama if !base.ends_with("/v1") => "/v1",
        _ => "",
    };
    let url =
        Url::parse(&format!("{base}{version}{}", wire.path())).map_err(|_| Disabled::BaseUrl)?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if plain { Ok(url) } else { Err(Disabled::BaseUrl) }
}

fn key(
    name: &str,
    settings: &ProviderSettings,
    environment: Environment<'_>,
) -> Result<Option<Secret>, Disabled> {
    if let Some(own) = &settings.api_key {
        return expand_secret("apiKey", own, environment).map(Some);
    }
    match vendor(name).map(|vendor| vendor.key) {
        Some(KeyNeed::Required { variable }) => match environment(variable) {
            Some(value) => Ok(Some(Secret::new(value))),
            None => Err(Disabled::NoKey(variable)),
        },
        Some(KeyNeed::Optional) | None => Ok(None),
    }
}

fn headers(
    settings: &ProviderSettings,
    key: Option<&Secret>,
    auth: AuthStyle,
    environment: Environment<'_>,
) -> Result<(HeaderMap, Vec<Secret>), Disabled> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = key {
        let (name, value) = match auth {
            AuthStyle::Bearer => (AUTHORIZATION, format!("Bearer {}", key.reveal())),
            AuthStyle::Header(name) => (HeaderName::from_static(name), key.reveal().to_owned()),
        };
        headers.insert(name, sensitive("apiKey", &value)?);
    }
    let mut secrets = Vec::new();
    for (name, value) in &settings.headers {
        let field: HeaderName = name.parse().map_err(|_| Disabled::Header(name.clone()))?;
        let value = expand_secret(&format!("headers.{name}"), value, environment)?;
        headers.insert(field, sensitive(name, value.reveal())?);
        secrets.push(value);
    }
    // Short values (a version, a region) are words of ordinary messages and no secrets.
    secrets.retain(|secret| secret.reveal().len() >= 8);
    Ok((headers, secrets))
}

fn sensitive(name: &str, value: &str) -> Result<HeaderValue, Disabled> {
    let mut value = HeaderValue::from_str(value).map_err(|_| Disabled::Header(name.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn expand_secret(
    field: &str,
    raw: &Secret,
    environment: Environment<'_>,
) -> Result<Secret, Disabled> {
    let text = raw.reveal();
    if let Some(variable) = text.strip_prefix("env:") {
        return variable_value(variable, environment).map(Secret::new);
    }
    // Taken for the key itself, the reference would be sent to the provider.
    if text.starts_with("file:") || text.starts_with("secret:") {
        return Err(Disabled::SecretReference(field.to_owned()));
    }
    expand(field, text, environment).map(Secret::new)
}

/// Replaces each `${NAME}`.
fn expand(field: &str, text: &str, environment: Environment<'_>) -> Result<String, Disabled> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, after) =
            after.split_once('}').ok_or_else(|| Disabled::Reference(field.to_owned()))?;
        expanded.push_str(before);
        expanded.push_str(&variable_value(variable, environment)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// An empty variable is as good as none: a key of no characters is a mistake.
fn variable_value(variable: &str, environment: Environment<'_>) -> Result<String, Disabled> {
    environment(variable)
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Disabled::MissingVariable(variable.to_owned()))
}

fn timeouts(settings: &TimeoutSettings) -> Result<Timeouts, Disabled> {
    Ok(Timeouts {
        connect: seconds("connectSeconds", settings.connect_seconds, 10)?,
        // Local models read a long prompt for minutes before they say a word.
        first_byte: seconds("firstByteSeconds", settings.first_byte_seconds, 180)?,
        idle: seconds("idleSeconds", settings.idle_seconds, 120)?,
        total: seconds("totalSeconds", settings.total_seconds, 600)?,
    })
}

fn seconds(field: &'static str, own: Option<f64>, usual: u64) -> Result<Duration, Disabled> {
    match own {
        None => Ok(Duration::from_secs(usual)),
        Some(own) if own > 0.0 && own < 1e9 => Ok(Duration::from_secs_f64(own)),
        Some(_) => Err(Disabled::Timeout(field)),
    }
}
