#![allow(clippy::unwrap_used, clippy::expect_used)]

mod conformance;
mod embedded;
mod server;
mod support;
