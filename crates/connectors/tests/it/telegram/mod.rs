//! Telegram, against a Telegram of our own.

mod approvals;
mod door;
mod health;
mod peers;
mod seeds;
mod streaming;
mod talk;
