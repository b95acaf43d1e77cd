//! Counts of failed guesses that all gateways share.

mod failures;

pub use failures::{Admission, FailureBucket, Overflow, SharedFailures};
