#![allow(clippy::unwrap_used, clippy::expect_used)]

mod append_once;
mod conformance;
mod embedded;
mod server;
mod support;
