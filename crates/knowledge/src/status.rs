//! The status of the index: what it holds, what it still has to do, and what does not work.

use onyx_types::{PersonId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// The state of the index, to explain why something was not found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IndexStatus {
    pub sources: u64,
    pub chunks: u64,
    /// The number of chunks that can be found by meaning.
    pub vectors: u64,
    /// Whether everything was looked through since the start.
    pub complete: bool,
    /// The number of files that are waiting to be read.
    pub waiting: usize,
    /// How far the current look through files and sessions is.
    pub progress: Option<Progress>,
    pub synced_at: Option<Timestamp>,
    pub embedding: EmbeddingState,
    pub watching: Watching,
    /// The last error, if the work has not succeeded since.
    pub error: Option<String>,
    /// The number of files in which nothing can be found.
    pub problem_count: u64,
    pub problems: Vec<UnindexedFile>,
}

/// The work that the index still has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexWork {
    /// Whether everything was looked through since the start.
    pub is_complete: bool,
    /// The number of files and conversations whose latest state is not indexed yet.
    pub waiting: usize,
    pub progress: Option<Progress>,
    /// The last error, if the work has not succeeded since.
    pub error: Option<String>,
}

/// The tables that are in memory because searches read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedTables {
    /// The people whose tables are loaded; whoever searched longest ago comes first.
    pub people: Vec<PersonId>,
    /// The approximate memory of all tables, with those of the shared documents.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum EmbeddingState {
    /// No embedder is configured, so searches use words alone.
    Off,
    Ready {
        model: String,
    },
    /// The embedder fails, so searches use words alone until it works again.
    Failing {
        model: String,
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Watching {
    /// Folders are not watched; files are looked through when a session starts.
    Off,
    On,
    Failing {
        reason: String,
    },
}

/// A file in which nothing can be found, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnindexedFile {
    pub path: String,
    pub reason: String,
}
