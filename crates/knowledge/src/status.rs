//! The status of the index: what it holds, what it still has to do, and what does not work.

use onyx_types::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// The state of the index, to explain why something was not found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IndexStatus {
    pub sources: u64,
    pub chunks: u64,
    /// Chunks that can be found by meaning.
    pub vectors: u64,
    /// Everything was looked through since the start.
    pub complete: bool,
    /// Files that are waiting to be read.
    pub waiting: usize,
    /// What is being looked through now.
    pub progress: Option<Progress>,
    pub synced_at: Option<Timestamp>,
    pub embedding: Embedding,
    pub watching: Watching,
    /// What went wrong last and has not gone right since.
    pub error: Option<String>,
    /// Files of which nothing can be found.
    pub problem_count: u64,
    pub problems: Vec<Problem>,
}

/// What an index has to do yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexWork {
    /// Everything was looked through since the start.
    pub is_complete: bool,
    /// Files and conversations of which it does not hold the newest.
    pub waiting: usize,
    pub progress: Option<Progress>,
    /// What went wrong last and has not gone right since.
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Embedding {
    /// No embedder is configured: searches go by words alone.
    Off,
    Ready {
        model: String,
    },
    /// Searches go by words alone until it works again.
    Failing {
        model: String,
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Watching {
    /// Files are looked at when a session starts.
    Off,
    On,
    Failing {
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    pub path: String,
    pub reason: String,
}
