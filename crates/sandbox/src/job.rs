use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Program, SandboxKind};

/// A command, and the files and resources it may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// Where it starts; one of the folders below, or in it.
    pub folder: PathBuf,
    /// Folders it may read beside the system's.
    pub readable: Vec<PathBuf>,
    /// The folders it may change. They exist; links to them were followed.
    pub writable: Vec<PathBuf>,
    /// One of `writable`, for what is temporary: the command's home too.
    pub scratch: PathBuf,
    pub network: Network,
    pub input: Input,
    pub bounds: Bounds,
}

/// The command's standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// What it is started with; nothing where its network is proxied.
    #[default]
    Given,
    /// What is written to [`crate::Running::take_input`], also where its network is proxied.
    Written,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    #[default]
    None,
    /// No network of this machine either: a network namespace of its own, in which the job's caller
    /// answers one loopback port ([`crate::PROXY_PORT`], [`crate::Running::take_listener`]). Only
    /// where there are namespaces.
    Proxied,
}

/// The limits of a job, for all its processes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub processes: usize,
    /// Resident, of all processes together.
    pub memory: u64,
    pub file_size: u64,
    /// How much less free the disk of the folders may be than at the start.
    pub disk: u64,
    /// CPU seconds of one process.
    pub cpu_seconds: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        const GIB: u64 = 1024 * 1024 * 1024;
        Self { processes: 256, memory: 2 * GIB, file_size: GIB, disk: 4 * GIB, cpu_seconds: 600 }
    }
}

/// The instructions of a child process, as JSON in its arguments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) kind: SandboxKind,
    pub(crate) job: Job,
    /// The process that gave the order; when it is gone, the job ends.
    pub(crate) parent: i32,
    pub(crate) program: Program,
}
