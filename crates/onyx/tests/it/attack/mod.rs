//! Holes that attacks on the running server found, each closed at the level of the design.

mod chain;
mod deceiving;
mod helpers;
pub(crate) mod members;
mod searching;
