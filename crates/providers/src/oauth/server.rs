//! The authorization server: each request goes only to an address of the config.

use serde_json::json;

use super::answer::{self, Device, GrantedTokens, Poll, Refusal};
use super::endpoint::{Endpoint, EndpointAnswer};
use super::resolved_login::{DeviceLogin, DeviceLoginForm, ResolvedLogin};
use crate::Secret;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

#[derive(Debug)]
pub(super) struct Server {
    device: Option<DevicePlaces>,
    token: Endpoint,
    account: Option<Endpoint>,
    exchange: Option<Endpoint>,
    revoke: Option<Endpoint>,
    client_id: String,
    client_secret: Option<Secret>,
    scopes: String,
}

#[derive(Debug)]
struct DevicePlaces {
    codes: Endpoint,
    form: DeviceFormPlaces,
}

#[derive(Debug)]
enum DeviceFormPlaces {
    Standard,
    OpenAi { poll: Endpoint, redirect: String, verification: String },
}

/// A code that the browser returned, and the verifier that proves Onyx asked for it.
pub(super) struct Redemption<'a> {
    pub(super) code: &'a Secret,
    pub(super) verifier: Option<&'a Secret>,
    pub(super) redirect: &'a str,
}

impl Server {
    pub(super) fn new(resolved: &ResolvedLogin) -> Self {
        Self {
            device: resolved.device.as_ref().map(DevicePlaces::of),
            token: Endpoint::of(&resolved.token),
            account: resolved.account.as_ref().map(Endpoint::of),
            exchange: resolved.exchange.as_ref().map(Endpoint::of),
            revoke: resolved.revoke.as_ref().map(Endpoint::of),
            client_id: resolved.client_id.clone(),
            client_secret: resolved.client_secret.clone(),
            scopes: resolved.scopes.clone(),
        }
    }

    pub(super) fn exchanges(&self) -> bool {
        self.exchange.is_some()
    }

    /// Requests a code to enter.
    pub(super) async fn device(&self) -> Result<Device, Refusal> {
        let Some(device) = &self.device else {
            return Err(Refusal::Passing("it gives no codes".to_owned()));
        };
        match &device.form {
            DeviceFormPlaces::Standard => {
                let mut fields = vec![("client_id", self.client_id.as_str())];
                if !self.scopes.is_empty() {
                    fields.push(("scope", &self.scopes));
                }
                let (status, body) = device.codes.post(&fields).await?;
                answer::device(status, &body)
            }
            DeviceFormPlaces::OpenAi { verification, .. } => {
                let body = json!({"client_id": self.client_id});
                let (status, body) = device.codes.post_json(&body).await?;
                answer::openai_device(status, &body, verification)
            }
        }
    }

    /// Asks whether the code was entered.
    pub(super) async fn poll(&self, device: &Device) -> Result<Poll, Refusal> {
        match self.device.as_ref().map(|places| &places.form) {
            None | Some(DeviceFormPlaces::Standard) => {
                let fields = [
                    ("grant_type", DEVICE_GRANT),
                    ("device_code", device.code.reveal()),
                    ("client_id", &self.client_id),
                ];
                let (status, body) = self.ask_for_token(&fields).await?;
                answer::poll(status, &body)
            }
            Some(DeviceFormPlaces::OpenAi { poll, redirect, .. }) => {
                let body =
                    json!({"device_auth_id": device.code.reveal(), "user_code": device.user_code});
                let (status, body) = poll.post_json(&body).await?;
                let Some((code, verifier)) = answer::openai_poll(status, &body)? else {
                    return Ok(Poll::Pending);
                };
                let redemption = Redemption { code: &code, verifier: Some(&verifier), redirect };
                self.redeem(redemption).await.map(Poll::Granted)
            }
        }
    }

    pub(super) async fn redeem(
        &self,
        redemption: Redemption<'_>,
    ) -> Result<GrantedTokens, Refusal> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", redemption.code.reveal()),
            ("redirect_uri", redemption.redirect),
            ("client_id", self.client_id.as_str()),
        ];
        fields.extend(redemption.verifier.map(|verifier| ("code_verifier", verifier.reveal())));
        let (status, body) = self.ask_for_token(&fields).await?;
        answer::token(status, &body)
    }

    pub(super) async fn refresh(&self, token: &Secret) -> EndpointAnswer {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.reveal()),
            ("client_id", &self.client_id),
        ];
        self.ask_for_token(&fields).await
    }

    /// Revokes a token (RFC 7009); `None` if the server has no address for it.
    pub(super) async fn revoke(&self, token: &Secret) -> Option<EndpointAnswer> {
        let place = self.revoke.as_ref()?;
        let fields = [("client_id", self.client_id.as_str()), ("token", token.reveal())];
        Some(place.post(&self.with_secret(&fields)).await)
    }

    async fn ask_for_token(&self, fields: &[(&str, &str)]) -> EndpointAnswer {
        self.token.post(&self.with_secret(fields)).await
    }

    fn with_secret<'a>(&'a self, fields: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let secret = self.client_secret.as_ref().map(|secret| ("client_secret", secret.reveal()));
        fields.iter().copied().chain(secret).collect()
    }

    /// Asks for the account's name. `None` if the provider has no address for it.
    pub(super) async fn account(&self, access: &Secret) -> Option<EndpointAnswer> {
        let place = self.account.as_ref()?;
        Some(place.get(&format!("Bearer {}", access.reveal())).await)
    }

    pub(super) async fn exchange(&self, access: &Secret) -> Option<EndpointAnswer> {
        let place = self.exchange.as_ref()?;
        // `token` is GitHub's own scheme for this header. Its other addresses accept both schemes,
        // but this one is only known to accept `token`.
        Some(place.get(&format!("token {}", access.reveal())).await)
    }
}

impl DevicePlaces {
    fn of(resolved: &DeviceLogin) -> Self {
        let form = match &resolved.form {
            DeviceLoginForm::Standard => DeviceFormPlaces::Standard,
            DeviceLoginForm::OpenAi { poll, redirect, verification } => DeviceFormPlaces::OpenAi {
                poll: Endpoint::of(poll),
                redirect: redirect.to_string(),
                verification: verification.to_string(),
            },
        };
        Self { codes: Endpoint::of(&resolved.url), form }
    }
}
