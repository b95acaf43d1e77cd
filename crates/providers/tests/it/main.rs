//! The wire layer against a scripted server, and its decoders against every cut of an answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value)]

mod cuts;
mod decoding;
mod encoding;
mod faults;
mod registry;
mod retry;
mod secrets;
mod sse;
mod support;
