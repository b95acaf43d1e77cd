//! Records the cost of requests without a run in the ledger.

use std::sync::Arc;

use futures::future::BoxFuture;
use onyx_providers::UsageBook;
use onyx_storage::Ledger;
use onyx_types::{Clock, ModelId, Pauses, SessionKey, Usage};

pub(super) struct LedgerBook {
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    /// There is no session; the key names the person and the agent to charge.
    pub(super) key: SessionKey,
    pub(super) pauses: Pauses,
}

impl UsageBook for LedgerBook {
    fn book(&self, model: ModelId, usage: Usage) -> BoxFuture<'static, ()> {
        let (ledger, key) = (Arc::clone(&self.ledger), self.key.clone());
        let (at, pauses) = (self.clock.wall(), self.pauses.clone());
        Box::pin(async move {
            pauses.at("bill.begin").await;
            if let Err(error) = ledger.book(&key, &model, usage, at).await {
                tracing::error!(%error, "the cost of a request could not be booked");
            }
        })
    }
}
