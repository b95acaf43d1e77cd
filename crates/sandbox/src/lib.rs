//! Runs the commands that agents ask for: no network, no files but the system's programs and the
//! folders given, a clean environment, bounds on time, memory, processes and disk.
//!
//! There are two kinds. *Bubblewrap*: namespaces, and inside them Landlock and seccomp. *Landlock*:
//! Landlock and a seccomp filter that allows no socket. If neither works, no command runs.
//!
//! No command gets the machine's network. A *proxied* command has a network namespace with nothing
//! but a loopback port. The child hands the listening socket of that port to the caller over an
//! inherited descriptor, and the caller serves it with a proxy that decides where each connection
//! leads.
//!
//! Nothing here restricts the process that calls it. A child is this program started again as
//! `supervise`, which starts itself once more as `confine`. That is a fresh process with one
//! thread, which restricts itself and becomes the command; unlike a hook between fork and exec, it
//! may allocate memory and report errors as text. `supervise` stays outside, enforces the bounds
//! that no limit of the kernel enforces, and ends everything when the process above it dies.
//!
//! What may not enter: who may run what (the gate decides that), and what a command means.

mod bubblewrap;
mod child;
mod kind;
mod proxied;
mod running;
mod sandboxed_command;
mod scratch;
mod seccomp;

pub use child::{MayRead, child, hold_for_program, hold_this_process};
pub use kind::{NoSandbox, Program, Sandbox, SandboxKind};
pub use proxied::PROXY_PORT;
pub use running::{Running, SandboxError, trusted};
pub use sandboxed_command::{Bounds, CommandInput, Network, SandboxedCommand};
pub use scratch::{Scratch, real_path};
