//! Sends one request to another gateway. Both sides prove that they belong to the database.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use onyx_agent::GatewayAddress;
use onyx_types::{ErrorCode, Fault};
use reqwest::Response;
use serde::Serialize;

use super::proof::{EXPIRES, FROM, GatewayKey, NONCE, PROOF, ProofClock, Question, same};

const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// A working gateway sends something more often than this.
const SILENCE_LIMIT: Duration = Duration::from_secs(8);

/// Sends requests to other gateways in the name of this one.
pub(super) struct Asker {
    key: Arc<GatewayKey>,
    http: reqwest::Client,
    clock: ProofClock,
    from: String,
}

/// Why a request got no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    Unreachable(String),
    /// The answer does not prove that it comes from a gateway of this database.
    NotProven,
    /// The gateway refused the request with this fault.
    Refused(Fault),
}

impl NoAnswer {
    pub(super) fn fault(self, at: &GatewayAddress) -> Fault {
        let why = match self {
            Self::Unreachable(why) => why,
            Self::NotProven => "what answers there is no gateway of this database".to_owned(),
            Self::Refused(fault) => return fault,
        };
        let message = format!("gateway {} at {} does not answer: {why}", at.id, at.url);
        Fault::new(ErrorCode::StorageUnavailable, message)
    }
}

fn unreachable(error: &dyn std::fmt::Display) -> NoAnswer {
    NoAnswer::Unreachable(error.to_string())
}

fn internal(error: &dyn std::fmt::Display) -> NoAnswer {
    NoAnswer::Refused(Fault::new(ErrorCode::Internal, error.to_string()))
}

impl Asker {
    pub(super) fn new(key: Arc<GatewayKey>, clock: ProofClock, from: String) -> Result<Self> {
        #[allow(clippy::disallowed_methods, reason = "it reaches gateways that the database names")]
        let builder = reqwest::Client::builder();
        let http = builder
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            .build()
            .context("cannot create an HTTP client")?;
        Ok(Self { key, http, clock, from })
    }

    pub(super) async fn ask(
        &self,
        at: &GatewayAddress,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, NoAnswer> {
        let body = serde_json::to_vec(body).map_err(|error| internal(&error))?;
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|error| internal(&error))?;
        let nonce: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let expires = GatewayKey::expires(self.clock.now());
        let from = &self.from;
        let question = Question { from, to: &at.id, path, expires, nonce: &nonce, body: &body };
        let proof = self.key.proof(&question);
        let url = format!("{}{path}", at.url.trim_end_matches('/'));
        let request = self.http.post(url).header(FROM, from).header(EXPIRES, expires);
        let request = request.header(NONCE, &nonce).header(PROOF, proof).body(body);
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        let received = response.headers().get(PROOF).and_then(|proof| proof.to_str().ok());
        if !received.is_some_and(|received| same(received, &self.key.answer(&at.id, &nonce))) {
            return Err(NoAnswer::NotProven);
        }
        if response.status().is_success() {
            return Ok(response);
        }
        match response.json::<Fault>().await {
            Ok(fault) => Err(NoAnswer::Refused(fault)),
            Err(error) => Err(unreachable(&error)),
        }
    }
}
