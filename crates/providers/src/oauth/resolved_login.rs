//! `providers.<name>.login`: where a person signs in, and the client id that Onyx uses there.

use onyx_types::Hash;
use reqwest::Url;
use serde::Deserialize;

use super::vendors::{DeviceForm, VendorLogin, VendorRedirect};
use crate::Secret;
use crate::connect::is_loopback;

/// RFC 8252 allows any free port of this machine.
const ANY_PORT: &str = "http://127.0.0.1/callback";

/// The sign-in as a person writes it. The client id is the person's own: none is built in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LoginSettings {
    pub client_id: Option<String>,
    /// The client secret of applications that have one; written like `apiKey`, also as a reference.
    pub client_secret: Option<Secret>,
    /// The origin that replaces that of a known maker's addresses.
    pub issuer: Option<String>,
    pub device_url: Option<String>,
    /// Where a browser is sent to sign in.
    pub authorize_url: Option<String>,
    /// Where the browser comes back to: an address of this machine.
    pub redirect_url: Option<String>,
    pub token_url: Option<String>,
    pub scopes: Vec<String>,
    /// The address that says who is signed in.
    pub account_url: Option<String>,
    /// The address that exchanges the sign-in's token for a short-lived one.
    pub exchange_url: Option<String>,
}

/// How a person signs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginWay {
    /// The person enters a code on a page of the maker's, on any machine.
    Code,
    /// The person signs in with a browser that comes back to this machine.
    Browser,
}

/// A complete sign-in. Its tokens are bound to all of it: see `binding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedLogin {
    pub(super) client_id: String,
    pub(super) client_secret: Option<Secret>,
    pub(super) device: Option<DeviceLogin>,
    pub(super) browser: Option<BrowserLogin>,
    pub(super) token: Url,
    pub(super) scopes: String,
    pub(super) account: Option<Url>,
    pub(super) exchange: Option<Url>,
    pub(super) revoke: Option<Url>,
    /// The header that names the account beside the token, if the provider requires one.
    pub(super) account_header: Option<&'static str>,
    /// The provider that the tokens are for.
    pub(super) audience: Url,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceLogin {
    pub(super) url: Url,
    pub(super) form: DeviceLoginForm,
}

#[allow(clippy::large_enum_variant, reason = "a provider has one")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeviceLoginForm {
    Standard,
    /// OpenAI's form: another address is polled, and it returns a code to be redeemed.
    OpenAi {
        poll: Url,
        redirect: Url,
        verification: Url,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrowserLogin {
    pub(super) authorize: Url,
    pub(super) redirect: Redirect,
    pub(super) pkce: bool,
    pub(super) extra: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// An address of this machine. If it has no port, any free one is used.
    ThisMachine(Url),
    /// A page of the gateway; its address comes with the request that begins the sign-in.
    Gateway,
}

/// Errors of the settings. They contain names only, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LoginSettingsError {
    #[error("it needs `login.{0}`, or `apiKey`")]
    Missing(&'static str),
    #[error(
        "`login.{0}` is not an https address without user name and fragment (http leads to this \
         machine only)"
    )]
    Address(&'static str),
    #[error("`login.redirectUrl` is not an http address of this machine")]
    Redirect,
}

/// The fields of the settings, and a known vendor's addresses where they are empty.
struct Sources<'a> {
    settings: &'a LoginSettings,
    known: Option<&'a VendorLogin>,
}

impl ResolvedLogin {
    pub(crate) fn resolve(
        settings: &LoginSettings,
        known: Option<&VendorLogin>,
        audience: &Url,
    ) -> Result<Self, LoginSettingsError> {
        let from = Sources { settings, known };
        let scopes = match (settings.scopes.as_slice(), known) {
            ([], Some(known)) => known.scopes.join(" "),
            (own, _) => own.join(" "),
        };
        let (device, browser) = (from.device()?, from.browser()?);
        let client_id = own(&settings.client_id).ok_or(LoginSettingsError::Missing("clientId"))?;
        if device.is_none() && browser.is_none() {
            return Err(LoginSettingsError::Missing("deviceUrl"));
        }
        let token =
            from.address("tokenUrl", &settings.token_url, known.map(|known| known.token_url))?;
        let account = known.and_then(|known| known.account_url);
        let exchange = known.and_then(|known| known.exchange_url);
        let revoke = known.and_then(|known| known.revoke_url);
        Ok(Self {
            client_id,
            client_secret: settings.client_secret.clone(),
            device,
            browser,
            token: token.ok_or(LoginSettingsError::Missing("tokenUrl"))?,
            scopes,
            account: from.address("accountUrl", &settings.account_url, account)?,
            exchange: from.address("exchangeUrl", &settings.exchange_url, exchange)?,
            revoke: from.address("revokeUrl", &None, revoke)?,
            account_header: known.and_then(|known| known.account_header),
            audience: audience.clone(),
        })
    }

