use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Program, SandboxKind};

/// A command, and the files and resources that it may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxedCommand {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// The folder in which the command starts: one of the folders below, or a folder in one.
    pub folder: PathBuf,
    /// The folders that the command may read beside the system's.
    pub readable: Vec<PathBuf>,
    /// The folders that the command may change. They exist, and links to them were resolved.
    pub writable: Vec<PathBuf>,
    /// One of `writable`, for temporary files. It is also the command's home.
    pub scratch: PathBuf,
    pub network: Network,
    pub input: CommandInput,
    pub bounds: Bounds,
}

/// The command's standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandInput {
    /// The input with which the command is started; empty if its network is proxied.
    #[default]
    Given,
    /// Input that is written to [`crate::Running::take_input`], also if the network is proxied.
    Written,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    #[default]
    None,
    /// No network of this machine either: a network namespace of its own, in which the command's
    /// caller serves one loopback port ([`crate::PROXY_PORT`], [`crate::Running::take_listener`]).
    /// It requires namespaces.
    Proxied,
}

/// The limits of a command, for all its processes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub processes: usize,
    /// The resident memory of all processes together.
    pub memory: u64,
    pub file_size: u64,
    /// By how much the free space of the folders' disk may shrink.
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
pub(crate) struct ChildInstructions {
    pub(crate) kind: SandboxKind,
    #[serde(rename = "job")]
    pub(crate) sandboxed: SandboxedCommand,
    /// The process that gave the instructions; the command ends when that process is gone.
    pub(crate) parent: i32,
    pub(crate) program: Program,
}
