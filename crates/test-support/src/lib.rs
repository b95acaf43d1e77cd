//! Shared helpers for tests and benchmarks of every crate: a scripted model server on a real socket, a
//! harness around the `onyx` process, stores in memory, a fixed clock, and waiting that does not depend
//! on timing.
//!
//! This crate is a dev-dependency only. No production crate may depend on it, and no product logic
//! enters: the encoders here are written independently of the decoders in `onyx-providers`, so that
//! a mistake shows as a difference.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods
)]

mod attacks;
mod fakes;
mod machine;
mod memory;
mod model;
mod waiting;

pub use attacks::{Dice, Fuzz, HEED, ORDER, QUOTE, canary, disguises, fuzz_time, is_full_redteam};
pub use fakes::{
    AuthorizationServer, Decision, FakeProgram, FaultProxy, Grant, LinkedInFault, LinkedInServer,
    NetworkFault, Page, Site, networks,
};
pub use machine::{
    AgentClient, ChatLines, DEFAULT_KEY, DEFAULT_PASSWORD, DEFAULT_TOKEN, Desktop, Fate,
    FileChange, MASTER_KEY, OLD_TABLES, OnyxBuilder, OnyxProcess, Reply, ServerPlace, Servers,
    SmallDisk, TableContents, Tracer, anonymous_bytes_of, copy_into_old_tables, fill_empty_tables,
    resident_bytes_of,
};
pub use memory::{
    Commit, CommitCounts, LeasePlace, MemoryDisk, Moment, Op, OpenTurnstile, Turnstile,
    TurnstileFuture,
};
pub use model::{
    Answer, Content, Delivery, Encoding, ErrorKind, Fault, Finish, Frame, Frames, LineEnd, Pieces,
    RecordedRequest, Recording, Rule, Script, ScriptFile, ScriptedCall, ScriptedError,
    ScriptedModel, ScriptedUsage, Step, Terminator, Wire,
};
pub use waiting::{Begun, HoldUp, Load, ManualClock, Occasion, delays, wait_for, wait_until};
