use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use refinery::error::Kind;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::StoreError;

/// Whether a commit waits until it would survive a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Every commit is on the disk when it returns.
    Full,
    /// A loss of power may undo the last commits, but the file stays consistent.
    Normal,
}

/// The writer's cache in KiB. It is small, because nearly all writes go to the end of the tables.
const WRITER_CACHE: u32 = 512;
/// The readers' cache in KiB. It is small, because every commit invalidates it.
const READER_CACHE: u32 = 128;

/// Opens a database for writing. If there is no file, it is created with access for its owner
/// alone.
pub(crate) fn open_writer(path: &Path, durability: Durability) -> Result<Connection, StoreError> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, WRITER_CACHE)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(StoreError::Failed(format!("{}: no WAL here, only {mode}", path.display())));
    }
    set_durability(&connection, durability)?;
    // Without a limit, one large transaction would leave a large file for good.
    connection.pragma_update(None, "journal_size_limit", 8 * 1024 * 1024)?;
    Ok(connection)
}

/// Sets the durability of later commits. It cannot be set within a transaction.
pub(super) fn set_durability(
    connection: &Connection,
    durability: Durability,
) -> Result<(), StoreError> {
    let level = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    Ok(connection.pragma_update(None, "synchronous", level)?)
}

pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    // The connection is read-write, because the first reader of a WAL may have to create its index.
    // Writing is switched off.
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, READER_CACHE)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(path: &Path, mode: OpenFlags, cache: u32) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        path,
        mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE,
    )?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update(None, "cache_size", -i64::from(cache))?;
    connection.set_prepared_statement_cache_capacity(64);
    // Without this setting, SQLite compiles some statements again whenever another value is bound
    // to them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Brings the tables up to date in one transaction, so a process that is killed meanwhile leaves
/// them as they were. Tables that this version did not make and cannot change are as unusable as
/// damaged ones.
pub(crate) fn migrate(
    connection: &mut Connection,
    migrations: refinery::Runner,
) -> Result<refinery::Report, StoreError> {
    // Grouping puts the change of the tables and the record of it into one transaction instead of
    // two.
    let migrations = &migrations.set_grouped(true);
    migrations.run(connection).map_err(|error| match error.kind() {
        Kind::Connection(_, cause) => match cause.downcast_ref::<rusqlite::Error>() {
            Some(cause) => classify(cause),
            None => StoreError::Failed(error.to_string()),
        },
        Kind::MissingVersion(unknown) if is_after(migrations, unknown) => {
            StoreError::Newer("the database".to_owned())
        }
        Kind::MissingVersion(_) | Kind::DivergentVersion(..) => {
            StoreError::Damaged(format!("its tables are those of another version of Onyx: {error}"))
        }
        _ => StoreError::Failed(error.to_string()),
    })
}

fn is_after(migrations: &refinery::Runner, applied: &refinery::Migration) -> bool {
    migrations.get_migrations().iter().all(|known| known.version() < applied.version())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        classify(&error)
    }
}

fn classify(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error() {
        Some(cause) if is_full(cause) => StoreError::Full,
        Some(cause) if is_damage(cause) => StoreError::Damaged(error.to_string()),
        Some(_) | None => StoreError::Failed(error.to_string()),
    }
}

/// Whether an error means that the disk is full. In the write-ahead log this appears as FULL, in
/// its index file as a failed growth.
fn is_full(cause: &ffi::Error) -> bool {
    cause.code == ErrorCode::DiskFull || cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE
}

fn is_damage(cause: &ffi::Error) -> bool {
    matches!(cause.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
}

pub(crate) fn is_unique_violation(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|cause| cause.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let connection = open_writer(&folder.path().join("test.db"), Durability::Full).unwrap();
        connection.execute_batch("CREATE TABLE notes (text TEXT UNIQUE)").unwrap();
        (folder, connection)
    }

    #[test]
    fn tables_are_brought_up_to_date_all_or_none() {
        let (_folder, mut connection) = database();
        let make =
            |name: &str| refinery::Migration::unapplied(name, "CREATE TABLE one (n)").unwrap();
        let broken = refinery::Runner::new(&[make("V1__first"), make("V2__again")]);
        assert!(migrate(&mut connection, broken).is_err());
        let made = "SELECT count(*) FROM sqlite_master WHERE name = 'one'";
        assert_eq!(connection.query_row(made, [], |row| row.get::<_, i64>(0)), Ok(0));
    }

    #[test]
    fn a_full_disk_is_told_by_its_result_code() {
        let (_folder, connection) = database();
        // A bound on pages makes the database report that it is full.
        connection.pragma_update(None, "max_page_count", 4).unwrap();
        let insert = connection.execute("INSERT INTO notes VALUES (?1)", ["x".repeat(100_000)]);
        assert!(matches!(insert.map_err(StoreError::from), Err(StoreError::Full)));
    }

    #[test]
    fn a_file_that_is_no_database_is_told_by_its_result_code() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        std::fs::write(&path, "a letter, not a database; long enough to hold a header".repeat(9))
            .unwrap();
        let opened = open_writer(&path, Durability::Full);
        assert!(matches!(opened, Err(StoreError::Damaged(_))), "{opened:?}");
    }

    #[test]
    fn a_violated_rule_of_uniqueness_is_told_from_others() {
        let (_folder, connection) = database();
        connection.execute("INSERT INTO notes VALUES ('one')", []).unwrap();
        let again = connection.execute("INSERT INTO notes VALUES ('one')", []).unwrap_err();
        assert!(is_unique_violation(&again));
        let unknown = connection.execute("INSERT INTO nowhere VALUES (1)", []).unwrap_err();
        assert!(!is_unique_violation(&unknown));
    }

    #[test]
    fn commits_are_synced_as_asked() {
        let (folder, full) = database();
        let level = |connection: &Connection| -> i64 {
            connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
        };
        let normal = open_writer(&folder.path().join("index.db"), Durability::Normal).unwrap();
        assert_eq!((level(&full), level(&normal)), (2, 1));
    }
}
