//! Reads a person's files for the index: which of them are indexed, what each contains, and how the
//! chunk table is kept up to date with them. Nothing here writes files.

pub(crate) mod changes;
pub(crate) mod indexer;
pub(crate) mod observe;
pub(crate) mod places;
mod reading;
pub(crate) mod transcript;
pub(crate) mod watch;
