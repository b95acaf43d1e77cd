//! Pure work on text: pages of it, exact edits, differences, and the two shapes of memory.

pub(crate) mod argv;
pub(crate) mod daily;
pub(crate) mod diff;
mod document;
pub(crate) mod edit;
pub(crate) mod front_matter;
mod one_line;
pub(crate) mod page;
pub(crate) mod section;

pub(crate) use one_line::one_line;
