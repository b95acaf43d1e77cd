//! The decorators around a model: `Budget(Fallback(each: Metrics(Breaker(Retry(wire)))))`. Each is
//! a `Model` itself, so they stack in any number. The breaker is around the retries, so a request
//! counts as one failure however often it was tried. The registry builds all but the budget, which
//! belongs to one run because it needs to know the person who pays, and `BookedModel`, which stands
//! around a request without a run.

mod booked;
mod breaker;
mod budget;
mod circuit;
mod fallback;
mod metrics;
mod priced;
mod retry;
mod stop_words;

pub use booked::{BookedModel, UsageBook, UsageEstimate};
pub(crate) use breaker::{Breaker, OpenCall};
pub use budget::{Budget, Payer, SpendAccounts, SpendBook, SpendLimits};
pub(crate) use circuit::Circuit;
pub use circuit::{BreakerPolicy, CircuitState};
pub(crate) use fallback::Fallback;
pub(crate) use metrics::{Counts, Metrics};
pub use metrics::{LATENCY_BOUNDS, LastFailure, Latency, ModelMetrics};
pub(crate) use priced::PricedModel;
pub use retry::RetryPolicy;
pub(crate) use retry::{Retry, is_content};
pub(crate) use stop_words::StopWords;
