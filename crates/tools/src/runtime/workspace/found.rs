//! Reads what a copy of the files holds after all processes of a command have ended.

use std::fs::{DirEntry, Metadata, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use onyx_storage::ObjectKey;
use onyx_types::Hash;

use super::checkout::{Contents, MOST_BYTES, MOST_FILES};
use super::command_changes::is_in_repository;

/// The files that a copy holds.
pub(super) struct CopyContents {
    pub(super) files: Contents,
    /// Entries that the store cannot keep, with the reasons.
    pub(super) left_out: Vec<String>,
}

/// Reads the copy. The outer error is the disk's; the inner one says that the copy holds too much.
#[allow(clippy::disallowed_methods, reason = "a copy of ours; no link of it is followed")]
pub(super) fn look(root: &Path) -> std::io::Result<Result<CopyContents, String>> {
    let mut walk = Walk { root, entries: 0, bytes: 0, files: Vec::new(), left_out: Vec::new() };
    // The command may have removed the rights to the folder itself.
    std::fs::set_permissions(root, Permissions::from_mode(0o700))?;
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            if let Some(inner) = walk.take(&entry?)? {
                folders.push(inner);
            }
            if let Some(too_much) = walk.too_much() {
                return Ok(Err(too_much));
            }
        }
    }
    let mut files = Contents::new();
    for (key, path) in walk.files {
        files.insert(key, Hash::of(&readable(&path, || read(&path))?));
    }
    Ok(Ok(CopyContents { files, left_out: walk.left_out }))
}

/// Reads a file of the copy.
#[allow(clippy::disallowed_methods, reason = "a plain file of our copy; no process changes it")]
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    std::fs::read(path)
}

struct Walk<'a> {
    root: &'a Path,
    entries: usize,
    bytes: u64,
    files: Vec<(ObjectKey, PathBuf)>,
    left_out: Vec<String>,
}

impl Walk<'_> {
    /// Adds a file. If the entry is a folder, returns it to be searched.
    #[allow(
        clippy::disallowed_methods,
        reason = "rights of a folder of our copy, which is no link"
    )]
    fn take(&mut self, entry: &DirEntry) -> std::io::Result<Option<PathBuf>> {
        let (path, meta) = (entry.path(), entry.metadata()?);
        let inside = path.strip_prefix(self.root).unwrap_or(&path);
        self.entries += 1;
        let Some(name) = inside.to_str() else {
            self.left_out.push(format!("{} (its name is not text)", inside.display()));
            return Ok(None);
        };
        if meta.is_dir() {
            // The folder must be readable and removable, whatever rights the command gave it.
            std::fs::set_permissions(&path, Permissions::from_mode(0o700))?;
            return Ok(Some(path));
        }
        if is_left_by_git(name) {
            return Ok(None);
        }
        match (why_not(&meta), name.parse::<ObjectKey>()) {
            (None, Ok(key)) => {
                self.bytes += meta.len();
                self.files.push((key, path));
            }
            (Some(why), _) => self.left_out.push(format!("{name} ({why})")),
            (None, Err(error)) => self.left_out.push(error.to_string()),
        }
        Ok(None)
    }

    fn too_much(&self) -> Option<String> {
        if self.entries > MOST_FILES {
            return Some(format!("more than {MOST_FILES} files and folders"));
        }
        let most = MOST_BYTES >> 20;
        (self.bytes > MOST_BYTES).then(|| format!("more than {most} MiB"))
    }
}

fn why_not(meta: &Metadata) -> Option<&'static str> {
    if meta.is_symlink() {
        return Some("a link");
    }
    (!meta.is_file()).then_some("no plain file")
}

/// Whether this is a lock or half-written object that an interrupted git left.
fn is_left_by_git(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_object = path.split('/').any(|part| part == "objects");
    is_in_repository(path) && (name.ends_with(".lock") || (is_object && name.starts_with("tmp_")))
}

/// Reads an entry and, if the command removed the right to read it, restores that right first.
#[allow(clippy::disallowed_methods, reason = "rights of a file of our copy, which is no link")]
fn readable<T>(path: &Path, look: impl Fn() -> std::io::Result<T>) -> std::io::Result<T> {
    match look() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
            look()
        }
        looked => looked,
    }
}
