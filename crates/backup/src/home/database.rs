//! The copy of the ledger's database, which is in the home's cache during a backup. It is not in
//! the folder of backups, where nothing may be unencrypted.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use onyx_storage::{ServerCopy, copy_database};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::DATABASE;
use crate::error::BackupError;

/// The copy of the database, removed when dropped. Only one process at a time can have it.
pub(crate) struct DatabaseCopy {
    folder: PathBuf,
    is_there: bool,
    _lock: File,
}

impl DatabaseCopy {
    pub(crate) fn make(home: &Path) -> Result<Self, BackupError> {
        let mut copy = Self::empty(home)?;
        let database = home.join(DATABASE);
        if database.is_file() {
            copy.is_there = true;
            copy_database(&database, &copy.path())?;
        }
        Ok(copy)
    }

    /// Makes a copy of a server's ledgers, in the form of a home's.
    pub(crate) fn of_server(home: &Path, server: &ServerCopy) -> Result<Self, BackupError> {
        let mut copy = Self::empty(home)?;
        copy.is_there = true;
        server.ledger_into(&copy.path())?;
        Ok(copy)
    }

    fn empty(home: &Path) -> Result<Self, BackupError> {
        let folder = home.join("cache/backup");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(BackupError::at(&folder))?;
        let lock = lock(&folder)?;
        let copy = Self { folder, is_there: false, _lock: lock };
        // This removes the copy that a killed backup left.
        copy.remove()?;
        Ok(copy)
    }

    /// The file of the copy; `None` if the home has no database yet.
    pub(crate) fn file(&self) -> Result<Option<File>, BackupError> {
        if !self.is_there {
            return Ok(None);
        }
        let path = self.path();
        File::open(&path).map(Some).map_err(BackupError::at(&path))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(DATABASE)
    }

    fn remove(&self) -> Result<(), BackupError> {
        for name in [DATABASE, "onyx.db-wal", "onyx.db-shm", "onyx.db-journal"] {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(BackupError::at(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        // The copy is in the cache, and the next backup removes leftovers there.
        let _ = self.remove();
    }
}

fn lock(folder: &Path) -> Result<File, BackupError> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true).mode(0o600);
    let file = options.open(&path).map_err(BackupError::at(&path))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(BackupError::Refused(
            "another backup of this home is under way; wait until it is done".to_owned(),
        )),
        Err(error) => Err(BackupError::at_errno(&path)(error)),
    }
}
