//! A folder that is written beside its final place and moved there when complete, so that other
//! programs see all of it or nothing.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::BackupError;
use crate::folder::Folder;
use crate::repository::sync;

#[derive(Debug)]
pub(crate) struct FolderAside {
    aside: PathBuf,
    place: PathBuf,
    folder: Folder,
}

impl FolderAside {
    /// Begins a folder, after removing one that a killed process left.
    pub(crate) fn begin(place: &Path, mark: &str) -> Result<Self, BackupError> {
        let (parent, name) = parts(place)?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(BackupError::at(parent))?;
        refuse_mount(place, parent)?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{mark}"));
        let aside = parent.join(hidden);
        if aside.symlink_metadata().is_ok() {
            // The lock on the folder is held while it is removed, because another process may be
            // writing it.
            let _held = held(&aside)?;
            fs::remove_dir_all(&aside).map_err(BackupError::at(&aside))?;
        }
        DirBuilder::new().mode(0o700).create(&aside).map_err(BackupError::at(&aside))?;
        let folder = held(&aside)?;
        Ok(Self { aside, place: place.to_owned(), folder })
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.aside
    }

    /// Moves the folder to its place, after everything in it is on the disk. `clear` empties the
    /// place first.
    pub(crate) fn put_in_place(
        self,
        clear: impl FnOnce(&Path) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        rustix::fs::syncfs(self.folder.as_file()).map_err(BackupError::at_errno(&self.aside))?;
        clear(&self.place)?;
        fs::rename(&self.aside, &self.place).map_err(|error| match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
                BackupError::NotEmpty { path: self.place.clone() }
            }
            _ => BackupError::at(&self.place)(error),
        })?;
        sync(parts(&self.place)?.0)
    }

    /// Removes the folder.
    pub(crate) fn give_up(self) {
        // A folder that cannot be removed is hidden, and the next backup removes it.
        let _ = fs::remove_dir_all(&self.aside);
    }
}

fn parts(place: &Path) -> Result<(&Path, &std::ffi::OsStr), BackupError> {
    let parts = place.parent().zip(place.file_name());
    parts.ok_or_else(|| BackupError::at(place)(io::ErrorKind::InvalidInput.into()))
}

fn held(path: &Path) -> Result<Folder, BackupError> {
    let folder = Folder::open(path).map_err(BackupError::at_errno(path))?;
    match rustix::fs::flock(folder.as_file(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(folder),
        Err(Errno::WOULDBLOCK) => Err(BackupError::Busy { path: path.to_owned() }),
        Err(error) => Err(BackupError::at_errno(path)(error)),
    }
}

/// Refuses a mounted folder, because it cannot be replaced by another one.
fn refuse_mount(place: &Path, parent: &Path) -> Result<(), BackupError> {
    let device = |path: &Path| -> io::Result<u64> { Ok(File::open(path)?.metadata()?.dev()) };
    let (Ok(of_place), Ok(of_parent)) = (device(place), device(parent)) else { return Ok(()) };
    if of_place == of_parent {
        return Ok(());
    }
    Err(BackupError::Refused(format!(
        "{} is a mounted disk, which cannot be replaced as a whole; name a folder on it instead",
        place.display()
    )))
}
