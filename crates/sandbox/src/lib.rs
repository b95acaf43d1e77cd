//! Runs the commands that agents ask for: no network, no files but the system's programs and the
//! folders given, a clean environment, bounds on time, memory, processes and disk.
//!
//! Two kinds. *Bubblewrap*: namespaces, and inside them Landlock and seccomp. *Landlock*: Landlock
//! and a seccomp filter that allows no socket. Where neither works, no command runs.
//!
//! No job gets the machine's network. A *proxied* one has a namespace with nothing in it but a
//! loopback port, whose listening socket is handed out to the caller over an inherited descriptor:
//! the caller answers it with a proxy that decides where each connection leads.
//!
//! Nothing here restricts the process that calls it. A child is this program started again as
//! `supervise`, which starts itself once more as `confine`: a fresh process with one thread, which
//! may allocate and fail with words where a hook between fork and exec may not, restricts itself
//! and becomes the command. `supervise` stays outside, keeps the bounds that no limit of the
//! kernel keeps, and ends everything when the process above it dies.
//!
//! What may not enter: who may run what (the gate's), what a command means.

mod bubblewrap;
mod child;
mod job;
mod kind;
mod proxied;
mod running;
mod scratch;
mod seccomp;

pub use child::{MayRead, child, hold_this_process};
pub use job::{Bounds, Input, Job, Network};
pub use kind::{NoSandbox, Program, Sandbox, SandboxKind};
pub use proxied::PROXY_PORT;
pub use running::{Running, SandboxError, trusted};
pub use scratch::{Scratch, real_path};
