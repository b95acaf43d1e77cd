//! Tests the Telegram connector against a fake Bot API.

mod approvals;
mod door;
mod health;
mod peers;
pub(crate) mod seeds;
mod steering;
mod streaming;
mod talk;
