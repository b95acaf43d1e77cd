#![allow(clippy::unwrap_used, clippy::expect_used)]

mod compaction;
mod feed;
mod forks;
mod history;
mod leftovers;
mod prompt;
mod recent;
mod roster;
mod runs;
mod settings;
mod sim;
mod steering;
mod step;
mod step_property;
mod undo;
mod world;
