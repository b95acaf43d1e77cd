//! Lists everything in a folder, sorted by name. Links are listed and never followed.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::BackupError;
use crate::folder::Folder;

/// One entry that was found. Paths begin at the folder that is walked.
pub(crate) enum WalkEntry {
    /// A folder, which comes before its entries.
    Folder {
        path: PathBuf,
        handle: Folder,
    },
    File {
        path: PathBuf,
        file: File,
    },
    Link {
        path: PathBuf,
        target: PathBuf,
    },
    /// A socket, a fifo or a device.
    Special {
        path: PathBuf,
    },
    Unreadable {
        path: PathBuf,
        why: io::Error,
    },
}

pub(crate) fn walk(
    root: &Folder,
    is_left_out: &dyn Fn(&Path) -> bool,
    visit: &mut dyn FnMut(WalkEntry) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    walk_in(root, Path::new(""), is_left_out, visit)
}

fn walk_in(
    folder: &Folder,
    at: &Path,
    is_left_out: &dyn Fn(&Path) -> bool,
    visit: &mut dyn FnMut(WalkEntry) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let entries = match folder.entries() {
        Ok(entries) => entries,
        Err(error) => {
            return visit(WalkEntry::Unreadable { path: at.to_owned(), why: error.into() });
        }
    };
    for (name, kind) in entries {
        let path = at.join(&name);
        if is_left_out(&path) {
            continue;
        }
        match look(folder, &name, kind, &path) {
            // The entry was removed or replaced since the folder was read.
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => {}
            Err(error) => visit(WalkEntry::Unreadable { path, why: error.into() })?,
            Ok(WalkEntry::Folder { path, handle }) => {
                let inside =
                    handle.folder(OsStr::new(".")).map_err(BackupError::at_errno(&path))?;
                visit(WalkEntry::Folder { path: path.clone(), handle })?;
                walk_in(&inside, &path, is_left_out, visit)?;
            }
            Ok(found) => visit(found)?,
        }
    }
    Ok(())
}

fn look(folder: &Folder, name: &OsStr, kind: FileType, path: &Path) -> Result<WalkEntry, Errno> {
    let path = path.to_owned();
    Ok(match kind {
        FileType::Directory => WalkEntry::Folder { path, handle: folder.folder(name)? },
        FileType::RegularFile => WalkEntry::File { path, file: folder.file(name)? },
        FileType::Symlink => WalkEntry::Link { path, target: folder.link_target(name)? },
        _ => WalkEntry::Special { path },
    })
}
