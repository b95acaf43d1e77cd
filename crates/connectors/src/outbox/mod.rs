//! What goes out: messages wait in the ledger, each is sent when the network's limits allow it
//! (`pace.rs`), in order for each peer, and what came of it is written down (`sender.rs`). What a
//! message says is decided elsewhere.

mod attempt;
mod pace;
mod sender;

pub(crate) use pace::Pace;
pub(crate) use sender::{HearSend, Sender, kind_of};
