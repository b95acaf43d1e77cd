//! Tests the Telegram connector against a fake Bot API.

mod approvals;
mod health;
mod peers;
mod pushed_updates;
pub(crate) mod seeds;
mod steering;
mod streaming;
mod talk;
