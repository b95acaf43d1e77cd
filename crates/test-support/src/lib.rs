//! What tests and benchmarks of every crate share: a scripted model server on a real socket, a
//! harness around the `onyx` process, stores in memory, a clock that stands still, and waiting
//! without luck.
//!
//! A dev-dependency only. No production crate may depend on it, and no product logic enters: the
//! encoders here are written apart from the decoders in `onyx-providers` so that they can disagree.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods
)]

mod answer;
mod authorization;
pub mod canary;
mod clock;
mod delays;
mod desktop;
mod fuzz;
mod gullible;
mod linkedin;
mod memory;
pub mod networks;
mod occasion;
mod process;
mod programs;
mod script;
mod server;
mod servers;
mod site;
mod tracer;
mod wait;
mod wire;

pub use answer::{Answer, Content, Delivery, Encoding, Fault, LineEnd, Pieces};
pub use authorization::{AuthorizationServer, Decision, Grant};
pub use clock::ManualClock;
pub use delays::{HoldUp, delays};
pub use desktop::Desktop;
pub use fuzz::{Dice, Fuzz, fuzz_time};
pub use gullible::{HEED, ORDER, QUOTE, disguises, is_full_redteam};
pub use linkedin::{LinkedInFault, LinkedInServer};
pub use memory::{LeasePlace, MemoryDisk, Moment, Op, OpenTurnstile, Passing, Turnstile};
pub use occasion::{Begun, Load, Occasion};
pub use process::{
    AgentClient, ChatLines, DEFAULT_KEY, DEFAULT_PASSWORD, DEFAULT_TOKEN, OnyxBuilder, OnyxProcess,
    Reply, SmallDisk, resident_bytes_of,
};
pub use programs::FakeProgram;
pub use script::{
    ErrorKind, Finish, Script, ScriptedCall, ScriptedError, ScriptedUsage, Step, Terminator,
};
pub use server::{RecordedRequest, Recording, Rule, ScriptFile, ScriptedModel};
pub use servers::{MASTER_KEY, ServerPlace, Servers};
pub use site::{Page, Site};
pub use tracer::{Fate, FileChange, Tracer};
pub use wait::{wait_for, wait_until};
pub use wire::{Frame, Frames, Wire};
