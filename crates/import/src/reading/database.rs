//! SQLite databases of other programs. Each is copied first, with its write-ahead log, so that the
//! original is not touched and its program may continue to write.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::error::ImportError;

pub(crate) struct Database {
    connection: Connection,
    file: String,
    _copy: TempDir,
}

impl Database {
    pub(crate) fn open(path: &Path, shown: &str) -> Result<Self, ImportError> {
        let folder = tempfile::tempdir().map_err(ImportError::io(path))?;
        let copy = folder.path().join("copy.sqlite");
        fs::copy(path, &copy).map_err(ImportError::io(path))?;
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if Path::new(&log).is_file() {
            fs::copy(&log, folder.path().join("copy.sqlite-wal")).map_err(ImportError::io(path))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = shown.to_owned();
        let opened = Connection::open_with_flags(&copy, flags);
        let connection = opened.map_err(|error| Self::flaw(&file, &error))?;
        let database = Self { connection, file, _copy: folder };
        // Opening a file that is no database fails here, before its content is used.
        database.has_table("sqlite_master")?;
        Ok(database)
    }

    pub(crate) fn has_table(&self, table: &str) -> Result<bool, ImportError> {
        if table == "sqlite_master" {
            return self.rows("SELECT count(*) FROM sqlite_master", |_| Ok(())).map(|_| true);
        }
        let sql = "SELECT name FROM sqlite_master WHERE type = 'table'";
        let names = self.rows(sql, |row| row.get::<_, String>(0))?;
        Ok(names.iter().any(|name| name == table))
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ImportError> {
        let rows = || {
            let mut statement = self.connection.prepare(sql)?;
            statement.query_map([], read)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        rows().map_err(|error| Self::flaw(&self.file, &error))
    }

    /// Whether a table has a column, which depends on the program's version.
    pub(crate) fn has_column(&self, table: &str, column: &str) -> Result<bool, ImportError> {
        let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
        let count = self.connection.query_row(sql, [table, column], |row| row.get::<_, i64>(0));
        count.map(|count| count > 0).map_err(|error| Self::flaw(&self.file, &error))
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    fn flaw(file: &str, error: &rusqlite::Error) -> ImportError {
        ImportError::Database { file: file.to_owned(), why: error.to_string() }
    }
}
