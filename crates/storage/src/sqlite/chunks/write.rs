use onyx_types::{Scope, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Transaction, named_params, params};
use serde::Serialize;
use serde_json::Value;

use super::person_column;
use super::read::last_change;
use super::vectors::{VectorRoom, insert_vector, rooms_in_use};
use crate::sqlite::convert::{count, integer};
use crate::{ChunkRow, SourceKey, SourceKind, SourceRow, Stamp, StoreError};

pub(super) fn replace_all(
    connection: &mut Connection,
    sources: &[(SourceRow, Vec<ChunkRow>)],
) -> Result<u64, StoreError> {
    let transaction = connection.transaction()?;
    for (source, chunks) in sources {
        replace(&transaction, source, chunks)?;
    }
    let seq = last_change(&transaction)?;
    transaction.commit()?;
    Ok(seq)
}

fn replace(
    transaction: &Transaction<'_>,
    source: &SourceRow,
    chunks: &[ChunkRow],
) -> Result<(), StoreError> {
    let id = put_source(transaction, source)?;
    let known = known_vectors(transaction, chunks)?;
    transaction.prepare_cached("DELETE FROM chunks WHERE source = ?1")?.execute([id])?;
    let mut inserted = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        inserted.push((insert_chunk(transaction, id, chunk)?, chunk));
    }
    keep_known(transaction, id, &inserted, known)?;
    note_text(transaction, id).map(drop)
}

fn put_source(transaction: &Transaction<'_>, source: &SourceRow) -> Result<i64, StoreError> {
    let person = person_column(source.key.person.as_ref());
    let group = group(transaction, &person, &source.scope, source.kind)?;
    let id = transaction
        .prepare_cached(
            "INSERT INTO sources (grp, person, path, origin, title, checksum, size, modified,
                                  chunking, problem, indexed_at, conversation, dated)
             VALUES (:grp, :person, :path, :origin, :title, :checksum, :size, :modified,
                     :chunking, :problem, :indexed_at, :conversation, :dated)
             ON CONFLICT (person, path) DO UPDATE SET
                 grp = excluded.grp, origin = excluded.origin, title = excluded.title,
                 checksum = excluded.checksum, size = excluded.size, modified = excluded.modified,
                 chunking = excluded.chunking, problem = excluded.problem,
                 indexed_at = excluded.indexed_at, conversation = excluded.conversation,
                 dated = excluded.dated
             RETURNING id",
        )?
        .query_row(
            named_params! {
                ":grp": group,
                ":person": person,
                ":path": source.key.path,
                ":origin": name_of(source.origin)?,
                ":title": source.title,
                ":checksum": source.checksum.to_string(),
                ":size": integer(source.stamp.size),
                ":modified": source.stamp.modified.as_millis(),
                ":chunking": source.chunking,
                ":problem": source.problem,
                ":indexed_at": source.indexed_at.as_millis(),
                ":conversation": source.conversation,
                ":dated": source.dated.map(|at| at.as_millis()),
            },
            |row| row.get(0),
        )?;
    Ok(id)
}

fn group(
    transaction: &Transaction<'_>,
    person: &str,
    scope: &Scope,
    kind: SourceKind,
) -> Result<i64, StoreError> {
    let scope = serde_json::to_string(scope)
        .map_err(|error| StoreError::Failed(format!("scope: {error}")))?;
    let found = transaction
        .prepare_cached("SELECT id FROM groups WHERE person = ?1 AND scope = ?2 AND kind = ?3")?
        .query_row(params![person, scope, kind.as_str()], |row| row.get(0))
        .optional()?;
    match found {
        Some(id) => Ok(id),
        None => Ok(transaction
            .prepare_cached(
                "INSERT INTO groups (person, scope, kind) VALUES (?1, ?2, ?3) RETURNING id",
            )?
            .query_row(params![person, scope, kind.as_str()], |row| row.get(0))?),
    }
}

