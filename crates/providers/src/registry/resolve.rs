//! Settings into a provider that can be called, or the reason why it cannot.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::provider::{Line, Provider};
use super::reference::References;
use super::settings::{ProviderKind, ProviderSettings, TimeoutSettings};
use super::vendor::{AuthStyle, KeyNeed, Locality, PLAIN, Vendor, vendor};
use crate::Secret;
use crate::http::is_loopback;
use crate::http::{Endpoint, Timeouts};
use crate::oauth::{Logins, Plan, PlanError};
use crate::wire::Wire;

/// Why a provider is disabled, for people. Never holds a value, only names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Disabled {
    #[error("it needs `kind` (one of openai, openai-responses, anthropic, gemini, ollama, …)")]
    NoKind,
    #[error("this binary was built without providers of kind `{0}`")]
    NoWire(&'static str),
    #[error("it needs `baseUrl`")]
    NoBaseUrl,
    #[error("`baseUrl` is not an http or https address without user name and query")]
    BaseUrl,
    #[error("the environment variable {0} is not set")]
    MissingVariable(String),
    #[error("it needs `apiKey`, or the environment variable {0}")]
    NoKey(&'static str),
    #[error("it needs `apiKey`: the key in {variable} is sent to {usual} alone")]
    ForeignOrigin { variable: &'static str, usual: &'static str },
    #[error(
        "`{0}` refers to a secret in a way that is not known: use ${{NAME}}, env:NAME, \
         file:/path or secret:name"
    )]
    SecretReference(String),
    #[error("the file that `{field}` names: {why}")]
    SecretFile { field: String, why: String },
    #[error("there is no secret `{0}` in the store")]
    NoSecret(String),
    #[error("the store of secrets cannot be read: {0}")]
    SecretStore(String),
    #[error("`{0}` holds `${{` without a closing brace")]
    Reference(String),
    #[error("the header `{0}` is not a valid header")]
    Header(String),
    #[error("`timeouts.{0}` is not a positive number of seconds")]
    Timeout(&'static str),
    #[error(transparent)]
    Login(#[from] PlanError),
}

pub(super) fn kind_of(name: &str, settings: &ProviderSettings) -> Option<ProviderKind> {
    settings.kind.or_else(|| vendor(name).map(|vendor| vendor.kind))
}

pub(super) fn resolve(
    name: &str,
    settings: &ProviderSettings,
    references: References<'_>,
    logins: &Logins,
) -> Result<Provider, Disabled> {
    let kind = kind_of(name, settings).ok_or(Disabled::NoKind)?;
    let wire = wire(kind)?;
    let known = vendor(name);
    let base_url = match (&settings.base_url, known.and_then(|vendor| vendor.base_url)) {
        (Some(own), _) => references.expand("baseUrl", own)?,
        (None, Some(usual)) => usual.to_owned(),
        (None, None) => return Err(Disabled::NoBaseUrl),
    };
    let base = base(&base_url)?;
    let plan = login(known, settings, &base, references)?;
    let key = match &plan {
        Some(_) => None,
        None => key(known, settings, &base, references)?,
    };
    let login = plan.map(|plan| logins.of(name, plan));
    let auth = known.map_or(AuthStyle::usual(kind), |vendor| vendor.auth);
    let (headers, mut secrets) = headers(settings, key.as_ref(), auth, references)?;
    secrets.extend(key.clone());
    let compat = known.map_or(PLAIN, |vendor| vendor.compat).with(&settings.compat);
    let address = wire.endpoint(base.as_str(), compat.model_place);
    let url = Url::parse(&address).map_err(|_| Disabled::BaseUrl)?;
    let login = login.map(|login| (login, auth));
    let endpoint = Endpoint { url, headers, key, secrets, login };
    // Its maker's servers run on this machine, but this one is told to be elsewhere.
    let is_here = is_loopback(&base);
    let locality = known.map(|vendor| vendor.locality).filter(|_| is_here);
    Ok(Provider::new(
        name,
        kind,
        Line::new(wire, Arc::new(endpoint), timeouts(&settings.timeouts)?),
        base,
        settings.models.clone(),
        compat,
        locality.unwrap_or(Locality::Hosted),
    ))
}

fn wire(kind: ProviderKind) -> Result<Wire, Disabled> {
    match kind {
        ProviderKind::OpenAi => Ok(Wire::OpenAiChat),
        ProviderKind::OpenAiResponses => Ok(Wire::OpenAiResponses),
        ProviderKind::Anthropic => Ok(Wire::Anthropic),
        ProviderKind::Gemini => Ok(Wire::Gemini),
        ProviderKind::Ollama => Ok(Wire::Ollama),
        ProviderKind::Bedrock
        | ProviderKind::ClaudeCli
        | ProviderKind::Pi
        | ProviderKind::Embedded => Err(Disabled::NoWire(kind.as_str())),
    }
}

fn base(text: &str) -> Result<Url, Disabled> {
    let url = Url::parse(text.trim_end_matches('/')).map_err(|_| Disabled::BaseUrl)?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if plain { Ok(url) } else { Err(Disabled::BaseUrl) }
}

fn key(
    known: Option<&Vendor>,
    settings: &ProviderSettings,
    base: &Url,
    references: References<'_>,
) -> Result<Option<Secret>, Disabled> {
    if let Some(own) = &settings.api_key {
        return references.secret("apiKey", own).map(Some);
    }
    let Some(Vendor { key: KeyNeed::Required { variable }, base_url, .. }) = known else {
        return Ok(None);
    };
    // A key that nobody wrote down for this address goes to its maker's address only.
    if let Some(usual) = *base_url
        && Url::parse(usual).is_ok_and(|usual| usual.origin() != base.origin())
    {
        return Err(Disabled::ForeignOrigin { variable, usual });
    }
    let found = (references.environment)(variable).filter(|value| !value.is_empty());
    found.map(|value| Some(Secret::new(value))).ok_or(Disabled::NoKey(variable))
}

/// The sign-in that stands in for a key; a key that is written down goes before it.
fn login(
    known: Option<&Vendor>,
    settings: &ProviderSettings,
    base: &Url,
    references: References<'_>,
) -> Result<Option<Plan>, Disabled> {
    let known = known.and_then(|vendor| vendor.login.as_ref());
    if settings.api_key.is_some() || (settings.login.is_none() && known.is_none()) {
        return Ok(None);
    }
    let mut own = settings.login.clone().unwrap_or_default();
    if let Some(client_id) = &own.client_id {
        own.client_id = Some(references.expand("login.clientId", client_id)?);
    }
    Ok(Some(Plan::resolve(&own, known, base)?))
}

fn headers(
    settings: &ProviderSettings,
    key: Option<&Secret>,
    auth: AuthStyle,
    references: References<'_>,
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
        let value = references.secret(&format!("headers.{name}"), value)?;
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

fn timeouts(settings: &TimeoutSettings) -> Result<Timeouts, Disabled> {
    Ok(Timeouts {
        connect: seconds("connectSeconds", settings.connect_seconds, 10)?,
        // Local models read a long prompt for minutes before they say a word.
        first_byte: seconds("firstByteSeconds", settings.first_byte_seconds, 180)?,
        idle: seconds("idleSeconds", settings.idle_seconds, 120)?,
        total: seconds("totalSeconds", settings.total_seconds, 600)?,
        rest: match settings.rest_seconds {
            Some(own) => Some(seconds("restSeconds", Some(own), 0)?),
            None => None,
        },
    })
}

fn seconds(field: &'static str, own: Option<f64>, usual: u64) -> Result<Duration, Disabled> {
    match own {
        None => Ok(Duration::from_secs(usual)),
        Some(own) if own > 0.0 && own < 1e9 => Ok(Duration::from_secs_f64(own)),
        Some(_) => Err(Disabled::Timeout(field)),
    }
}
