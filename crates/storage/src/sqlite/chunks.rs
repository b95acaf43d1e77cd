use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onyx_types::{Clock, Hash, PersonId};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::blocking::{Blocking, lock};
use crate::{ChunkRow, ChunkStore, SourceKey, SourceRow, StoreError};

use super::connection::{Durability, migrate, open_writer};
use super::convert::{count, integer, named, parsed, timestamp, unreadable};

mod migrations {
    refinery::embed_migrations!("migrations/index");
}

/// The derived store in `cache/index.db`. Opened at its first use; made anew when the file is
/// missing or damaged, also while it is in use.
#[derive(Clone, Debug)]
pub(crate) struct SqliteChunks {
    file: Arc<IndexFile>,
    blocking: Blocking,
}

#[derive(Debug)]
struct IndexFile {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    open: Mutex<Option<OpenIndex>>,
}

#[derive(Debug)]
struct OpenIndex {
    connection: Connection,
    inode: u64,
}

impl SqliteChunks {
    pub(crate) fn new(path: &Path, clock: Arc<dyn Clock>, blocking: Blocking) -> Self {
        let file = IndexFile { path: path.to_owned(), clock, open: Mutex::default() };
        Self { file: Arc::new(file), blocking }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let file = Arc::clone(&self.file);
        self.blocking.run(move || file.with(&work)).await
    }
}

