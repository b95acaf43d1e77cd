//! Models work in a process of their own, started on first use and ended when idle: their memory
//! goes back whole, and a file that makes a C++ library abort takes nothing else with it.
//!
//! It is the same program, started with `Launch`'s arguments. It reads one JSON object a line from
//! stdin, the first of them the `Job`, and answers on stdout. It gets nothing of the environment
//! and ends when its stdin does.

mod host;
mod keeper;
mod protocol;
mod replies;

pub(crate) use keeper::{Keeper, OrderReplies};
pub(crate) use protocol::{Chat, ChatMessage, Ended, FailedClass, Job, Order, Reply};
pub(crate) use replies::{NobodyListens, Refusal, Replies};

use std::ffi::OsString;
use std::path::PathBuf;

/// Called after a model's process has ended: what only its use needed is of no use any more.
pub type Released = fn();

/// How the process is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}
