#![allow(clippy::unwrap_used, clippy::expect_used)]

mod history;
mod prompt;
mod step;
mod step_property;
