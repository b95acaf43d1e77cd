//! When and where the last backup of a home was made, for `onyx doctor`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use onyx_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::BackupError;
use crate::repository::write_durably;

const FILE: &str = "last-backup.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBackup {
    pub made_at: Timestamp,
    pub to: PathBuf,
    pub snapshot: String,
    pub files: u64,
    pub bytes: u64,
    /// The number of files that could not be read.
    pub unreadable: u64,
}

/// The last backup; `None` if none was made, or its note cannot be read.
pub fn last_backup(home: &Path) -> Result<Option<LastBackup>, BackupError> {
    let path = home.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BackupError::at(&path)(error)),
    }
}

pub(crate) fn note(home: &Path, last: &LastBackup) -> Result<(), BackupError> {
    let (path, fresh) = (home.join(FILE), home.join("last-backup.json.new"));
    let bytes =
        serde_json::to_vec_pretty(last).map_err(|error| BackupError::at(&path)(error.into()))?;
    write_durably(&fresh, &bytes).map_err(BackupError::at(&fresh))?;
    fs::rename(&fresh, &path).map_err(BackupError::at(&path))
}
