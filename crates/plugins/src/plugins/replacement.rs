//! How a plugin's folder is replaced by a new version, so that a crash at any moment leaves one
//! whole version under the plugin's name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// The start of the name that the old version has while it is replaced in two steps. The name is
/// hidden, so that the folder is not taken for a plugin.
const OLD: &str = ".old-";

/// Replaces the folder at `place` by `new`, which lies beside it, and removes the old version.
pub(super) fn replace(new: &Path, place: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE) {
        // The two folders have exchanged their names, so the old version is under the name of the
        // new one. If a crash comes first, the next installation removes it.
        Ok(()) => remove_folder(new),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            tracing::info!(
                "The file system of the plugins cannot exchange two folders in one step. The plugin \
                 is replaced in two steps; after a crash between them, the next start restores it."
            );
            replace_in_two_steps(new, place)
        }
        Err(error) => Err(error.into()),
    }
}

/// Moves the old version aside and the new one to its place.
fn replace_in_two_steps(new: &Path, place: &Path) -> io::Result<()> {
    let old = beside(place)?;
    remove_folder(&old)?;
    fs::rename(place, &old)?;
    if let Err(error) = fs::rename(new, place) {
        fs::rename(&old, place)?;
        return Err(error);
    }
    remove_folder(&old)
}

/// Moves old versions back whose replacement was interrupted before the new version was in place.
pub(super) fn restore_interrupted(root: &Path) {
    // A home without plugins has no such folder.
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries {
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str().and_then(|name| name.strip_prefix(OLD)) else {
            continue;
        };
        let place = root.join(name);
        if place.exists() {
            continue;
        }
        if let Err(error) = fs::rename(entry.path(), &place) {
            tracing::warn!(plugin = name, %error, "an interrupted replacement was not restored");
        }
    }
}

pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}

fn beside(place: &Path) -> io::Result<PathBuf> {
    let name = place.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(place.with_file_name(format!("{OLD}{name}")))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_plugin_is_there_at_every_moment_while_it_is_replaced() {
        let root = TempDir::new().unwrap();
        let (place, new) = (root.path().join("careful"), root.path().join(".new-careful"));
        version(&place, "version 0");
        let (has_ended, was_away) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !has_ended.load(Ordering::Acquire) {
                    if !place.exists() {
                        was_away.store(true, Ordering::Release);
                    }
                }
            });
            let replaced = (1..=200).try_for_each(|round| {
                version(&new, &format!("version {round}"));
                replace(&new, &place)
            });
            // The other thread must end before a failure is reported.
            has_ended.store(true, Ordering::Release);
            replaced.unwrap();
        });
        assert!(!was_away.load(Ordering::Acquire));
        assert_eq!(version_of(&place), "version 200");
        assert!(!new.exists() && !beside(&place).unwrap().exists());
    }

    #[test]
    fn a_replacement_in_two_steps_ends_with_the_new_version_alone() {
        let root = TempDir::new().unwrap();
        let (place, new) = (root.path().join("careful"), root.path().join(".new-careful"));
        version(&place, "old");
        version(&new, "new");
        replace_in_two_steps(&new, &place).unwrap();
        assert_eq!(version_of(&place), "new");
        assert!(!new.exists() && !beside(&place).unwrap().exists());
    }

    #[test]
    fn a_replacement_that_fails_between_its_two_steps_leaves_the_old_version() {
        let root = TempDir::new().unwrap();
        let (place, missing) = (root.path().join("careful"), root.path().join(".new-careful"));
        version(&place, "old");
        let error = replace_in_two_steps(&missing, &place).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(version_of(&place), "old");
    }

    #[test]
    fn a_start_after_a_crash_between_the_two_steps_restores_the_old_version() {
        let root = TempDir::new().unwrap();
        let (place, new) = (root.path().join("careful"), root.path().join(".new-careful"));
        version(&place, "old");
        version(&new, "new");
        // This is all that a crash after the first step leaves.
        fs::rename(&place, beside(&place).unwrap()).unwrap();
        restore_interrupted(root.path());
        assert_eq!(version_of(&place), "old");
        // After a crash at the very end, the new version is in place and stays.
        version(&beside(&place).unwrap(), "older");
        restore_interrupted(root.path());
        assert_eq!(version_of(&place), "old");
    }

    fn version(folder: &Path, text: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("plugin.json"), text).unwrap();
    }

    fn version_of(folder: &Path) -> String {
        fs::read_to_string(folder.join("plugin.json")).unwrap()
    }
}
