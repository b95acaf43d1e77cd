//! What goes out: messages wait in the ledger, each is sent when the network's limits allow it
//! (`pace.rs`), in order for each peer, and what came of it is written down (`sender.rs`). What a
//! message says is decided elsewhere; `parts.rs` cuts it into what one message can hold.

mod attempt;
mod pace;
mod parts;
mod sender;

pub(crate) use pace::Pace;
pub(crate) use parts::{
    Destination, answer_parts, answer_texts, file_part, main_chat, parts_with_buttons, plain_part,
    press_answer,
};
pub(crate) use sender::{SendListener, Sender, kind_of};
