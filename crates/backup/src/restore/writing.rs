//! Writes one file of a snapshot.

use std::fs::{File, FileTimes, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::error::BackupError;
use crate::repository::{FileEntry, Packs};

/// Whether a file was restored as it was backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteResult {
    Whole,
    /// A chunk is missing or damaged.
    Damaged,
}

/// Writes content, mode and time of modification. If the content is damaged, the rest is not
/// written.
pub(super) fn write_file(
    packs: &mut Packs,
    entry: &FileEntry,
    file: &mut File,
    path: &Path,
) -> Result<WriteResult, BackupError> {
    let mut size = 0;
    for name in &entry.chunks {
        let Some(content) = packs.read(name)? else { return Ok(WriteResult::Damaged) };
        size += content.len() as u64;
        file.write_all(&content).map_err(BackupError::at(path))?;
    }
    if size != entry.size {
        return Ok(WriteResult::Damaged);
    }
    finish(entry, file).map_err(BackupError::at(path))?;
    Ok(WriteResult::Whole)
}

fn finish(entry: &FileEntry, file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(entry.mode & 0o777))?;
    match modified(entry) {
        Some(modified) => file.set_times(FileTimes::new().set_modified(modified)),
        None => Ok(()),
    }
}

/// The time of the last modification, if this machine's clock can represent it.
pub(super) fn modified(entry: &FileEntry) -> Option<SystemTime> {
    let distance = Duration::from_nanos(entry.modified.unsigned_abs());
    if entry.modified < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    }
}

/// The whole content of a file that fits into memory.
pub(super) fn content(
    packs: &mut Packs,
    entry: &FileEntry,
    path: &Path,
    snapshot: &str,
) -> Result<Vec<u8>, BackupError> {
    let mut content = Vec::new();
    for name in &entry.chunks {
        let chunk = packs.read(name)?.ok_or_else(|| damaged(path, snapshot))?;
        content.extend_from_slice(&chunk);
    }
    if content.len() as u64 != entry.size {
        return Err(damaged(path, snapshot));
    }
    Ok(content)
}

pub(super) fn damaged(path: &Path, snapshot: &str) -> BackupError {
    BackupError::Damaged(format!("{} of snapshot {snapshot} is damaged", path.display()))
}
