//! Finds out whether a person's vault holds a repository. Every turn asks, because git tools are
//! offered only then.

use std::collections::HashMap;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use onyx_types::PersonId;

/// The most folders that are looked through for repositories.
const MOST_FOLDERS: usize = 500;
/// How long folders are not searched again while no entry is added or removed. If another program
/// creates a repository in an existing folder, it is noticed this much later.
const TRUSTED_FOR: Duration = Duration::from_secs(5);
/// A vault that changed this recently may change again without its time showing it, because the
/// coarsest times that file systems keep are two seconds apart. What is found then is not kept.
const SETTLED: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct KnownRepositories(Mutex<HashMap<PersonId, RepositoryLookup>>);

#[derive(Clone, Copy, Debug)]
struct RepositoryLookup {
    at: Instant,
    /// When an entry was last added to or removed from the vault; `None` if that was just now.
    changed: Option<SystemTime>,
    found: bool,
}

impl KnownRepositories {
    /// Whether there is a repository at the top of the vault or in one of its folders.
    pub(super) fn are_in(&self, vault: &Path, person: &PersonId) -> bool {
        let changed = vault.symlink_metadata().and_then(|meta| meta.modified()).ok();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.get(person).filter(|last| last.changed == changed);
        if let Some(last) = last.filter(|last| last.at.elapsed() < TRUSTED_FOR) {
            return last.found;
        }
        let found = look(vault);
        let changed = changed.filter(is_settled);
        known.insert(person.clone(), RepositoryLookup { at: Instant::now(), changed, found });
        found
    }

    /// Forgets the answer, because a command may have created or removed a repository.
    pub(super) fn forget(&self, person: &PersonId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(person);
    }
}

#[allow(clippy::disallowed_methods, reason = "it is compared with a time of the file system")]
fn is_settled(changed: &SystemTime) -> bool {
    SystemTime::now().duration_since(*changed).is_ok_and(|age| age > SETTLED)
}

#[allow(clippy::disallowed_methods, reason = "looks for a fixed name; no model chose the path")]
fn look(vault: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(vault) else { return false };
    // `.git` must be a folder, because a file or link of that name leads elsewhere.
    let is_own = |path: PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let is_one = |folder: &Path| is_own(folder.join(".git"));
    let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut folders = entries.flatten().filter(is_folder);
    is_one(vault) || folders.by_ref().take(MOST_FOLDERS).any(|folder| is_one(&folder.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "another program makes the folders")]
    fn a_repository_is_seen_when_it_comes_with_its_folder_and_after_a_command() {
        let (vault, person) = (tempfile::tempdir().unwrap(), "anna".parse().unwrap());
        let known = KnownRepositories::default();
        std::fs::create_dir(vault.path().join("notes")).unwrap();
        assert!(!known.are_in(vault.path(), &person));
        std::fs::create_dir_all(vault.path().join("code/.git")).unwrap();
        assert!(known.are_in(vault.path(), &person));
        std::fs::remove_dir(vault.path().join("code/.git")).unwrap();
        known.forget(&person);
        assert!(!known.are_in(vault.path(), &person));
    }
}
