//! Tools for attacks: a model that obeys every text it reads, marks that must not leave, random
//! input.

pub mod canary;
mod fuzz;
mod gullible;

pub use fuzz::{Dice, Fuzz, fuzz_time};
pub use gullible::{HEED, ORDER, QUOTE, disguises, is_full_redteam};