impl IndexFile {
    /// One at a time: writing does not wait for a sync here, so nobody waits long.
    fn with<T>(
        &self,
        work: &dyn Fn(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = lock(&self.open);
        match self.current(&mut open).and_then(work) {
            Err(StoreError::Damaged(why)) => {
                tracing::warn!(path = %self.path.display(), why, "the index is damaged: made anew");
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
            // A write-ahead log without its database belongs to a file that is gone.
            self.remove()?;
        }
        let mut connection = open_writer(&self.path, Durability::Normal)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        migrate(&mut connection, &migrations::migrations::runner())?;
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

#[async_trait]
impl ChunkStore for SqliteChunks {
    async fn replace(&self, source: &SourceRow, chunks: &[ChunkRow]) -> Result<u64, StoreError> {
        let (source, chunks) = (source.clone(), chunks.to_vec());
        self.run(move |connection| replace(connection, &source, &chunks)).await
    }

    async fn remove(&self, key: &SourceKey) -> Result<u64, StoreError> {
        let key = key.clone();
        self.run(move |connection| {
            let transaction = connection.transaction()?;
            delete(&transaction, &key)?;
            let seq = note_change(&transaction, &key)?;
            transaction.commit()?;
            Ok(seq)
        })
        .await
    }

    async fn source(&self, key: &SourceKey) -> Result<Option<SourceRow>, StoreError> {
        let key = key.clone();
        self.run(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT person, path, scope, origin, title, checksum, indexed_at FROM sources
                 WHERE person = ?1 AND path = ?2",
            )?;
            Ok(statement.query_row([person_column(&key), &key.path], source_row).optional()?)
        })
        .await
    }

    async fn sources(&self, person: Option<&PersonId>) -> Result<Vec<SourceRow>, StoreError> {
        let person = person.map_or_else(String::new, ToString::to_string);
        self.run(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT person, path, scope, origin, title, checksum, indexed_at FROM sources
                 WHERE person = ?1 ORDER BY path",
            )?;
            let rows = statement.query_map([&person], source_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn chunks(&self, key: &SourceKey) -> Result<Vec<ChunkRow>, StoreError> {
        let key = key.clone();
        self.run(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT start_line, end_line, text, embedding
                 FROM chunks JOIN sources ON sources.id = chunks.source
                 WHERE person = ?1 AND path = ?2 ORDER BY ordinal",
            )?;
            let rows = statement.query_map([person_column(&key), &key.path], chunk_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn epoch(&self) -> Result<u64, StoreError> {
        self.run(|connection| {
            Ok(connection.query_row("SELECT value FROM epoch", [], |row| count(row, 0))?)
        })
        .await
    }

    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<(u64, SourceKey)>, StoreError> {
        self.run(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT seq, person, path FROM changes WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?;
            let rows = statement.query_map(params![integer(after), limit], |row| {
                Ok((count(row, 0)?, source_key(row, 1)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }
}

fn replace(
    connection: &mut Connection,
    source: &SourceRow,
    chunks: &[ChunkRow],
) -> Result<u64, StoreError> {
    let transaction = connection.transaction()?;
    delete(&transaction, &source.key)?;
    insert(&transaction, source, chunks)?;
    let seq = note_change(&transaction, &source.key)?;
    transaction.commit()?;
    Ok(seq)
}

fn insert(
    connection: &Connection,
    source: &SourceRow,
    chunks: &[ChunkRow],
) -> Result<(), StoreError> {
    let scope = serde_json::to_string(&source.scope)
        .map_err(|error| StoreError::Failed(error.to_string()))?;
    let origin = serde_json::to_value(source.origin)
        .map_err(|error| StoreError::Failed(error.to_string()))?;
    connection
        .prepare_cached(
            "INSERT INTO sources (person, path, scope, origin, title, checksum, indexed_at)
             VALUES (:person, :path, :scope, :origin, :title, :checksum, :indexed_at)",
        )?
        .execute(named_params! {
            ":person": person_column(&source.key),
            ":path": source.key.path,
            ":scope": scope,
            ":origin": origin.as_str(),
            ":title": source.title,
            ":checksum": source.checksum.to_string(),
            ":indexed_at": source.indexed_at.as_millis(),
        })?;
    let id = connection.last_insert_rowid();
    let mut statement = connection.prepare_cached(
        "INSERT INTO chunks (source, ordinal, start_line, end_line, text, embedding)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (ordinal, chunk) in (0_i64..).zip(chunks) {
        let embedding = chunk.embedding.as_deref().map(to_bytes);
        let (start, end) = (chunk.start_line, chunk.end_line);
        statement.execute(params![id, ordinal, start, end, chunk.text, embedding])?;
    }
    Ok(())
}

fn delete(connection: &Connection, key: &SourceKey) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM sources WHERE person = ?1 AND path = ?2")?
        .execute([person_column(key), &key.path])?;
    Ok(())
}

fn note_change(connection: &Connection, key: &SourceKey) -> Result<u64, StoreError> {
    connection
        .prepare_cached("DELETE FROM changes WHERE person = ?1 AND path = ?2")?
        .execute([person_column(key), &key.path])?;
    let seq = connection
        .prepare_cached("INSERT INTO changes (person, path) VALUES (?1, ?2) RETURNING seq")?
        .query_row([person_column(key), &key.path], |row| count(row, 0))?;
    Ok(seq)
}

fn person_column(key: &SourceKey) -> &str {
    key.person.as_ref().map_or("", PersonId::as_str)
}

fn source_key(row: &Row<'_>, column: usize) -> rusqlite::Result<SourceKey> {
    let person = match row.get_ref(column)?.as_str()? {
        "" => None,
        _ => Some(parsed(row, column)?),
    };
    Ok(SourceKey { person, path: row.get(column + 1)? })
}

fn source_row(row: &Row<'_>) -> rusqlite::Result<SourceRow> {
    let scope = serde_json::from_str(row.get_ref(2)?.as_str()?);
    let checksum = row.get_ref(5)?.as_str()?;
    Ok(SourceRow {
        key: source_key(row, 0)?,
        scope: scope.map_err(|error| unreadable(2, error))?,
        origin: named(row, 3)?,
        title: row.get(4)?,
        checksum: Hash::from_hex(checksum).ok_or_else(|| unreadable(5, std::fmt::Error))?,
        indexed_at: timestamp(row, 6)?,
    })
}

fn chunk_row(row: &Row<'_>) -> rusqlite::Result<ChunkRow> {
    let embedding: Option<Vec<u8>> = row.get(3)?;
    Ok(ChunkRow {
        start_line: row.get(0)?,
        end_line: row.get(1)?,
        text: row.get(2)?,
        embedding: embedding.map(|bytes| from_bytes(&bytes)),
    })
}

fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}
