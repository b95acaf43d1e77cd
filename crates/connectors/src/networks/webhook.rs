//! Connects a program of the owner, which pushes messages to Onyx and gets the answers pushed to
//! its address. Both directions are signed with a shared secret over the time and the body, so that
//! requests can neither be forged nor replayed later.

use std::sync::Arc;

use async_trait::async_trait;
use hmac::{Hmac, KeyInit as _, Mac as _};
use onyx_storage::PeerKind;
use onyx_types::Clock;
use serde::Deserialize;
use serde_json::json;
use sha2::Sha256;

use super::hex;
use super::http::Http;
use crate::connector::{
    Author, Batch, Connector, Identity, Incoming, Listening, NetworkError, NetworkTraits, Outgoing,
    OutgoingKind, PushedRequest, Update,
};
use crate::settings::{Account, Secret};
use crate::setup::{ConnectorSetup, WaitTimes};
use crate::text::TextFormat;

/// By how many seconds a signature's time may differ from the clock in either direction.
const WINDOW_SECONDS: i64 = 300;
const LONGEST_ID: usize = 200;

pub(super) struct Webhook {
    /// The client for answers; `None` if the config names no address for them.
    http: Option<Http>,
    secret: Secret,
    wait_times: WaitTimes,
    clock: Arc<dyn Clock>,
    name: String,
}

#[derive(Deserialize)]
struct PushedMessage {
    id: String,
    peer: String,
    text: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    thread: String,
    #[serde(default)]
    author: Option<Author>,
}

impl Webhook {
    pub(super) fn new(account: &Account, setup: &ConnectorSetup) -> Result<Self, String> {
        if account.secret.reveal().len() < 16 {
            return Err("`secret` must have 16 characters or more".to_owned());
        }
        let http = match &account.url {
            Some(url) => Some(Http::new(&setup.egress, url, &account.secret).map_err(|_| {
                "`url` must be an address that begins with http:// or https://".to_owned()
            })?),
            None => None,
        };
        let name = account.key.account.clone();
        let (wait_times, clock) = (setup.wait_times, Arc::clone(&setup.clock));
        Ok(Self { http, secret: account.secret.clone(), wait_times, clock, name })
    }

    fn mac(&self, seconds: i64, body: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.reveal().as_bytes()).ok()?;
        mac.update(format!("{seconds}.").as_bytes());
        mac.update(body);
        Some(mac)
    }

    fn signed(&self, body: &[u8]) -> Vec<(&'static str, String)> {
        let seconds = self.clock.wall().as_millis() / 1000;
        let signature = self.mac(seconds, body).map(|mac| hex(&mac.finalize().into_bytes()));
        vec![
            ("x-onyx-timestamp", seconds.to_string()),
            ("x-onyx-signature", format!("sha256={}", signature.unwrap_or_default())),
        ]
    }

    fn check(&self, pushed: &PushedRequest) -> Result<(), NetworkError> {
        let refused = |why: &str| NetworkError::Unauthorized(why.to_owned());
        let seconds: i64 = pushed
            .header("x-onyx-timestamp")
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| refused("x-onyx-timestamp is missing; send the seconds since 1970"))?;
        let now = self.clock.wall().as_millis() / 1000;
        if (now - seconds).abs() > WINDOW_SECONDS {
            return Err(refused("x-onyx-timestamp is too old or too far in the future"));
        }
        let signature = pushed
            .header("x-onyx-signature")
            .and_then(|text| text.strip_prefix("sha256="))
            .and_then(bytes)
            .ok_or_else(|| refused("x-onyx-signature is missing; send sha256=<hex>"))?;
        let mac = self.mac(seconds, &pushed.body).ok_or_else(|| refused("no key"))?;
        mac.verify_slice(&signature)
            .map_err(|_| refused("x-onyx-signature does not match the message"))
    }
}

#[async_trait]
impl Connector for Webhook {
    fn traits(&self) -> NetworkTraits {
        NetworkTraits::of_program("webhook", TextFormat::Markdown, 200_000, Listening::Pushed)
    }

    async fn identity(&self) -> Result<Identity, NetworkError> {
        Ok(Identity { name: self.name.clone(), link: None })
    }

    async fn accept(&self, pushed: &PushedRequest) -> Result<Batch, NetworkError> {
        self.check(pushed)?;
        let message: PushedMessage = serde_json::from_slice(&pushed.body)
            .map_err(|error| NetworkError::Refused(error.to_string()))?;
        for (name, value) in [("id", &message.id), ("peer", &message.peer)] {
            if value.is_empty() || value.len() > LONGEST_ID {
                let why = format!("{name}: it must have 1 to {LONGEST_ID} characters");
                return Err(NetworkError::Refused(why));
            }
        }
        let author = message.author.unwrap_or_else(|| Author {
            id: message.peer.clone(),
            name: message.name.clone().unwrap_or_else(|| message.peer.clone()),
        });
        let incoming = Incoming {
            peer_name: message.name.unwrap_or_else(|| message.peer.clone()),
            kind: PeerKind::Person,
            thread: message.thread,
            guild: None,
            message: message.id.clone(),
            author,
            text: message.text,
            is_addressed: true,
            quoted: None,
            files: Vec::new(),
            press: None,
            peer: message.peer.clone(),
        };
        let id = format!("{}:{}", message.peer, message.id);
        Ok(Batch { updates: vec![Update { id, incoming }], cursor: None })
    }

    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError> {
        let Some(http) = &self.http else {
            return Err(NetworkError::Refused("the account has no `url` to send to".to_owned()));
        };
        let (text, buttons) = match &message.what {
            OutgoingKind::Text { text, buttons } => (&text.plain, buttons.as_slice()),
            OutgoingKind::Edit { text, .. } => (&text.plain, [].as_slice()),
            // The program was shown no buttons, so it can press none.
            OutgoingKind::PressAnswer { .. } | OutgoingKind::File(_) => return Ok(String::new()),
        };
        let actions: Vec<_> =
            buttons.iter().map(|b| json!({"label": b.label, "data": b.data})).collect();
        let body = json!({
            "id": message.key, "peer": message.peer, "thread": message.thread,
            "text": text, "actions": actions,
        });
        let body = body.to_string().into_bytes();
        let mut headers = self.signed(&body);
        headers.push(("idempotency-key", message.key.clone()));
        let answer = http.post("", &headers, body, self.wait_times.request).await?;
        match answer.status {
            200..300 => Ok(message.key.clone()),
            408 | 429 | 500.. => {
                Err(NetworkError::Failed(format!("it answered {}", answer.status)))
            }
            other => Err(NetworkError::Refused(format!("the receiver answered {other}"))),
        }
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}
