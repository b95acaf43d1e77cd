//! Restores a whole home: it is written beside its final place, and moved there at the end.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use onyx_types::Cancel;
use rustix::fs::{FileType, FlockOperation};
use rustix::io::Errno;

use super::Source;
use super::writing::{WriteResult, damaged, write_file};
use crate::aside::FolderAside;
use crate::error::BackupError;
use crate::folder::Folder;
use crate::repository::{Entry, EntryKind, Packs, Purpose, Repository, Snapshot, SnapshotInfo};

const LOCK: &str = "onyx.lock";

/// How a damaged file is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenDamaged {
    /// Nothing is restored.
    Stop,
    /// The other files are restored, and the damaged ones are reported.
    Skip,
}

#[derive(Clone, Copy, Debug)]
pub struct RestoreRequest<'a> {
    pub source: Source<'a>,
    pub home: &'a Path,
    pub when_damaged: WhenDamaged,
    pub stop: &'a Cancel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    pub snapshot: SnapshotInfo,
    pub files: u64,
    pub bytes: u64,
    /// Files that were left out because they are damaged.
    pub damaged: Vec<String>,
}

/// Restores a home where there is none, or only an empty one.
pub fn restore_home(request: &RestoreRequest<'_>) -> Result<RestoreReport, BackupError> {
    let Source { place, snapshot, passphrase } = request.source;
    let repository = Repository::open(place, passphrase, Purpose::Read)?;
    let snapshot = repository.choose(snapshot)?;
    let home = real_place(request.home)?;
    let _lock = refuse_used(&home)?;
    refuse_filled(&home)?;
    let mut packs = repository.packs()?;
    let aside = FolderAside::begin(&home, "restoring")?;
    match write_all(&snapshot, &mut packs, &aside, request) {
        Ok(report) => {
            aside.put_in_place(empty)?;
            Ok(report)
        }
        Err(error) => {
            aside.give_up();
            Err(error)
        }
    }
}

/// The real path of the home. If the home is a link, the link stays and its target is restored.
fn real_place(home: &Path) -> Result<PathBuf, BackupError> {
    match home.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            std::path::absolute(home).map_err(BackupError::at(home))
        }
        Err(error) => Err(BackupError::at(home)(error)),
    }
}

/// Takes the lock of an existing home, so that no server starts meanwhile.
fn refuse_used(home: &Path) -> Result<Option<File>, BackupError> {
    let path = home.join(LOCK);
    let file = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BackupError::at(&path)(error)),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Err(BackupError::Busy { path: home.to_owned() }),
        Err(error) => Err(BackupError::at_errno(&path)(error)),
    }
}

/// Refuses a home that has files. Folders without a file, and the lock, appear when a program looks
/// at a home, and nothing is lost with them.
fn refuse_filled(home: &Path) -> Result<(), BackupError> {
    let folder = match Folder::open(home) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(BackupError::at_errno(home)(error)),
    };
    let filled = is_filled(&folder).map_err(BackupError::at_errno(home))?;
    if filled { Err(BackupError::NotEmpty { path: home.to_owned() }) } else { Ok(()) }
}

fn is_filled(folder: &Folder) -> Result<bool, Errno> {
    for (name, kind) in folder.entries()? {
        if name == LOCK {
            continue;
        }
        if kind != FileType::Directory || is_filled(&folder.folder(&name)?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the lock and the empty folders. If a file was added meanwhile, it stays with its folder.
fn empty(home: &Path) -> Result<(), BackupError> {
    refuse_filled(home)?;
    let Ok(entries) = fs::read_dir(home) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(BackupError::at(home))?.path();
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(BackupError::at(&path))?;
    }
    Ok(())
}

fn write_all(
    snapshot: &Snapshot,
    packs: &mut Packs,
    aside: &FolderAside,
    request: &RestoreRequest<'_>,
) -> Result<RestoreReport, BackupError> {
    let info = snapshot.info.clone();
    let mut report = RestoreReport { snapshot: info, files: 0, bytes: 0, damaged: Vec::new() };
    for entry in &snapshot.entries {
        if request.stop.is_cancelled() {
            return Err(BackupError::Stopped);
        }
        let written = write_entry(entry, packs, aside)?;
        let EntryKind::File(file) = &entry.kind else { continue };
        match (written, request.when_damaged) {
            (WriteResult::Whole, _) => {
                report.files += 1;
                report.bytes += file.size;
            }
            (WriteResult::Damaged, WhenDamaged::Stop) => {
                return Err(damaged(entry.path.as_ref(), &snapshot.info.id));
            }
            (WriteResult::Damaged, WhenDamaged::Skip) => {
                let path = aside.path().join(&entry.path);
                fs::remove_file(&path).map_err(BackupError::at(&path))?;
                report.damaged.push(entry.path.0.display().to_string());
            }
        }
    }
    // The modes of folders are set last, because files cannot be written into a read-only folder.
    for entry in snapshot.entries.iter().rev() {
        if let EntryKind::Folder { mode } = entry.kind {
            let path = aside.path().join(&entry.path);
            let set = fs::set_permissions(&path, Permissions::from_mode(mode & 0o777));
            set.map_err(BackupError::at(&path))?;
        }
    }
    Ok(report)
}

fn write_entry(
    entry: &Entry,
    packs: &mut Packs,
    aside: &FolderAside,
) -> Result<WriteResult, BackupError> {
    let path: &Path = entry.path.as_ref();
    let failed = |error: Errno| BackupError::at_errno(&aside.path().join(path))(error);
    let name = path.file_name().unwrap_or_default();
    let parent = aside.folder().make_parent_of(path).map_err(failed)?;
    match &entry.kind {
        EntryKind::Folder { .. } => {
            parent.make_folder(name).map_err(failed)?;
        }
        EntryKind::Link { target } => {
            parent.make_link(name, target.as_ref()).map_err(failed)?;
        }
        EntryKind::File(file) => {
            let mut out = parent.create(name).map_err(failed)?;
            return write_file(packs, file, &mut out, path);
        }
    }
    Ok(WriteResult::Whole)
}
