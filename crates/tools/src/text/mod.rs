//! Pure functions on text: pages, exact edits, differences, and the two forms of memory.

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
