//! Handles one incoming message: it leads to nothing, a pairing code, a command, a decision on a
//! draft, or a run whose answer is sent. Updates come from `hub` one at a time for each
//! conversation; replies go through the outbox, together with the end of the update.

mod commands;
mod content;
mod decision;
mod files;
mod fold;
mod growing_message;
mod handle;
mod proposals;
mod pursue;

pub use commands::Command;
pub use fold::{AnswerFold, AnswerStep};
pub(crate) use handle::{Handled, handle};
