#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fetching;
mod proxy;
mod refused;
mod support;
