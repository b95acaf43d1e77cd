//! Requests from this gateway to the others.

use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use bytes::BytesMut;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use onyx_agent::{GatewayAddress, OtherGateways, RunOrder};
use onyx_storage::GatewayRow;
use onyx_types::{Envelope, Fault, PersonId, RunId, SessionKey};
use reqwest::Response;
use serde::Serialize;

use super::ask::{Asker, NoAnswer};
use super::proof::{GatewayKey, ProofClock};
use super::routes::{EVENTS, EventsBody, ORDERS, OrderBody};
use crate::gateway::storage::SharedStorage;

/// The gateways on the same database, over HTTP.
pub(super) struct Peers {
    shared: Arc<SharedStorage>,
    asker: Asker,
}

impl Peers {
    pub(super) fn new(shared: Arc<SharedStorage>, key: Arc<GatewayKey>) -> Result<Self> {
        let clock = ProofClock::Gateway(Arc::clone(&shared));
        let asker = Asker::new(key, clock, shared.membership.id().to_owned())?;
        Ok(Self { shared, asker })
    }

    /// The address of the gateway, unless it is this one.
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
        self.asker.ask(at, path, body).await.map_err(|none| none.fault(at))
    }
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
        let answer = response.json().await;
        answer.map_err(|error| NoAnswer::Unreachable(error.to_string()).fault(at))
    }
}

/// The events of a response. The stream ends when the other gateway is silent or sends something
/// unreadable.
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
