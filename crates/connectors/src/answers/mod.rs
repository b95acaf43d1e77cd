//! What becomes of one message that came in: nothing, a pairing code, a command, a decision on a
//! draft, or a run whose answer goes out. Updates come from `hub` one at a time for each
//! conversation; what is said goes through the outbox, together with the end of the update.

mod commands;
mod content;
mod decision;
mod files;
mod fold;
mod grower;
mod handle;
mod proposals;
mod pursue;

pub use commands::Command;
pub use fold::{AnswerFold, AnswerStep};
pub(crate) use handle::{Handled, handle};