/// The stored vectors that some chunks had already under one model, in the order of the chunks.
struct KnownVectors {
    room: &'static VectorRoom,
    vectors: Vec<Option<KnownVector>>,
}

struct KnownVector {
    vector: Vec<u8>,
    /// The vectors of the chunk's tokens, if there are any.
    tokens: Option<Vec<u8>>,
}

/// Looks up the vectors before anything is deleted, because most chunks of an edited or renamed
/// file still have the same text.
fn known_vectors(
    transaction: &Transaction<'_>,
    chunks: &[ChunkRow],
) -> Result<Vec<KnownVectors>, StoreError> {
    let mut known = Vec::new();
    for room in rooms_in_use(transaction)? {
        let select = [
            "SELECT vector, codes FROM ",
            room.table,
            " AS known LEFT JOIN ",
            room.tokens,
            " AS tokens ON tokens.chunk = known.chunk WHERE hash = ?1 LIMIT 1",
        ];
        let mut statement = transaction.prepare_cached(&select.concat())?;
        let vectors = chunks.iter().map(|chunk| {
            let known = |row: &rusqlite::Row<'_>| {
                Ok(KnownVector { vector: row.get(0)?, tokens: row.get(1)? })
            };
            statement.query_row([chunk.hash.as_bytes().as_slice()], known).optional()
        });
        known.push(KnownVectors { room, vectors: vectors.collect::<Result<_, _>>()? });
    }
    Ok(known)
}

fn keep_known(
    transaction: &Transaction<'_>,
    source: i64,
    chunks: &[(i64, &ChunkRow)],
    known: Vec<KnownVectors>,
) -> Result<(), StoreError> {
    for KnownVectors { room, vectors } in known {
        for ((chunk, row), known) in chunks.iter().zip(vectors) {
            let Some(KnownVector { vector, tokens }) = known else { continue };
            let hash = row.hash.as_bytes();
            insert_vector(transaction, room.table, *chunk, source, hash, &vector)?;
            if let Some(tokens) = tokens {
                let insert = ["INSERT INTO ", room.tokens, " VALUES (?1, ?2)"].concat();
                transaction.prepare_cached(&insert)?.execute(params![chunk, tokens])?;
            }
        }
    }
    Ok(())
}

fn insert_chunk(
    transaction: &Transaction<'_>,
    source: i64,
    chunk: &ChunkRow,
) -> Result<i64, StoreError> {
    let message = chunk.message.as_ref();
    transaction
        .prepare_cached(
            "INSERT INTO chunks (source, start_line, end_line, heading, origin, text, hash, turn,
                                 author, said_at, position)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            source,
            chunk.start_line,
            chunk.end_line,
            chunk.heading,
            name_of(chunk.origin)?,
            chunk.text,
            chunk.hash.as_bytes().as_slice(),
            message.and_then(|message| message.turn).map(|turn| turn.to_string()),
            message.map(|message| &message.author),
            message.and_then(|message| message.at).map(|at| at.as_millis()),
            message.map(|message| integer(message.position)),
        ])?;
    Ok(transaction.last_insert_rowid())
}

pub(super) fn touch(
    connection: &mut Connection,
    key: &SourceKey,
    stamp: Stamp,
    at: Timestamp,
) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    let person = person_column(key.person.as_ref());
    transaction
        .prepare_cached(
            "UPDATE sources SET size = ?3, modified = ?4, indexed_at = ?5
             WHERE person = ?1 AND path = ?2",
        )?
        .execute(params![
            person,
            key.path,
            integer(stamp.size),
            stamp.modified.as_millis(),
            at.as_millis(),
        ])?;
    // Facts without a time of their own were stated when the file was written, so their entities
    // move in the list.
    transaction
        .prepare_cached(
            "UPDATE facts SET counted = NULL WHERE chunk IN (
                 SELECT chunks.id FROM chunks JOIN sources ON sources.id = chunks.source
                 WHERE person = ?1 AND path = ?2 AND dated IS NULL AND said_at IS NULL)",
        )?
        .execute([&person, &key.path])?;
    Ok(transaction.commit()?)
}

