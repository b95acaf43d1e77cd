//! Which files of a home are backed up, and how they are read while a server works on it: the
//! ledger's database as a copy of one moment, logs up to their last complete line, other files in a
//! state between two changes. Only the copy of the database in the cache is written.

mod database;
mod reading;
mod walk;

use std::path::{Component, Path};

pub(crate) use database::DatabaseCopy;
pub(crate) use reading::{Extent, Failed, kept_mode, read_file, seen};
pub(crate) use walk::{WalkEntry, walk};

pub(crate) const DATABASE: &str = "onyx.db";

/// The entries at the top of a home that no backup contains, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("cache", "derived; rebuilt if it is missing"),
    ("models", "weights; `onyx models pull` downloads them again"),
    ("onyx.lock", "of the running server"),
    ("onyx.sock", "of the running server"),
    ("onyx.sock.key", "of the running server"),
    ("onyx.db-wal", "in the copy of onyx.db"),
    ("onyx.db-shm", "in the copy of onyx.db"),
    ("onyx.db-journal", "in the copy of onyx.db"),
];

/// The prefix of unfinished files that a killed process left.
const UNFINISHED: &str = ".onyx-tmp-";

pub(crate) fn is_left_out(path: &Path) -> bool {
    let mut parts = path.components();
    let (first, rest) = (parts.next(), parts.next());
    let at_top = |name: &str| rest.is_none() && first == Some(Component::Normal(name.as_ref()));
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    LEFT_OUT.iter().any(|(name, _)| at_top(name))
        || at_top(DATABASE)
        || name.starts_with(UNFINISHED.as_bytes())
}

/// Whether the path is a conversation's log, to which whole lines are appended while it is read.
pub(crate) fn is_log(path: &Path) -> bool {
    let parts: Vec<_> = path.components().map(Component::as_os_str).collect();
    let is_of_person = matches!(parts.as_slice(), [people, _, sessions, _, ..]
        if *people == "people" && *sessions == "sessions");
    is_of_person && path.extension().is_some_and(|extension| extension == "jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_had_again_or_is_of_the_server_is_left_out_and_only_at_the_top() {
        for out in ["cache", "models", "onyx.sock", "onyx.sock.key", "onyx.lock", "onyx.db"] {
            assert!(is_left_out(Path::new(out)), "{out}");
        }
        assert!(is_left_out(Path::new("people/anna/vault/.onyx-tmp-1")));
        for kept in ["models.json", "onyx.json", "people/anna/vault/cache", "shared/onyx.db"] {
            assert!(!is_left_out(Path::new(kept)), "{kept}");
        }
    }

    #[test]
    fn logs_are_those_of_sessions() {
        assert!(is_log(Path::new("people/anna/sessions/main/1.jsonl")));
        assert!(!is_log(Path::new("people/anna/sessions/main/1.json")));
        assert!(!is_log(Path::new("people/anna/vault/data.jsonl")));
    }
}
