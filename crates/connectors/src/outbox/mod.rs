//! Sends the messages that wait in the ledger. Each is sent as soon as the network's limits allow
//! it (`pace.rs`), in order for each peer, and its result is stored (`sender.rs`). `parts.rs` cuts
//! a message into parts that the network accepts. What a message says is decided elsewhere.

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