pub(super) fn remove(connection: &mut Connection, key: &SourceKey) -> Result<u64, StoreError> {
    let transaction = connection.transaction()?;
    let id: Option<i64> = transaction
        .prepare_cached("DELETE FROM sources WHERE person = ?1 AND path = ?2 RETURNING id")?
        .query_row([&person_column(key.person.as_ref()), &key.path], |row| row.get(0))
        .optional()?;
    let seq = match id {
        Some(id) => note_text(&transaction, id)?,
        None => last_change(&transaction)?,
    };
    transaction.commit()?;
    Ok(seq)
}

pub(super) fn remove_under(
    connection: &mut Connection,
    person: &str,
    prefix: &str,
) -> Result<u64, StoreError> {
    let transaction = connection.transaction()?;
    let ids: Vec<i64> = transaction
        .prepare_cached(
            "DELETE FROM sources WHERE person = ?1 AND path >= ?2 AND path < ?2 || char(1114111)
             RETURNING id",
        )?
        .query_map([person, prefix], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &ids {
        note_text(&transaction, *id)?;
    }
    transaction.commit()?;
    Ok(ids.len() as u64)
}

pub(super) fn set_marks(
    connection: &mut Connection,
    marks: &[(String, String)],
) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    for (name, value) in marks {
        set_mark(&transaction, name, value)?;
    }
    Ok(transaction.commit()?)
}

pub(super) fn set_mark(connection: &Connection, name: &str, value: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO marks (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute([name, value])?;
    Ok(())
}

/// Adds to the count in a mark whose value is `period count`.
pub(super) fn add_to_mark(
    connection: &mut Connection,
    name: &str,
    period: &str,
    by: u64,
) -> Result<u64, StoreError> {
    let count = connection
        .prepare_cached(
            "INSERT INTO marks (name, value) VALUES (?1, ?2 || ' ' || ?3)
             ON CONFLICT (name) DO UPDATE SET value = CASE
                 WHEN substr(value, 1, length(?2) + 1) = ?2 || ' '
                 THEN ?2 || ' ' || (CAST(substr(value, length(?2) + 2) AS INTEGER) + ?3)
                 ELSE excluded.value END
             RETURNING CAST(substr(value, length(?2) + 2) AS INTEGER)",
        )?
        .query_row(params![name, period, integer(by)], |row| row.get::<_, i64>(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}

fn note_text(transaction: &Transaction<'_>, source: i64) -> Result<u64, StoreError> {
    let seq = note(transaction, source, 0)?;
    transaction
        .prepare_cached("UPDATE changes SET text_seq = seq WHERE seq = ?1")?
        .execute([integer(seq)])?;
    Ok(seq)
}

/// Records that only vectors of the source are new, so the sequence of its text stays as it was.
pub(super) fn note_vectors(transaction: &Transaction<'_>, source: i64) -> Result<u64, StoreError> {
    let text_seq: Option<i64> = transaction
        .prepare_cached("SELECT text_seq FROM changes WHERE source = ?1")?
        .query_row([source], |row| row.get(0))
        .optional()?;
    note(transaction, source, text_seq.unwrap_or_default())
}

fn note(transaction: &Transaction<'_>, source: i64, text_seq: i64) -> Result<u64, StoreError> {
    transaction.prepare_cached("DELETE FROM changes WHERE source = ?1")?.execute([source])?;
    let seq = transaction
        .prepare_cached("INSERT INTO changes (source, text_seq) VALUES (?1, ?2) RETURNING seq")?
        .query_row([source, text_seq], |row| count(row, 0))?;
    Ok(seq)
}

fn name_of(value: impl Serialize) -> Result<String, StoreError> {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => Ok(name),
        Ok(_) | Err(_) => Err(StoreError::Failed("a name that is not text".to_owned())),
    }
}
