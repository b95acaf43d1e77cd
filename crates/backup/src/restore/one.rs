//! Restores one file into a home that may be in use. Nothing is overwritten.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use onyx_types::Timestamp;
use rustix::fs::{AtFlags, RenameFlags, renameat_with, unlinkat};
use rustix::io::Errno;

use super::Source;
use super::writing::{WriteResult, damaged, write_file};
use crate::error::BackupError;
use crate::folder::Folder;
use crate::repository::{EntryKind, FileEntry, Packs, Purpose, Repository, Snapshot};

/// How many other names are tried if the first is taken.
const MOST_NAMES: usize = 100;
/// The prefix that storage gives to unfinished files, so that they are not listed.
const UNFINISHED: &str = ".onyx-tmp-restored";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredFile {
    pub snapshot: String,
    /// The path of the restored file in the home.
    pub path: PathBuf,
}

/// Restores one file under its own name, or under a similar one if its own is taken.
pub fn restore_file(
    source: Source<'_>,
    home: &Path,
    path: &Path,
) -> Result<RestoredFile, BackupError> {
    let repository = Repository::open(source.place, source.passphrase, Purpose::Read)?;
    let snapshot = repository.choose(source.snapshot)?;
    let mut packs = repository.packs()?;
    let entry = find(&snapshot, path)?;
    let home = Folder::open(home).map_err(BackupError::at_errno(home))?;
    let parent = home.make_parent_of(path).map_err(BackupError::at_errno(path))?;
    let names = names(path, snapshot.info.made_at);
    let placed = FilePlacement { packs: &mut packs, snapshot: &snapshot.info.id, path };
    let name = placed.put(entry, &parent, names)?;
    Ok(RestoredFile { snapshot: snapshot.info.id.clone(), path: path.with_file_name(name) })
}

/// The file's own name, then similar ones.
pub(super) fn names(path: &Path, made_at: Timestamp) -> impl Iterator<Item = OsString> {
    let own = path.file_name().unwrap_or_default().to_owned();
    let beside = {
        let own = own.clone();
        (0..MOST_NAMES).map(move |number| beside(&own, made_at, number))
    };
    std::iter::once(own).chain(beside)
}

pub(super) fn find<'a>(snapshot: &'a Snapshot, path: &Path) -> Result<&'a FileEntry, BackupError> {
    let found = snapshot.entries.iter().find(|entry| entry.path.0 == path);
    match found.map(|entry| &entry.kind) {
        Some(EntryKind::File(file)) => Ok(file),
        Some(EntryKind::Folder { .. } | EntryKind::Link { .. }) => Err(BackupError::Refused(
            format!("{} is a folder or a link; name a file", path.display()),
        )),
        None => Err(BackupError::NotInSnapshot {
            wanted: path.display().to_string(),
            snapshot: snapshot.info.id.clone(),
        }),
    }
}

/// A name such as `note (restored 2026-11-17).md`, with a number if that is taken too.
fn beside(name: &OsStr, made_at: Timestamp, number: usize) -> OsString {
    let path = Path::new(name);
    let mut made = path.file_stem().unwrap_or_default().to_owned();
    let again = if number == 0 { String::new() } else { format!(" {}", number + 1) };
    made.push(format!(" (restored {}{again})", made_at.utc_date()));
    if let Some(extension) = path.extension() {
        made.push(".");
        made.push(extension);
    }
    made
}

/// Writes a file under a hidden name, then renames it to the first free name.
pub(super) struct FilePlacement<'a> {
    pub(super) packs: &'a mut Packs,
    pub(super) snapshot: &'a str,
    pub(super) path: &'a Path,
}

impl FilePlacement<'_> {
    pub(super) fn put(
        self,
        entry: &FileEntry,
        parent: &Folder,
        names: impl Iterator<Item = OsString>,
    ) -> Result<OsString, BackupError> {
        let hidden = OsString::from(format!("{UNFINISHED}-{}", std::process::id()));
        // This removes the file of a killed process that had the same number.
        let _ = unlinkat(parent.as_file(), &hidden, AtFlags::empty());
        let mut file = parent.create(&hidden).map_err(BackupError::at_errno(self.path))?;
        let written = write_file(self.packs, entry, &mut file, self.path);
        let placed = match written {
            Ok(WriteResult::Whole) => {
                file.sync_all().map_err(BackupError::at(self.path))?;
                first_free(parent, &hidden, names, self.path)
            }
            Ok(WriteResult::Damaged) => Err(damaged(self.path, self.snapshot)),
            Err(error) => Err(error),
        };
        if placed.is_err() {
            // The unfinished file is removed; the failure itself is already returned.
            let _ = unlinkat(parent.as_file(), &hidden, AtFlags::empty());
        }
        placed
    }
}

fn first_free(
    parent: &Folder,
    hidden: &OsStr,
    names: impl Iterator<Item = OsString>,
    path: &Path,
) -> Result<OsString, BackupError> {
    for name in names {
        let folder = parent.as_file();
        match renameat_with(folder, hidden, folder, &name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                folder.sync_all().map_err(BackupError::at(path))?;
                return Ok(name);
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(BackupError::at_errno(path)(error)),
        }
    }
    Err(BackupError::Refused(format!("there is no free file name beside {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_the_day_and_a_number() {
        let at: Timestamp = "2026-11-17T08:00:00Z".parse().unwrap();
        assert_eq!(beside(OsStr::new("note.md"), at, 0), "note (restored 2026-11-17).md");
        assert_eq!(beside(OsStr::new("note.md"), at, 1), "note (restored 2026-11-17 2).md");
        assert_eq!(beside(OsStr::new(".env"), at, 0), ".env (restored 2026-11-17)");
    }
}
