//! What commands are, before any of them runs: which programs do nothing but their own work, and
//! which commands a standing rule lets run without asking. Nothing here looks at a file or starts a
//! process.

mod known;
mod rule;

pub(crate) use known::{Runs, runs};
pub(crate) use rule::CommandRule;
