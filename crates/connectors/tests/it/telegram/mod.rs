//! Telegram, against a Telegram of our own.

mod approvals;
mod door;
mod health;
mod peers;
pub(crate) mod seeds;
mod steering;
mod streaming;
mod talk;
