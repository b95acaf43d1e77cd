//! A person's files as the index sees them: which are for searches, what each says, and how the
//! chunk table is kept in step with them. Only read here, never written.

pub(crate) mod filing;
pub(crate) mod observe;
pub(crate) mod places;
pub(crate) mod sync;
pub(crate) mod transcript;
pub(crate) mod watch;
