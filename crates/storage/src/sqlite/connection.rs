use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::StoreError;

/// How hard a commit tries to survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Every commit is on the disk when it returns.
    Full,
    /// The last commits may be lost with the power; the file stays whole.
    Normal,
}

/// Opens for writing, making the file (for its owner alone) if needed.
pub(crate) fn open_writer(path: &Path, durability: Durability) -> Result<Connection, StoreError> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(StoreError::Failed(format!("{}: no WAL here, only {mode}", path.display())));
    }
    connection.pragma_update(
        None,
        "synchronous",
        match durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
        },
    )?;
    // A large transaction once must not leave a large file for good.
    connection.pragma_update(None, "journal_size_limit", 8 * 1024 * 1024)?;
    Ok(connection)
}

pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    // Read-write, because the first reader of a WAL may have to make its index; writing is off.
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(path: &Path, mode: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        path,
        mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE,
    )?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    // In KiB; the default is twice this for each of the connections.
    connection.pragma_update(None, "cache_size", -1024)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error() {
            _ if matches!(error, rusqlite::Error::QueryReturnedNoRows) => Self::NotFound,
            Some(cause) if is_full(cause) => Self::Full,
            Some(cause) if is_damage(cause) => Self::Damaged(error.to_string()),
            Some(_) | None => Self::Failed(error.to_string()),
        }
    }
}

/// A full disk shows in the write-ahead log as FULL and in its index file as a failed growth.
fn is_full(cause: &ffi::Error) -> bool {
    cause.code == ErrorCode::DiskFull || cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE
}

fn is_damage(cause: &ffi::Error) -> bool {
    matches!(cause.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
}

pub(crate) fn is_unique_violation(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|cause| cause.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE)
}
