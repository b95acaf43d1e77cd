//! Books the cost of a request that belongs to no run, such as one of another maker's client. Only
//! the sum is passed on, and nothing else about the request.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_types::{Cancel, Model, ModelEvent, ModelId, ModelRequest, Usage, estimate_tokens};
use serde_json::{Map, Value};

use crate::metadata::Price;

/// Roughly how many bytes of plain text make a token. A more exact count needs to know the model.
const BYTES_A_TOKEN: u64 = 4;

/// The most tokens that are estimated for a file, because its length alone says little about them.
const MOST_TOKENS_OF_A_FILE: u64 = 10_000;

/// The place where the cost of a request is recorded. The implementation reports its errors itself,
/// because the answer was already sent.
pub trait UsageBook: Send + Sync {
    fn book(&self, model: ModelId, usage: Usage) -> BoxFuture<'static, ()>;
}

/// What a request probably cost if its provider reports no usage.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageEstimate {
    /// Tokens of the request, estimated from its text.
    input: u64,
    price: Option<Price>,
}

impl UsageEstimate {
    pub const fn of_bytes(bytes: u64, price: Option<Price>) -> Self {
        Self { input: bytes.div_ceil(BYTES_A_TOKEN), price }
    }

    /// Counts every text in the body of a request.
    pub fn of_body(body: &Map<String, Value>, price: Option<Price>) -> Self {
        Self::of_bytes(body.values().map(text_bytes).sum::<usize>() as u64, price)
    }

    /// What making vectors of these texts probably used, because embedders do not report it.
    pub fn of_embedding(texts: &[String], price: Option<Price>) -> Usage {
        let input = texts.iter().map(|text| estimate_tokens(text)).sum::<usize>() as u64;
        Self { input, price }.usage(0)
    }

    /// For a request that is a file, such as a recording.
    pub fn of_file(bytes: u64, price: Option<Price>) -> Self {
        let estimate = Self::of_bytes(bytes, price);
        Self { input: estimate.input.min(MOST_TOKENS_OF_A_FILE), ..estimate }
    }

    /// The usage of an answer of this many bytes.
    fn usage(self, answer: usize) -> Usage {
        let (input, output) = (self.input, (answer as u64).div_ceil(BYTES_A_TOKEN));
        let each = |price: Price| input as f64 * price.input + output as f64 * price.output;
        Usage { input, output, cost: self.price.map(|it| each(it) / 1e6), ..Usage::default() }
    }
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.values().map(text_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A model whose answers are booked.
pub struct BookedModel<M> {
    model: Arc<M>,
    book: Arc<dyn UsageBook>,
    estimate: UsageEstimate,
}

impl<M: Model> BookedModel<M> {
    pub const fn new(model: Arc<M>, book: Arc<dyn UsageBook>, estimate: UsageEstimate) -> Self {
        Self { model, book, estimate }
    }
}

impl<M: Model> Model for BookedModel<M> {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.model.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let cost = AnswerCost {
            book: Arc::clone(&self.book),
            model: ModelId::new(self.model.id()),
            estimate: self.estimate,
            usage: None,
            answer: 0,
            is_settled: false,
            booking: None,
        };
        let events = self.model.stream(request, cancel);
        unfold(BookedStream { events, cost, last: VecDeque::new() }, BookedStream::next).boxed()
    }
}

/// An answer whose end is sent only after its cost is booked, so that a client that has the end can
/// see the cost, and the next request is checked against it.
struct BookedStream {
    events: BoxStream<'static, ModelEvent>,
    cost: AnswerCost,
    /// The events after the end of the answer, which are sent after it.
    last: VecDeque<ModelEvent>,
}

impl BookedStream {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        if let Some(event) = self.last.pop_front() {
            return Some((event, self));
        }
        let Some(event) = self.events.next().await else {
            self.cost.settle().await;
            return None;
        };
        self.cost.count(&event);
        if !matches!(event, ModelEvent::Finish(_) | ModelEvent::Failed(_)) {
            return Some((event, self));
        }
        // The usage may be reported after the end.
        while let Some(more) = self.events.next().await {
            self.cost.count(&more);
            self.last.push_back(more);
        }
        self.cost.settle().await;
        Some((event, self))
    }
}

/// The cost of one answer. It is booked when the answer is over, also when its client did not wait
/// for the end.
struct AnswerCost {
    book: Arc<dyn UsageBook>,
    model: ModelId,
    estimate: UsageEstimate,
    usage: Option<Usage>,
    /// Bytes of the answer.
    answer: usize,
    is_settled: bool,
    /// The booking under way, until it is done.
    booking: Option<BoxFuture<'static, ()>>,
}

impl AnswerCost {
    fn count(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::TextDelta(text) | ModelEvent::ReasoningDelta(text) => {
                self.answer += text.len();
            }
            ModelEvent::ToolCallDelta { arguments, .. } => self.answer += arguments.len(),
            _ => {}
        }
    }

    /// The usage that the provider reported, or an estimate if it reported none.
    fn used(&self) -> Option<Usage> {
        if self.usage.is_some() || self.answer == 0 {
            return self.usage.filter(|usage| *usage != Usage::default());
        }
        let usage = self.estimate.usage(self.answer);
        tracing::warn!(
            model = %self.model,
            input = usage.input,
            output = usage.output,
            "the provider reported no usage; an estimate is booked"
        );
        Some(usage)
    }

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
        self.booking = Some(self.book.book(self.model.clone(), usage));
    }
}

/// If the client goes away meanwhile, the cost is still booked.
impl Drop for AnswerCost {
    fn drop(&mut self) {
        self.begin_to_book();
        if let Some(booking) = self.booking.take() {
            tokio::spawn(booking);
        }
    }
}
