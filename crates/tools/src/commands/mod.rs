//! Judges commands before they run: which programs run no other program, and which commands a
//! standing rule allows without asking. Nothing here looks at a file or starts a process.

mod known;
mod rule;

pub(crate) use known::{ProgramReach, runs};
pub(crate) use rule::CommandRule;