    /// The default way: a code, since it works from any machine.
    pub(super) const fn usual_way(&self) -> LoginWay {
        if self.device.is_some() { LoginWay::Code } else { LoginWay::Browser }
    }

    pub(super) fn ways(&self) -> Vec<LoginWay> {
        let device = self.device.is_some().then_some(LoginWay::Code);
        device.into_iter().chain(self.browser.is_some().then_some(LoginWay::Browser)).collect()
    }

    /// A hash of every address that a token of this sign-in is sent to. Tokens with another binding
    /// are not used, so a changed address never receives an old token.
    pub(super) fn binding(&self) -> Hash {
        let optional = |url: Option<&Url>| url.map(Url::to_string).unwrap_or_default();
        let mut parts = vec![
            self.client_id.clone(),
            optional(self.device.as_ref().map(|device| &device.url)),
            self.token.to_string(),
            optional(self.account.as_ref()),
            optional(self.exchange.as_ref()),
            self.audience.origin().ascii_serialization(),
        ];
        if let Some(DeviceLogin { form: DeviceLoginForm::OpenAi { poll, .. }, .. }) = &self.device {
            parts.push(poll.to_string());
        }
        parts.extend(self.browser.as_ref().map(|browser| browser.authorize.to_string()));
        Hash::of(parts.join("\n").as_bytes())
    }
}

impl Sources<'_> {
    /// The person's own address, else the maker's.
    fn address(
        &self,
        field: &'static str,
        written: &Option<String>,
        usual: Option<&str>,
    ) -> Result<Option<Url>, LoginSettingsError> {
        let usual = || usual.map(|usual| self.moved(usual));
        own(written).or_else(usual).map(|text| address(field, &text)).transpose()
    }

    /// A maker's address at the person's own issuer, if they have one.
    fn moved(&self, usual: &str) -> String {
        let own = own(&self.settings.issuer);
        let issuer = self.known.map(|known| known.issuer).filter(|issuer| !issuer.is_empty());
        match (own, issuer.and_then(|issuer| usual.strip_prefix(issuer))) {
            (Some(own), Some(path)) => format!("{}{path}", own.trim_end_matches('/')),
            _ => usual.to_owned(),
        }
    }

    fn device(&self) -> Result<Option<DeviceLogin>, LoginSettingsError> {
        let known = self.known.and_then(|known| known.device.as_ref());
        let usual = known.map(|device| device.url);
        let Some(url) = self.address("deviceUrl", &self.settings.device_url, usual)? else {
            return Ok(None);
        };
        let at = |usual: &str| address("issuer", &self.moved(usual));
        let form = match known.map(|device| &device.form) {
            None | Some(DeviceForm::Standard) => DeviceLoginForm::Standard,
            Some(DeviceForm::OpenAi { poll, redirect, verification }) => DeviceLoginForm::OpenAi {
                poll: at(poll)?,
                redirect: at(redirect)?,
                verification: at(verification)?,
            },
        };
        Ok(Some(DeviceLogin { url, form }))
    }

    fn browser(&self) -> Result<Option<BrowserLogin>, LoginSettingsError> {
        let known = self.known.and_then(|known| known.browser.as_ref());
        let usual = known.map(|browser| browser.authorize_url);
        let authorize = self.address("authorizeUrl", &self.settings.authorize_url, usual)?;
        let Some(authorize) = authorize else { return Ok(None) };
        let redirect = match known.map(|browser| browser.redirect) {
            Some(VendorRedirect::Gateway) => Redirect::Gateway,
            Some(VendorRedirect::ThisMachine(usual)) => self.this_machine(usual)?,
            None => self.this_machine(ANY_PORT)?,
        };
        let extra = known.map_or(&[] as &[_], |browser| browser.extra);
        let pkce = known.is_none_or(|browser| browser.pkce);
        Ok(Some(BrowserLogin { authorize, redirect, pkce, extra }))
    }

    fn this_machine(&self, usual: &str) -> Result<Redirect, LoginSettingsError> {
        let redirect = own(&self.settings.redirect_url).unwrap_or_else(|| usual.to_owned());
        let redirect = Url::parse(&redirect).map_err(|_| LoginSettingsError::Redirect)?;
        let is_plain = redirect.scheme() == "http"
            && is_loopback(&redirect)
            && redirect.query().is_none()
            && redirect.fragment().is_none();
        if is_plain {
            Ok(Redirect::ThisMachine(redirect))
        } else {
            Err(LoginSettingsError::Redirect)
        }
    }
}

fn own(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

fn address(field: &'static str, text: &str) -> Result<Url, LoginSettingsError> {
    let url = Url::parse(text).map_err(|_| LoginSettingsError::Address(field))?;
    let plain = is_trusted(&url)
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    if plain { Ok(url) } else { Err(LoginSettingsError::Address(field)) }
}

/// Whether the address is encrypted, or stays on this machine.
pub(super) fn is_trusted(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "http" => is_loopback(url),
        _ => false,
    }
}
