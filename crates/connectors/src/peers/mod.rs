//! Knows the peers of an account: which agent answers them (`bindings.rs`), how a stranger becomes
//! a known peer (`pairing.rs`), and how many visitors are remembered (`visitors.rs`). Nothing here
//! sends a message.

mod bindings;
mod pairing;
mod visitors;

pub use bindings::{Asker, agent_for};
pub(crate) use pairing::{CODE_LIFE, MOST_WAITING, fresh_code, same_code};
pub(crate) use visitors::{MOST_VISITORS, forget_idle_visitors};
