//! How many files the system lets this process have open. Every connection is one.

use rustix::process::{Resource, getrlimit, setrlimit};

/// As many as the system allows without asking: the usual soft limit is good for a few hundred
/// streams, and each needs a file on both sides.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if onyx_types::off("rlimit") {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

pub(crate) fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
