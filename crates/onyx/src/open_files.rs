//! Raises the number of files that this process may open. Every connection counts as one.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit to the hard limit. The usual soft limit allows only a few hundred streams,
/// each of which needs a file on both sides.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

pub(crate) fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
