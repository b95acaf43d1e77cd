#![allow(clippy::unwrap_used, clippy::expect_used)]

mod grants;
mod ids;
mod turns;
mod visible;
