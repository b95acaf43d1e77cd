//! Requests from this gateway to the others.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use bytes::BytesMut;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use onyx_agent::{DraftLeases, GatewayAddress, OtherGateways, RunOrder};
use onyx_storage::{GatewayRow, StoreError};
use onyx_types::{Clock, DraftId, Envelope, ErrorCode, Fault, PersonId, RunId, SessionKey};
use reqwest::Response;
use serde::Serialize;

use super::proof::{EXPIRES, FROM, GatewayKey, NONCE, PROOF, Question, same};
use super::routes::{EVENTS, EventsBody, ORDERS, OrderBody};
use crate::gateway::storage::SharedStorage;

const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// A working gateway sends something more often than this.
const SILENCE_LIMIT: Duration = Duration::from_secs(8);

/// The gateways on the same database, over HTTP.
pub(super) struct Peers {
    shared: Arc<SharedStorage>,
    key: Arc<GatewayKey>,
    http: reqwest::Client,
    clock: Arc<dyn Clock>,
}

impl Peers {
    pub(super) fn new(
        shared: Arc<SharedStorage>,
        key: Arc<GatewayKey>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        #[allow(clippy::disallowed_methods, reason = "it reaches gateways that the database names")]
        let builder = reqwest::Client::builder();
        let http = builder
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            .build()
            .context("cannot create an HTTP client")?;
        Ok(Self { shared, key, http, clock })
    }

    /// Not this one: what is here is known here.
    fn other(&self, found: Option<GatewayRow>) -> Option<GatewayAddress> {
        let found = found.filter(|row| row.id != self.shared.membership.id())?;
        Some(GatewayAddress { id: found.id, url: found.url })
    }

    async fn send(
        &self,
        at: &GatewayAddress,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, Fault> {
        let body = serde_json::to_vec(body)
            .map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce)
            .map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
        let nonce: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let expires = GatewayKey::expires(self.clock.wall());
        let from = self.shared.membership.id();
        let question = Question { from, to: &at.id, path, expires, nonce: &nonce, body: &body };
        let proof = self.key.proof(&question);
        let url = format!("{}{path}", at.url.trim_end_matches('/'));
        let request = self.http.post(url).header(FROM, from).header(EXPIRES, expires);
        let request = request.header(NONCE, &nonce).header(PROOF, proof).body(body);
        let response = request.send().await.map_err(|error| away(at, &error))?;
        let given = response.headers().get(PROOF).and_then(|proof| proof.to_str().ok());
        let is_gateway = given.is_some_and(|given| same(given, &self.key.answer(&at.id, &nonce)));
        if !is_gateway {
            return Err(away(at, &"what answers there is no gateway of this database"));
        }
        if response.status().is_success() {
            return Ok(response);
        }
        Err(response.json::<Fault>().await.unwrap_or_else(|error| away(at, &error)))
    }
}

fn away(at: &GatewayAddress, why: &dyn std::fmt::Display) -> Fault {
    let message = format!("gateway {} at {} does not answer: {why}", at.id, at.url);
    Fault::new(ErrorCode::StorageUnavailable, message)
}

#[async_trait]
impl OtherGateways for Peers {
    async fn holder(&self, key: &SessionKey) -> Result<Option<GatewayAddress>, Fault> {
        Ok(self.other(self.shared.membership.holder(key).await?))
    }

    async fn runner(&self, run: RunId) -> Result<Option<GatewayAddress>, Fault> {
        Ok(self.other(self.shared.membership.runner(run).await?))
    }

    async fn events(
        &self,
        at: &GatewayAddress,
        person: &PersonId,
        run: RunId,
        after: u64,
    ) -> Result<BoxStream<'static, Envelope>, Fault> {
        let body = EventsBody { person: person.clone(), run, after };
        let response = self.send(at, EVENTS, &body).await?;
        Ok(envelopes(response).boxed())
    }

    async fn ask(
        &self,
        at: &GatewayAddress,
        person: &PersonId,
        order: &RunOrder,
    ) -> Result<bool, Fault> {
        let body = OrderBody { person: person.clone(), order: order.clone() };
        let response = self.send(at, ORDERS, &body).await?;
        response.json().await.map_err(|error| away(at, &error))
    }
}

/// Ends when the other gateway falls silent or sends something that is no event.
fn envelopes(response: Response) -> impl futures::Stream<Item = Envelope> + Send {
    stream::unfold((response, BytesMut::new()), |(mut response, mut buffer)| async move {
        loop {
            if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line = buffer.split_to(end + 1);
                if line.len() == 1 {
                    continue;
                }
                let envelope = serde_json::from_slice(&line).ok()?;
                return Some((envelope, (response, buffer)));
            }
            let more = response.chunk().await.ok()??;
            buffer.extend_from_slice(&more);
        }
    })
}

/// Drafts that one gateway works on, by their names in the database.
pub(super) struct SharedDraftLeases(pub(super) Arc<SharedStorage>);

fn name(draft: DraftId) -> String {
    format!("draft {draft}")
}

#[async_trait]
impl DraftLeases for SharedDraftLeases {
    async fn acquire(&self, draft: DraftId) -> Result<bool, StoreError> {
        self.0.acquire_draft(&name(draft)).await
    }

    async fn release(&self, draft: DraftId) {
        self.0.release_draft(&name(draft)).await;
    }
}
