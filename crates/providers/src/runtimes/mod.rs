//! Other programs of this machine as models: each is a child process that asks a model, while only
//! Onyx executes tools. What may not enter: a tool's execution, a key in an argument, an
//! environment that is passed on whole.

mod account;
mod child;
mod claude;
mod exec;
mod pi;
mod program;
mod subscription;

pub use claude::{ClaudeCli, ClaudeLimits, ClaudeSettings};
pub use exec::{ChildWrapper, exec_child};
pub use pi::{PiLimits, PiSettings, PiSidecar};
pub use program::environment_for_programs;
