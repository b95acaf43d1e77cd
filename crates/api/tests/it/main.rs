//! The surface's pure parts: encoders against a recorded run, the history fold, bodies, problems.
//! Routes are tested through the real binary, in `crates/onyx`.

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
