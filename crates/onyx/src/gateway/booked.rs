//! Books the cost of pass-through requests like that of any others. Only the sum is stored, and nothing
//! else about them.

use std::collections::VecDeque;
use std::mem::take;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_providers::Price;
use onyx_storage::Ledger;
use onyx_types::{Cancel, Clock, Model, ModelEvent, ModelRequest, Pauses, SessionKey, Usage};

/// The bytes of a token of plain text; more exact counters know their model.
pub(super) const BYTES_A_TOKEN: u64 = 4;

pub(super) struct Booked<M> {
    pub(super) model: Arc<M>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    /// There is no session; the key names the person and the agent to charge.
    pub(super) key: SessionKey,
    pub(super) reckoning: Reckoning,
    pub(super) pauses: Pauses,
}

/// Estimates the cost of answers whose provider reports no usage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reckoning {
    /// Tokens of the request, estimated from its text.
    pub(super) input: u64,
    pub(super) price: Option<Price>,
}

impl<M: Model> Model for Booked<M> {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.model.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let bill = Bill {
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
            key: self.key.clone(),
            model: self.model.id().to_owned(),
            reckoning: self.reckoning,
            usage: None,
            said: 0,
            pauses: self.pauses.clone(),
            is_settled: false,
            booking: None,
        };
        let events = self.model.stream(request, cancel);
        unfold(BookedStream { events, bill, last: VecDeque::new() }, BookedStream::next).boxed()
    }
}

/// An answer whose end is sent only after its cost is booked, so that a client that has the end can see
/// the cost, and the next request is checked against it.
struct BookedStream {
    events: BoxStream<'static, ModelEvent>,
    bill: Bill,
    /// The events from the end of the answer on.
    last: VecDeque<ModelEvent>,
}

impl BookedStream {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        if let Some(event) = self.last.pop_front() {
            return Some((event, self));
        }
        let Some(event) = self.events.next().await else {
            self.bill.settle().await;
            return None;
        };
        self.bill.saw(&event);
        if !matches!(event, ModelEvent::Finish(_) | ModelEvent::Failed(_)) {
            return Some((event, self));
        }
        // The usage may be reported after the end.
        while let Some(more) = self.events.next().await {
            self.bill.saw(&more);
            self.last.push_back(more);
        }
        self.bill.settle().await;
        Some((event, self))
    }
}

/// The bill is booked when the answer is over, also when its client did not wait for the end.
struct Bill {
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    key: SessionKey,
    model: String,
    reckoning: Reckoning,
    usage: Option<Usage>,
    /// Bytes of the answer.
    said: usize,
    pauses: Pauses,
    is_settled: bool,
    /// The booking under way, until it is done.
    booking: Option<BoxFuture<'static, ()>>,
}

impl Bill {
    fn saw(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::TextDelta(text) | ModelEvent::ReasoningDelta(text) => {
                self.said += text.len();
            }
            ModelEvent::ToolCallDelta { arguments, .. } => self.said += arguments.len(),
            _ => {}
        }
    }

    /// The usage that the provider reported, or an estimate if it reported none.
    fn used(&self) -> Option<Usage> {
        if self.usage.is_some() || self.said == 0 {
            return self.usage.filter(|usage| *usage != Usage::default());
        }
        let Reckoning { input, price } = self.reckoning;
        let output = (self.said as u64).div_ceil(BYTES_A_TOKEN);
        let each = |price: Price| input as f64 * price.input + output as f64 * price.output;
        let model = &self.model;
        tracing::warn!(
            model,
            input,
            output,
            "the provider reported no usage; an estimate is booked"
        );
        Some(Usage { input, output, cost: price.map(|it| each(it) / 1e6), ..Usage::default() })
    }
}

impl Bill {
    /// The cost is booked here and not in a task of its own, which would wake another thread for
    /// every answer.
    async fn settle(&mut self) {
        self.begin_to_book();
        if let Some(booking) = &mut self.booking {
            booking.await;
            self.booking = None;
        }
    }

    fn begin_to_book(&mut self) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        let Some(usage) = self.used() else { return };
        let (ledger, key) = (Arc::clone(&self.ledger), self.key.clone());
        let (model, at) = (take(&mut self.model), self.clock.wall());
        let pauses = self.pauses.clone();
        self.booking = Some(Box::pin(async move {
            pauses.at("bill.begin").await;
            if let Err(error) = ledger.book(&key, &model, usage, at).await {
                tracing::error!(%error, "the cost of a request could not be booked");
            }
        }));
    }
}

/// If the client goes away meanwhile, the cost is still booked.
impl Drop for Bill {
    fn drop(&mut self) {
        self.begin_to_book();
        if let Some(booking) = self.booking.take() {
            tokio::spawn(booking);
        }
    }
}
