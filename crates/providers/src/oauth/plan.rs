//! `providers.<name>.login`: where a person signs in, and as which program.

use onyx_types::Hash;
use reqwest::Url;
use serde::Deserialize;

use crate::http::is_loopback;

/// As a person writes it. The client id is theirs: none is built in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LoginSettings {
    pub client_id: Option<String>,
    pub device_url: Option<String>,
    pub token_url: Option<String>,
    pub scopes: Vec<String>,
    /// Says who is signed in.
    pub account_url: Option<String>,
    /// Gives a short-lived token for the one that the sign-in brought.
    pub exchange_url: Option<String>,
}

/// The addresses of a vendor whose sign-in is known; settings go before them, field by field.
#[derive(Clone, Copy, Debug)]
pub struct VendorLogin {
    pub device_url: &'static str,
    pub token_url: &'static str,
    pub scopes: &'static [&'static str],
    pub account_url: Option<&'static str>,
    pub exchange_url: Option<&'static str>,
}

/// A sign-in that can be made. Tokens are bound to all of it: see `binding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(super) client_id: String,
    pub(super) device: Url,
    pub(super) token: Url,
    pub(super) scopes: String,
    pub(super) account: Option<Url>,
    pub(super) exchange: Option<Url>,
    /// The provider that the tokens are for.
    pub(super) audience: Url,
}

/// Names only, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    #[error("it needs `login.{0}`, or `apiKey`")]
    Missing(&'static str),
    #[error(
        "`login.{0}` is not an https address without user name and fragment (http leads to this \
         machine only)"
    )]
    Address(&'static str),
}

impl Plan {
    pub(crate) fn resolve(
        settings: &LoginSettings,
        known: Option<&VendorLogin>,
        audience: &Url,
    ) -> Result<Self, PlanError> {
        let own = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let required = |field, own: Option<String>, usual: Option<&str>| {
            let text = own.or_else(|| usual.map(str::to_owned));
            address(field, &text.ok_or(PlanError::Missing(field))?)
        };
        let optional = |field, own: Option<String>, usual: Option<&'static str>| {
            let text = own.or_else(|| usual.map(str::to_owned));
            text.map(|text| address(field, &text)).transpose()
        };
        let scopes = match (settings.scopes.as_slice(), known) {
            ([], Some(known)) => known.scopes.join(" "),
            (own, _) => own.join(" "),
        };
        Ok(Self {
            client_id: own(&settings.client_id).ok_or(PlanError::Missing("clientId"))?,
            device: required(
                "deviceUrl",
                own(&settings.device_url),
                known.map(|it| it.device_url),
            )?,
            token: required("tokenUrl", own(&settings.token_url), known.map(|it| it.token_url))?,
            scopes,
            account: optional(
                "accountUrl",
                own(&settings.account_url),
                known.and_then(|it| it.account_url),
            )?,
            exchange: optional(
                "exchangeUrl",
                own(&settings.exchange_url),
                known.and_then(|it| it.exchange_url),
            )?,
            audience: audience.clone(),
        })
    }

    /// Every place that a token of this sign-in is sent to, in a word. Tokens that were got for
    /// other places are not used: who edits an address does not get a token with it.
    pub(super) fn binding(&self) -> Hash {
        let optional = |url: &Option<Url>| url.as_ref().map(Url::to_string).unwrap_or_default();
        let parts = [
            self.client_id.clone(),
            self.device.to_string(),
            self.token.to_string(),
            optional(&self.account),
            optional(&self.exchange),
            self.audience.origin().ascii_serialization(),
        ];
        Hash::of(parts.join("\n").as_bytes())
    }
}

fn address(field: &'static str, text: &str) -> Result<Url, PlanError> {
    let url = Url::parse(text).map_err(|_| PlanError::Address(field))?;
    let plain = is_trusted(&url)
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    if plain { Ok(url) } else { Err(PlanError::Address(field)) }
}

/// Encrypted, or not leaving this machine.
pub(super) fn is_trusted(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "http" => is_loopback(url),
        _ => false,
    }
}
