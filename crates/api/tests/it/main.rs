//! The parts of the surface without I/O: encoders with a recorded run, the fold of the history,
//! bodies, problems. Routes are tested through the real binary, in `crates/onyx`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bodies;
mod collect;
mod envelope;
mod foreign_formats;
mod history;
mod ndjson;
mod openapi;
mod personas;
mod problems;
mod recorded;
mod settings;
mod spaces;
mod ws;
