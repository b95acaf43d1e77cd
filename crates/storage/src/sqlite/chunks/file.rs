//! The database file of the index. It is opened at its first use, and created again when it is
//! missing or damaged.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use onyx_types::Clock;
use rusqlite::Connection;

use crate::StoreError;
use crate::blocking::lock;
use crate::sqlite::connection::{Durability, migrate, open_writer};

mod migrations {
    refinery::embed_migrations!("migrations/index");
}

#[derive(Debug)]
pub(super) struct IndexFile {
    pub(super) path: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) open: Mutex<Option<OpenIndex>>,
}

#[derive(Debug)]
pub(super) struct OpenIndex {
    connection: Connection,
    inode: u64,
}

impl IndexFile {
    /// Runs work on the index, one caller at a time. Writes to this file do not wait for a sync, so
    /// the wait is short.
    pub(super) fn with<T>(
        &self,
        work: &dyn Fn(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = lock(&self.open);
        match self.current(&mut open).and_then(work) {
            // An index that a newer version wrote is created again too: it is made from files, so
            // nothing is lost.
            Err(why @ (StoreError::Damaged(_) | StoreError::Newer(_))) => {
                tracing::warn!(path = %self.path.display(), %why, "the index is rebuilt");
                *open = None;
                self.remove()?;
                work(self.current(&mut open)?)
            }
            result => result,
        }
    }

    fn current<'a>(
        &self,
        open: &'a mut Option<OpenIndex>,
    ) -> Result<&'a mut Connection, StoreError> {
        let inode = fs::metadata(&self.path).map(|file| file.ino()).ok();
        let index = match open.take() {
            Some(index) if Some(index.inode) == inode => index,
            gone => {
                drop(gone);
                self.create()?
            }
        };
        Ok(&mut open.insert(index).connection)
    }

    fn create(&self) -> Result<OpenIndex, StoreError> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        if !self.path.exists() {
            // A write-ahead log without its database belongs to a file that was deleted, so it is
            // removed first.
            self.remove()?;
        }
        let mut connection = open_writer(&self.path, Durability::Normal)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        migrate(&mut connection, migrations::migrations::runner())?;
        let epoch = self.clock.wall().as_millis();
        connection.execute("INSERT OR IGNORE INTO epoch (id, value) VALUES (0, ?1)", [epoch])?;
        let inode = fs::metadata(&self.path)?.ino();
        Ok(OpenIndex { connection, inode })
    }

    fn remove(&self) -> Result<(), StoreError> {
        for suffix in ["", "-wal", "-shm"] {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use onyx_types::SystemClock;
    use refinery::Target;

    use super::super::{entities, vectors};
    use super::*;
    use crate::{ChunkId, GroupId};

    #[test]
    fn vectors_of_an_older_file_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let mut old = open_writer(&path, Durability::Normal).unwrap();
        migrate(&mut old, migrations::migrations::runner().set_target(Target::Version(3))).unwrap();
        old.execute_batch(
            "INSERT INTO epoch VALUES (0, 5);
             INSERT INTO groups VALUES (1, 'anna', '\"person\"', 'note');
             INSERT INTO sources VALUES (7, 1, 'anna', 'a', 'person', 'A', '', 1, 1, '', NULL, 1);
             INSERT INTO chunks VALUES (9, 7, 1, 1, '', 'person', 'text', x'0102');
             INSERT INTO vectors_0 VALUES (9, x'0000803f');
             INSERT INTO marks VALUES ('vectors 0', 'mini'), ('vectors of', 'mini');",
        )
        .unwrap();
        drop(old);
        let file = IndexFile { path, clock: Arc::new(SystemClock::new()), open: Mutex::default() };
        let kept = file
            .with(&|connection| {
                let by_hash = "SELECT vector FROM vectors_0 WHERE hash = x'0102'";
                let bytes: Vec<u8> = connection.query_row(by_hash, [], |row| row.get(0))?;
                Ok((vectors::after(connection, "mini", ChunkId(0), 9)?, bytes))
            })
            .unwrap();
        assert_eq!((kept.0.len(), kept.0[0].source.0, kept.1.len()), (1, 7, 4));
        assert_eq!((kept.0[0].chunk, kept.0[0].vector.as_slice()), (ChunkId(9), [1.0].as_slice()));
    }

    #[test]
    fn facts_of_an_older_file_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let mut old = open_writer(&path, Durability::Normal).unwrap();
        migrate(&mut old, migrations::migrations::runner().set_target(Target::Version(8))).unwrap();
        old.execute_batch(
            "INSERT INTO epoch VALUES (0, 5);
             INSERT INTO groups VALUES (1, 'anna', '\"person\"', 'note');
             INSERT INTO sources (id, grp, person, path, origin, title, checksum, size, modified,
                                  chunking, indexed_at)
             VALUES (7, 1, 'anna', 'a', 'person', 'A', '', 1, 20, '', 1);
             INSERT INTO chunks (id, source, start_line, end_line, heading, origin, text, hash)
             VALUES (9, 7, 1, 1, '', 'person', 'text', x'0102');
             INSERT INTO facts (chunk, maker, subject_key, subject, relation, object_key, object,
                                is_entity, ends, line, said)
             VALUES (9, 'rules', 'tom', 'Tom', 'lives in', 'bern', 'Bern', 1, 0, 1, ''),
                    (9, 'rules', 'tom', 'Tom', 'phone', '123', '123', 0, 0, 1, '');",
        )
        .unwrap();
        drop(old);
        let file = IndexFile { path, clock: Arc::new(SystemClock::new()), open: Mutex::default() };
        let listed =
            file.with(&|connection| entities::newest(connection, "", &[GroupId(1)], 9)).unwrap();
        let listed: Vec<_> = listed
            .iter()
            .map(|row| (row.name.name.as_str(), row.facts, row.last_said.as_millis()))
            .collect();
        assert_eq!(listed, [("Bern", 1, 20), ("Tom", 2, 20)]);
    }
}
