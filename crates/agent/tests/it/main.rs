#![allow(clippy::unwrap_used, clippy::expect_used)]

mod compaction;
mod feed;
mod forks;
mod history;
mod prompt;
mod recent;
mod roster;
mod runs;
mod settings;
mod steering;
mod step;
mod step_property;
mod undo;
mod world;
