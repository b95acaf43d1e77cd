//! The home in a move: what it holds, and the mark that prevents it from being served while it is
//! incomplete.

use std::fs::{DirBuilder, DirEntry, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::Content;
use super::logs::LogName;
use super::{MoveCounts, MoveError};
use crate::{Home, ObjectKey};

/// The folders that are moved. Everything else in a home belongs to this machine or can be made
/// again.
const ROOTS: [&str; 3] = ["agents", "people", "shared"];
/// The name that a file has until it is completely written.
const FRESH: &str = ".onyx-moving";
/// A folder that contains this file is a Git repository.
const REPOSITORY_HEAD: &str = ".git/HEAD";

/// What a home holds, in order.
#[derive(Debug, Default)]
pub(super) struct HomeContents {
    pub(super) logs: Vec<(LogName, PathBuf)>,
    /// The paths of the files, relative to the home.
    pub(super) files: Vec<String>,
    pub(super) left_out: u64,
}

pub(super) fn of_home(root: &Path) -> Result<HomeContents, MoveError> {
    let mut found = HomeContents::default();
    let mut waiting: Vec<PathBuf> = ROOTS.iter().map(|name| root.join(name)).collect();
    while let Some(folder) = waiting.pop() {
        if !folder.is_dir() {
            continue;
        }
        let entries = std::fs::read_dir(&folder).map_err(|error| at(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| at(&folder, &error))?;
            let kind = entry.file_type().map_err(|error| at(&entry.path(), &error))?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                take(root, &entry, &mut found);
            } else {
                found.left_out += 1;
            }
        }
    }
    found.files.sort();
    found.logs.sort();
    Ok(found)
}

fn take(root: &Path, entry: &DirEntry, found: &mut HomeContents) {
    let path = entry.path();
    let name = path.strip_prefix(root).ok().and_then(Path::to_str);
    let Some(name) = name.filter(|name| name.parse::<ObjectKey>().is_ok()) else {
        found.left_out += 1;
        return;
    };
    match LogName::of_path(name) {
        // An empty log is not moved, because it has no conversation.
        Some(_) if entry.metadata().is_ok_and(|meta| meta.len() == 0) => {}
        Some(key) => found.logs.push((key, path)),
        None => found.files.push(name.to_owned()),
    }
}

pub(super) fn mark(home: &Home) -> Result<(), MoveError> {
    let root = home.paths().root();
    let mark = home.paths().moving();
    if mark.exists() {
        return Ok(());
    }
    let found = of_home(root)?;
    let holds_something = home.paths().database().exists()
        || home.paths().config().exists()
        || !found.files.is_empty()
        || !found.logs.is_empty();
    if holds_something {
        return Err(MoveError::NotEmpty("the home"));
    }
    let words = "Onyx is moving in here; run the same `onyx storage move` again to continue.\n";
    std::fs::write(&mark, words).map_err(|error| at(&mark, &error))
}

pub(super) fn unmark(home: &Home) -> Result<(), MoveError> {
    let mark = home.paths().moving();
    std::fs::remove_file(&mark).map_err(|error| at(&mark, &error))
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, MoveError> {
    std::fs::read(path).map_err(|error| at(path, &error))
}

pub(super) fn content(path: &Path) -> Result<Content, MoveError> {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified());
    let modified = modified.map_err(|error| at(path, &error))?;
    Ok(Content { bytes: read(path)?, modified })
}

/// Writes a file, unless it exists already with the same content.
pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    modified: Option<SystemTime>,
    moved: &mut MoveCounts,
) -> Result<(), MoveError> {
    moved.bytes += bytes.len() as u64;
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        moved.already_there += 1;
        return Ok(());
    }
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let make = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    make.map_err(|error| at(&folder, &error))?;
    if path.ends_with(REPOSITORY_HEAD) {
        make_repository_folders(&folder)?;
    }
    let fresh = folder.join(FRESH);
    std::fs::write(&fresh, bytes).map_err(|error| at(&fresh, &error))?;
    let dated = File::options().write(true).open(&fresh).and_then(|file| {
        modified.map_or(Ok(()), |modified| file.set_modified(modified))?;
        file.sync_all()
    });
    dated.map_err(|error| at(&fresh, &error))?;
    std::fs::rename(&fresh, path).map_err(|error| at(path, &error))
}

/// Creates folders without which Git does not recognise a repository. If they were empty, no file
/// in them was moved.
fn make_repository_folders(repository: &Path) -> Result<(), MoveError> {
    for name in ["objects", "refs"] {
        let folder = repository.join(name);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| at(&folder, &error))?;
    }
    Ok(())
}

fn at(path: &Path, error: &std::io::Error) -> MoveError {
    MoveError::File { path: path.display().to_string(), why: error.to_string() }
}
