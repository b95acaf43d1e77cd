//! Writes the few files that belong to the binary itself: completely or not at all, readable only by the owner.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    New,
    /// The file already existed and was not changed.
    Kept,
}

/// Creates a folder that only its owner may enter; an existing one is not changed.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create the folder {}", path.display()))
}

/// Writes a file that only its owner may read, unless it already exists.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<WriteOutcome> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(WriteOutcome::Kept),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot write {}", path.display()));
        }
    };
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(WriteOutcome::New)
}

/// Removes the rights of all other users from a file, if it exists.
pub(crate) fn only_owner(path: &Path) -> Result<()> {
    match fs::set_permissions(path, Permissions::from_mode(0o600)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.with_context(|| format!("cannot protect {}", path.display())),
    }
}

/// Replaces a file in one step, so that even after a crash it has the old or the new text. A link to the
/// file stays a link.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        found => found?,
    };
    let mode = fs::metadata(&path).map_or(0o600, |known| known.permissions().mode() & 0o777);
    let mut fresh = path.clone().into_os_string();
    fresh.push(".new");
    let options = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).to_owned();
    let mut file = options.open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, &path)?;
    match path.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
