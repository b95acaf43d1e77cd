//! Each model works in a process of its own, started on first use and ended when idle: its memory
//! is then free again, and a file that makes a C++ library abort ends only that process.
//!
//! It is the same program, started with `Launch`'s arguments. It reads one JSON object a line from
//! stdin, the first of them the `Job`, and answers on stdout. It gets an empty environment and ends
//! when its stdin ends.

mod host;
mod keeper;
mod protocol;
mod replies;

pub(crate) use keeper::{Keeper, OrderReplies};
pub(crate) use protocol::{Chat, ChatMessage, Ended, FailedClass, Job, Order, Reply};
pub(crate) use replies::{NobodyListens, Refusal, Replies};

use std::ffi::OsString;
use std::path::PathBuf;

/// Called after a model's process has ended, to free what only the process needed.
pub type Released = fn();

/// How the process is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}
