//! Turns settings into a provider that can be called, or into the reason why it cannot.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::kinds::{ProviderKind, ReachedBy};
use super::provider::{Line, OtherWire, Provider};
use super::reference::References;
use super::settings::{ProviderSettings, TimeoutSettings};
use super::vendor::{AuthStyle, KeyNeed, Locality, MachineIdentity, PLAIN, Vendor, vendor};
use crate::Secret;
use crate::connect::is_loopback;
use crate::http::{Endpoint, Timeouts};
use crate::oauth::{
    CredentialSettings, CredentialSettingsError, LoginSettingsError, Logins, ResolvedCredential,
    ResolvedLogin, TokenSource,
};
use crate::wire::{Compat, ModelPlace, Wire};

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
    #[error("it needs `apiKey`: the key in {variable} is sent only to {usual}")]
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
    #[error("`apiVersion` is not a version: write it as `2025-04-01-preview`")]
    ApiVersion,
    #[error(transparent)]
    Login(#[from] LoginSettingsError),
    #[error(transparent)]
    Credential(#[from] CredentialSettingsError),
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
    let tokens = tokens(name, settings, &base, references, logins)?;
    let key = match &tokens {
        Some(_) => None,
        None => key(known, settings, &base, references)?,
    };
    let auth = known.map_or(kind.row().key, |vendor| vendor.auth);
    let (headers, mut secrets) = headers(known, settings, key.as_ref(), auth, references)?;
    secrets.extend(key.clone());
    let compat = compat(known, settings)?;
    let url = |wire: Wire| {
        let address = wire.endpoint(base.as_str(), compat.model_place);
        Url::parse(&address).map_err(|_| Disabled::BaseUrl)
    };
    let endpoint = Endpoint { url: url(wire)?, headers, key, secrets, tokens };
    let others = others(known, settings, &endpoint, &url)?;
    // The vendor's servers run on this machine, but this provider may be configured elsewhere.
    let is_here = is_loopback(&base);
    let locality = known.map(|vendor| vendor.locality).filter(|_| is_here);
    Ok(Provider::new(
        name,
        kind,
        Line::new(wire, Arc::new(endpoint), timeouts(&settings.timeouts)?).with_others(others),
        base,
        settings.models.clone(),
        compat,
        locality.unwrap_or(Locality::Hosted),
    ))
}

fn wire(kind: ProviderKind) -> Result<Wire, Disabled> {
    match kind.row().reached_by {
        ReachedBy::Wire(wire) => Ok(wire),
        ReachedBy::Program | ReachedBy::Source => Err(Disabled::NoWire(kind.as_str())),
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
    // The vendor's usual key goes to the vendor's own address only, unless the config names it for
    // this address.
    if let Some(usual) = *base_url
        && Url::parse(usual).is_ok_and(|usual| usual.origin() != base.origin())
    {
        return Err(Disabled::ForeignOrigin { variable, usual });
    }
    let found = (references.environment)(variable).filter(|value| !value.is_empty());
    found.map(|value| Some(Secret::new(value))).ok_or(Disabled::NoKey(variable))
}

/// What replaces a key: a sign-in, or a machine's own identity.
fn tokens(
    name: &str,
    settings: &ProviderSettings,
    base: &Url,
    references: References<'_>,
    logins: &Logins,
) -> Result<Option<TokenSource>, Disabled> {
    let known = vendor(name);
    if let Some(resolved) = credential(known, settings, references)? {
        return Ok(Some(TokenSource::Machine(logins.credential(name, resolved))));
    }
    let resolved = login(known, settings, base, references)?;
    Ok(resolved.map(|resolved| TokenSource::Login(logins.of(name, resolved))))
}

/// The machine's own identity; a configured key takes precedence.
fn credential(
    known: Option<&Vendor>,
    settings: &ProviderSettings,
    references: References<'_>,
) -> Result<Option<ResolvedCredential>, Disabled> {
    if settings.api_key.is_some() {
        return Ok(None);
    }
    let is_google = known.is_some_and(|vendor| vendor.machine == MachineIdentity::Google);
    let has_authorization =
        settings.headers.keys().any(|name| name.eq_ignore_ascii_case(AUTHORIZATION.as_str()));
    let default = || ResolvedCredential::google_default(references.environment);
    let resolved = match &settings.credentials {
        None if is_google && settings.login.is_none() && !has_authorization => default(),
        None => return Ok(None),
        Some(CredentialSettings { google: Some(google), azure: None, aws: None }) => {
            if google.reveal() == "default" {
                default()
            } else {
                ResolvedCredential::google_key(references.secret("credentials.google", google)?)?
            }
        }
        Some(CredentialSettings { google: None, azure: Some(azure), aws: None }) => {
            let field = "credentials.azure.clientSecret";
            ResolvedCredential::azure(azure, references.secret(field, &azure.client_secret)?)?
        }
        Some(CredentialSettings { .. }) => return Err(CredentialSettingsError::NotOne.into()),
    };
    Ok(Some(resolved))
}

fn compat(known: Option<&Vendor>, settings: &ProviderSettings) -> Result<Compat, Disabled> {
    let mut compat = known.map_or(PLAIN, |vendor| vendor.compat).with(&settings.compat);
    let Some(version) = settings.api_version.as_deref().filter(|version| !version.is_empty())
    else {
        return Ok(compat);
    };
    if !version.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')) {
        return Err(Disabled::ApiVersion);
    }
    compat.api_version = Some(version.to_owned());
    let is_azure = known.is_some_and(|vendor| vendor.name == "azure");
    if is_azure && settings.compat.model_place.is_none() {
        compat.model_place = ModelPlace::AzurePath;
    }
    Ok(compat)
}

/// The other wires that the vendor's models use. A kind in the config holds for all models.
fn others(
    known: Option<&Vendor>,
    settings: &ProviderSettings,
    endpoint: &Endpoint,
    url: &dyn Fn(Wire) -> Result<Url, Disabled>,
) -> Result<Vec<OtherWire>, Disabled> {
    let wires = known.map_or(&[] as &[_], |vendor| vendor.wires);
    if settings.kind.is_some() {
        return Ok(Vec::new());
    }
    let other = |&(prefix, kind): &(&'static str, ProviderKind)| {
        let wire = wire(kind)?;
        let endpoint = Arc::new(Endpoint { url: url(wire)?, ..endpoint.clone() });
        Ok(OtherWire { prefix, wire, endpoint })
    };
    wires.iter().map(other).collect()
}

/// The sign-in that replaces a key; a configured key takes precedence.
fn login(
    known: Option<&Vendor>,
    settings: &ProviderSettings,
    base: &Url,
    references: References<'_>,
) -> Result<Option<ResolvedLogin>, Disabled> {
    let known = known.and_then(|vendor| vendor.login.as_ref());
    if settings.api_key.is_some() || (settings.login.is_none() && known.is_none()) {
        return Ok(None);
    }
    let mut own = settings.login.clone().unwrap_or_default();
    if let Some(client_id) = &own.client_id {
        own.client_id = Some(references.expand("login.clientId", client_id)?);
    }
    if let Some(secret) = &own.client_secret {
        own.client_secret = Some(references.secret("login.clientSecret", secret)?);
    }
    Ok(Some(ResolvedLogin::resolve(&own, known, base)?))
}

fn headers(
    known: Option<&Vendor>,
    settings: &ProviderSettings,
    key: Option<&Secret>,
    auth: AuthStyle,
    references: References<'_>,
) -> Result<(HeaderMap, Vec<Secret>), Disabled> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    for &(name, value) in known.map_or(&[] as &[_], |vendor| vendor.headers) {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
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
    // Short values (a version, a region) are words of ordinary messages and not secrets.
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
