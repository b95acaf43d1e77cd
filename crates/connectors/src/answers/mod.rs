//! Handles one incoming message. The result is nothing, a pairing code, a reply to a command, a
//! decision on a draft, or a run whose answer is sent. `hub` passes in the updates of a
//! conversation one at a time. A reply is put into the outbox in the same transaction that ends its
//! update.

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
pub(crate) use handle::{HandleResult, handle};
