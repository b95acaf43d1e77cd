//! What goes around a model: `Budget(Fallback(each: Metrics(Retry(Breaker(wire)))))`. Each is a
//! `Model` itself, so they stack in any number.

mod retry;

pub use retry::{Retry, RetryPolicy};
