use onyx_types::{Hash, PersonId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::person_column;
use super::vectors::table_of;
use crate::sqlite::convert::{
    count, hash, integer, named, parsed, parsed_if_any, timestamp, unreadable,
};
use crate::{
    ChunkCounts, ChunkId, ChunkRow, Contents, Group, GroupId, Message, SourceChange, SourceId,
    SourceKey, SourceRow, Stamp, StoreError, StoredChunk,
};

const SOURCE: &str = "sources.person, path, scope, kind, sources.origin, title, checksum, size,
    modified, chunking, problem, indexed_at, conversation,
    dated";
/// The number of columns in `SOURCE`.
const SOURCE_WIDTH: usize = 14;
const CHUNK: &str = "start_line, end_line, heading, chunks.origin, text, hash, turn, author,
    said_at, position";
const CHUNK_WIDTH: usize = 10;

/// The query for chunks with their sources, in the columns that `stored_chunk` reads.
pub(super) fn select_stored(which: &str) -> String {
    let from = "FROM chunks JOIN sources ON sources.id = chunks.source
                            JOIN groups ON groups.id = grp";
    ["SELECT ", SOURCE, ", ", CHUNK, ", chunks.id ", from, " ", which].concat()
}

macro_rules! sql {
    ($connection:expr, $($part:expr),+) => {
        $connection.prepare_cached(&[$($part),+].concat())
    };
}

pub(super) fn source(
    connection: &Connection,
    key: &SourceKey,
) -> Result<Option<SourceRow>, StoreError> {
    let mut statement = sql!(
        connection,
        "SELECT ",
        SOURCE,
        " FROM sources JOIN groups ON groups.id = grp WHERE sources.person = ?1 AND path = ?2"
    )?;
    let person = person_column(key.person.as_ref());
    Ok(statement.query_row([&person, &key.path], |row| source_row(row, 0)).optional()?)
}

pub(super) fn paths_under(
    connection: &Connection,
    person: &str,
    prefix: &str,
) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT path FROM sources
         WHERE person = ?1 AND path >= ?2 AND path < ?2 || char(1114111) ORDER BY path",
    )?;
    let rows = statement.query_map([person, prefix], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Selects all sources of a person but conversations, which may be far more than files. CROSS JOIN
/// makes SQLite start with the groups.
const FILES_OF_PERSON: &str = " FROM groups CROSS JOIN sources ON grp = groups.id
     WHERE groups.person = ?1 AND kind != 'session'";

pub(super) fn sources(connection: &Connection, person: &str) -> Result<Vec<SourceRow>, StoreError> {
    let mut statement = sql!(connection, "SELECT ", SOURCE, FILES_OF_PERSON)?;
    let rows = statement.query_map([person], |row| source_row(row, 0))?;
    let mut files = rows.collect::<Result<Vec<_>, _>>()?;
    files.sort_unstable_by(|a, b| a.key.path.cmp(&b.key.path));
    Ok(files)
}

pub(super) fn source_ids(
    connection: &Connection,
    person: &str,
) -> Result<Vec<SourceId>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM sources WHERE person = ?1 ORDER BY id")?;
    let rows = statement.query_map([person], |row| Ok(SourceId(count(row, 0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn problems(
    connection: &Connection,
    person: &str,
    limit: u32,
) -> Result<Vec<SourceRow>, StoreError> {
    let mut statement = sql!(
        connection,
        "SELECT ",
        SOURCE,
        " FROM sources JOIN groups ON groups.id = grp
          WHERE sources.person = ?1 AND problem IS NOT NULL ORDER BY path LIMIT ?2"
    )?;
    let rows = statement.query_map(params![person, limit], |row| source_row(row, 0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn counts(
    connection: &Connection,
    person: &str,
    model: Option<&str>,
) -> Result<ChunkCounts, StoreError> {
    let (sources, problems) = connection.query_row(
        "SELECT count(*), count(problem) FROM sources WHERE person = ?1",
        [person],
        |row| Ok((count(row, 0)?, count(row, 1)?)),
    )?;
    let chunks = connection.query_row(
        "SELECT count(*) FROM sources JOIN chunks ON chunks.source = sources.id WHERE person = ?1",
        [person],
        |row| count(row, 0),
    )?;
    let table = match model {
        Some(model) => table_of(connection, model)?,
        None => None,
    };
    let vectors = match table {
        Some(table) => {
            let select = [
                "SELECT count(*)
                 FROM sources JOIN chunks ON chunks.source = sources.id
                              JOIN ",
                table,
                " AS vectors ON vectors.chunk = chunks.id WHERE person = ?1",
            ];
            connection.query_row(&select.concat(), [person], |row| count(row, 0))?
        }
        None => 0,
    };
    Ok(ChunkCounts { sources, chunks, vectors, problems })
}

pub(super) fn chunks(
    connection: &Connection,
    key: &SourceKey,
) -> Result<Vec<ChunkRow>, StoreError> {
    let mut statement = sql!(
        connection,
        "SELECT ",
        CHUNK,
        " FROM chunks JOIN sources ON sources.id = chunks.source
          WHERE person = ?1 AND path = ?2 ORDER BY chunks.id"
    )?;
    let person = person_column(key.person.as_ref());
    let rows = statement.query_map([&person, &key.path], |row| chunk_row(row, 0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn epoch(connection: &Connection) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached("SELECT value FROM epoch")?;
    Ok(statement.query_row([], |row| count(row, 0))?)
}

pub(super) fn changes(
    connection: &Connection,
    after: u64,
    limit: u32,
) -> Result<Vec<SourceChange>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, text_seq, source FROM changes WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let rows = statement.query_map(params![integer(after), limit], |row| {
        Ok(SourceChange {
            seq: count(row, 0)?,
            text_seq: count(row, 1)?,
            source: SourceId(count(row, 2)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn last_change(connection: &Connection) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM changes")?;
    Ok(statement.query_row([], |row| count(row, 0))?)
}

pub(super) fn contents(
    connection: &Connection,
    source: SourceId,
) -> Result<Option<Contents>, StoreError> {
    let found = connection
        .prepare_cached("SELECT grp, title FROM sources WHERE id = ?1")?
        .query_row([integer(source.0)], |row| Ok((GroupId(row.get(0)?), row.get(1)?)))
        .optional()?;
    let Some((group, title)) = found else { return Ok(None) };
    let mut statement = sql!(
        connection,
        "SELECT chunks.id, ",
        CHUNK,
        " FROM chunks WHERE source = ?1 ORDER BY chunks.id"
    )?;
    let rows = statement
        .query_map([integer(source.0)], |row| Ok((ChunkId(count(row, 0)?), chunk_row(row, 1)?)))?;
    Ok(Some(Contents { group, title, chunks: rows.collect::<Result<_, _>>()? }))
}

pub(super) fn groups_after(
    connection: &Connection,
    after: GroupId,
) -> Result<Vec<Group>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT id, person, scope, kind FROM groups WHERE id > ?1 ORDER BY id")?;
    let rows = statement.query_map([after.0], |row| {
        Ok(Group {
            id: GroupId(row.get(0)?),
            person: person_of(row, 1)?,
            scope: json(row, 2)?,
            kind: named(row, 3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn stored(
    connection: &mut Connection,
    chunks: &[ChunkId],
) -> Result<Vec<StoredChunk>, StoreError> {
    // One transaction reads all of them, because otherwise SQLite would lock and unlock the file
    // for every chunk.
    let transaction = connection.transaction()?;
    let mut statement = transaction.prepare_cached(&select_stored("WHERE chunks.id = ?1"))?;
    let mut stored = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        stored.extend(statement.query_row([integer(chunk.0)], stored_chunk).optional()?);
    }
    Ok(stored)
}

pub(super) fn stored_after(
    connection: &Connection,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let which = "WHERE chunks.id > ?1 ORDER BY chunks.id LIMIT ?2";
    let mut statement = connection.prepare_cached(&select_stored(which))?;
    let rows = statement.query_map(params![integer(after.0), limit], stored_chunk)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn marks(
    connection: &Connection,
    prefix: &str,
) -> Result<Vec<(String, String)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT name, value FROM marks WHERE name >= ?1 AND name < ?1 || char(1114111)",
    )?;
    let rows = statement.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn stored_chunk(row: &Row<'_>) -> rusqlite::Result<StoredChunk> {
    Ok(StoredChunk {
        source: source_row(row, 0)?,
        row: chunk_row(row, SOURCE_WIDTH)?,
        id: ChunkId(count(row, SOURCE_WIDTH + CHUNK_WIDTH)?),
    })
}

/// Reads the `person` column; `None` for shared documents.
pub(super) fn person_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<PersonId>> {
    match row.get_ref(column)?.as_str()? {
        "" => Ok(None),
        _ => parsed(row, column).map(Some),
    }
}

fn source_row(row: &Row<'_>, at: usize) -> rusqlite::Result<SourceRow> {
    Ok(SourceRow {
        key: SourceKey { person: person_of(row, at)?, path: row.get(at + 1)? },
        scope: json(row, at + 2)?,
        kind: named(row, at + 3)?,
        origin: named(row, at + 4)?,
        title: row.get(at + 5)?,
        checksum: hash(row, at + 6)?,
        stamp: Stamp { size: count(row, at + 7)?, modified: timestamp(row, at + 8)? },
        chunking: row.get(at + 9)?,
        problem: row.get(at + 10)?,
        indexed_at: timestamp(row, at + 11)?,
        conversation: row.get(at + 12)?,
        dated: row.get::<_, Option<i64>>(at + 13)?.map(Timestamp::from_millis),
    })
}

fn chunk_row(row: &Row<'_>, at: usize) -> rusqlite::Result<ChunkRow> {
    let hash: [u8; 32] = row.get(at + 5)?;
    Ok(ChunkRow {
        start_line: row.get(at)?,
        end_line: row.get(at + 1)?,
        heading: row.get(at + 2)?,
        origin: named(row, at + 3)?,
        text: row.get(at + 4)?,
        hash: Hash::from_bytes(hash),
        message: message(row, at + 6)?,
    })
}

fn message(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Message>> {
    if row.get::<_, Option<i64>>(at + 3)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Message {
        turn: parsed_if_any(row, at)?,
        author: row.get::<_, Option<String>>(at + 1)?.unwrap_or_default(),
        at: row.get::<_, Option<i64>>(at + 2)?.map(Timestamp::from_millis),
        position: count(row, at + 3)?,
    }))
}

fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use onyx_types::{Scope, SystemClock};
    use rusqlite::StatementStatus;

    use super::super::file::IndexFile;
    use super::*;

    fn add(connection: &Connection, group: u32, path: &str) {
        let insert = "INSERT INTO sources
            (grp, person, path, origin, title, checksum, size, modified, chunking, indexed_at)
            VALUES (?1, 'anna', ?2, 'person', '', ?3, 1, 1, '', 1)";
        let checksum = Hash::of(b"").to_string();
        connection.execute(insert, params![group, path, checksum]).unwrap();
    }

    fn steps_to_list(connection: &Connection) -> i32 {
        let mut statement = sql!(connection, "SELECT ", SOURCE, FILES_OF_PERSON).unwrap();
        statement.reset_status(StatementStatus::VmStep);
        assert_eq!(statement.query_map(["anna"], |_| Ok(())).unwrap().count(), 3);
        statement.get_status(StatementStatus::VmStep)
    }

    /// Files are listed at every start and whenever the index looks for changes, so listing must
    /// not read the rows of conversations.
    #[test]
    fn files_are_listed_without_reading_past_conversations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let file = IndexFile { path, clock: Arc::new(SystemClock::new()), open: Mutex::default() };
        let check = |connection: &mut Connection| {
            let insert = "INSERT INTO groups VALUES (?1, 'anna', ?2, ?3)";
            for (id, kind) in [(1, "note"), (2, "session"), (3, "daily")] {
                let scope = serde_json::to_string(&Scope::Person).unwrap();
                connection.execute(insert, params![id, scope, kind])?;
            }
            for (group, path) in [(1, "notes/b"), (3, "daily"), (1, "notes/a")] {
                add(connection, group, path);
            }
            let alone = steps_to_list(connection);
            (0..500).for_each(|n| add(connection, 2, &format!("sessions/{n}")));
            assert!(steps_to_list(connection) <= alone + 10, "{alone} with files alone");
            sources(connection, "anna")
        };
        let files = file.with(&check).unwrap();
        let paths: Vec<_> = files.iter().map(|file| file.key.path.as_str()).collect();
        assert_eq!(paths, ["daily", "notes/a", "notes/b"]);
    }
}
