//! A person's files as the index sees them: which are for searches, what each says, and how the
//! chunk table is kept in step with them. Files are read here and never written.

pub(crate) mod changes;
pub(crate) mod indexer;
pub(crate) mod observe;
pub(crate) mod places;
mod reading;
pub(crate) mod transcript;
pub(crate) mod watch;
