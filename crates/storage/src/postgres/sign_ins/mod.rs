//! Sign-in state that all gateways share: pending sign-ins, and counts of failed guesses.

mod failures;
mod pending;

pub use failures::{Admission, FailureBucket, Overflow, SharedFailures};
pub(crate) use pending::PostgresPending;
