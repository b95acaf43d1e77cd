//! How people come in, shared by all gateways: what waits to be taken, and how often somebody guessed wrong.

mod failures;
mod pending;

pub use failures::{FailureBucket, Overflow, Room, SharedFailures};
pub(crate) use pending::PostgresPending;
