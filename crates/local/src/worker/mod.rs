//! Each model runs in a process of its own, which is started on first use and ended when idle.
//! Ending it frees its memory, and a file that makes a C++ library abort ends only that process.
//!
//! The process runs the same program, started with `Launch`'s arguments. It reads one JSON object a
//! line from stdin, the first of them the `WorkerTask`, and answers on stdout. Its environment is
//! empty, and it ends when its stdin ends.

mod host;
mod keeper;
mod protocol;
mod replies;

pub(crate) use keeper::{Keeper, RequestReplies};
pub(crate) use protocol::{
    AnswerEnd, Chat, ChatMessage, FailedClass, Reply, WorkerRequest, WorkerTask,
};
pub(crate) use replies::{NobodyListens, Refusal, Replies};

use std::ffi::OsString;
use std::path::PathBuf;

/// Called after a model's process has ended, to free memory that only the process needed.
pub type MemoryRelease = fn();

/// How the process is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}
