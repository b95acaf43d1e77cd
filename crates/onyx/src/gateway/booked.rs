//! Requests that pass through are paid for like any others: their sum is in the books, and nothing
//! else of them.

use std::mem::take;
use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt};
use onyx_storage::Ledger;
use onyx_types::{Cancel, Clock, Model, ModelEvent, ModelRequest, SessionKey, Usage};

pub(super) struct Booked<M> {
    pub(super) model: Arc<M>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    /// No session is there; person and agent are whom it is charged to.
    pub(super) key: SessionKey,
}

impl<M: Model> Model for Booked<M> {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.model.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let mut bill = Bill {
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
            key: self.key.clone(),
            model: self.model.id().to_owned(),
            usage: Usage::default(),
        };
        let events = self.model.stream(request, cancel);
        events.inspect(move |event| bill.saw(event)).boxed()
    }
}

/// Booked when the answer is over, also when its client did not wait for the end.
struct Bill {
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    key: SessionKey,
    model: String,
    usage: Usage,
}

impl Bill {
    fn saw(&mut self, event: &ModelEvent) {
        if let ModelEvent::Usage(usage) = event {
            self.usage = *usage;
        }
    }
}

impl Drop for Bill {
    fn drop(&mut self) {
        if self.usage == Usage::default() {
            return;
        }
        let (ledger, key) = (Arc::clone(&self.ledger), self.key.clone());
        let (model, usage, at) = (take(&mut self.model), self.usage, self.clock.wall());
        tokio::spawn(async move {
            if let Err(error) = ledger.book(&key, &model, usage, at).await {
                tracing::error!(%error, "what a request has cost could not be booked");
            }
        });
    }
}
