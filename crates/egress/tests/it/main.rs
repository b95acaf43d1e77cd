#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fetching;
mod refused;
mod support;
