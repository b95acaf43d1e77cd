use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{Scope, Timestamp};
use serde::Serialize;
use serde_json::Value;
use tokio_postgres::types::ToSql;

use super::changes::{self, ChangedPart};
use super::person_column;
use super::vectors::share_rooms;
use crate::postgres::convert::{get, integer, shown, shown_if_any};
use crate::postgres::query::{execute, row, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{ChunkRow, SourceKey, SourceKind, SourceRow, Stamp, StoreError};

pub(super) const SET_MARK: &str = "INSERT INTO marks (name, value) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/// Adds to the count in a mark whose value is `period count`.
pub(super) const ADD_TO_MARK: &str = "INSERT INTO marks (name, value)
     VALUES ($1, $2::TEXT || ' ' || $3::BIGINT)
     ON CONFLICT (name) DO UPDATE SET value = CASE
         WHEN starts_with(marks.value, $2::TEXT || ' ')
         THEN $2::TEXT || ' ' || (substr(marks.value, length($2::TEXT) + 2)::BIGINT + $3::BIGINT)
         ELSE excluded.value END
     RETURNING substr(value, length($2::TEXT) + 2)::BIGINT";

pub(super) async fn replace(
    transaction: &Transaction<'_>,
    source: &SourceRow,
    chunks: &[ChunkRow],
) -> Result<(), TransactionError> {
    let id = put_source(transaction, source).await?;
    let known = known_vectors(transaction, chunks).await?;
    execute(transaction, "DELETE FROM chunks WHERE source = $1", &[&id]).await?;
    for chunk in chunks {
        let chunk_id = insert_chunk(transaction, id, chunk).await?;
        let hash = chunk.hash.as_bytes().as_slice();
        for known in known.iter().filter(|known| known.hash == hash) {
            keep_known(transaction, chunk_id, id, known).await?;
        }
    }
    changes::note(transaction, &[id], ChangedPart::Text).await
}

async fn put_source(
    transaction: &Transaction<'_>,
    source: &SourceRow,
) -> Result<i64, TransactionError> {
    let person = person_column(source.key.person.as_ref());
    let group = group(transaction, person, &source.scope, source.kind).await?;
    let put = row(
        transaction,
        "INSERT INTO sources (grp, person, path, origin, title, checksum, size, modified,
                              chunking, problem, indexed_at, conversation, dated)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         ON CONFLICT (person, path) DO UPDATE SET
             grp = excluded.grp, origin = excluded.origin, title = excluded.title,
             checksum = excluded.checksum, size = excluded.size, modified = excluded.modified,
             chunking = excluded.chunking, problem = excluded.problem,
             indexed_at = excluded.indexed_at, conversation = excluded.conversation,
             dated = excluded.dated
         RETURNING id",
        &[
            &group,
            &person,
            &source.key.path,
            &name_of(source.origin)?,
            &shown(&source.title),
            &source.checksum.to_string(),
            &integer(source.stamp.size),
            &source.stamp.modified.as_millis(),
            &source.chunking,
            &shown_if_any(source.problem.as_deref()),
            &source.indexed_at.as_millis(),
            &shown_if_any(source.conversation.as_deref()),
            &source.dated.map(|at| at.as_millis()),
        ],
    )
    .await?;
    Ok(get(&put, 0)?)
}

/// Returns the id of a group. It is looked up before an insert is tried, because even a failed
/// insert would use up an id.
async fn group(
    transaction: &Transaction<'_>,
    person: &str,
    scope: &Scope,
    kind: SourceKind,
) -> Result<i64, TransactionError> {
    let scope = serde_json::to_string(scope)
        .map_err(|error| StoreError::Failed(format!("scope: {error}")))?;
    let select = "SELECT id FROM source_groups WHERE person = $1 AND scope = $2 AND kind = $3";
    let kind = kind.as_str();
    if let Some(found) = row_if_any(transaction, select, &[&person, &scope, &kind]).await? {
        return Ok(get(&found, 0)?);
    }
    let make = "INSERT INTO source_groups (person, scope, kind) VALUES ($1, $2, $3)
                ON CONFLICT (person, scope, kind) DO UPDATE SET kind = excluded.kind
                RETURNING id";
    Ok(get(&row(transaction, make, &[&person, &scope, &kind]).await?, 0)?)
}

/// A stored vector of some model for a text.
struct KnownVector {
    room: i16,
    hash: Vec<u8>,
    vector: Vec<u8>,
    /// The vectors of the chunk's tokens, if there are any.
    tokens: Option<Vec<u8>>,
}

/// Looks up the vectors before anything is deleted, because most chunks of an edited or renamed
/// file still have the same text. The rooms keep their models, so that no vector is written back
/// into a room that was given to another model meanwhile.
async fn known_vectors(
    transaction: &Transaction<'_>,
    chunks: &[ChunkRow],
) -> Result<Vec<KnownVector>, TransactionError> {
    let hashes: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.hash.as_bytes().as_slice()).collect();
    let hashes: [&(dyn ToSql + Sync); 1] = [&hashes];
    let known = rows(
        transaction,
        "SELECT DISTINCT ON (vectors.room, hash) vectors.room, hash, vector, codes
         FROM vectors LEFT JOIN tokens ON tokens.room = vectors.room
                                      AND tokens.chunk = vectors.chunk
         WHERE vectors.room IN (0, 1) AND hash = ANY ($1)
         ORDER BY vectors.room, hash, codes IS NULL",
        &hashes,
    );
    // Both statements travel together, and the second one sees what was committed before the first
    // one had the lock.
    let (shared, found) = tokio::join!(biased; share_rooms(transaction), known);
    shared?;
    let found = found?;
    let mut known = Vec::with_capacity(found.len());
    for row in &found {
        known.push(KnownVector {
            room: get(row, 0)?,
            hash: get(row, 1)?,
            vector: get(row, 2)?,
            tokens: get(row, 3)?,
        });
    }
    Ok(known)
}

async fn keep_known(
    transaction: &Transaction<'_>,
    chunk: i64,
    source: i64,
    known: &KnownVector,
) -> Result<(), TransactionError> {
    let keep = "INSERT INTO vectors (room, chunk, source, hash, vector)
                VALUES ($1, $2, $3, $4, $5)";
    execute(transaction, keep, &[&known.room, &chunk, &source, &known.hash, &known.vector]).await?;
    if let Some(tokens) = &known.tokens {
        let keep = "INSERT INTO tokens (room, chunk, codes) VALUES ($1, $2, $3)";
        execute(transaction, keep, &[&known.room, &chunk, tokens]).await?;
    }
    Ok(())
}

async fn insert_chunk(
    transaction: &Transaction<'_>,
    source: i64,
    chunk: &ChunkRow,
) -> Result<i64, TransactionError> {
    let message = chunk.message.as_ref();
    let inserted = row(
        transaction,
        "INSERT INTO chunks (source, start_line, end_line, heading, origin, text, hash, turn,
                             author, said_at, position)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id",
        &[
            &source,
            &i64::from(chunk.start_line),
            &i64::from(chunk.end_line),
            &shown(&chunk.heading),
            &name_of(chunk.origin)?,
            &shown(&chunk.text),
            &chunk.hash.as_bytes().as_slice(),
            &message.and_then(|message| message.turn).map(|turn| turn.to_string()),
            &message.map(|message| shown(&message.author)),
            &message.and_then(|message| message.at).map(|at| at.as_millis()),
            &message.map(|message| integer(message.position)),
        ],
    )
    .await?;
    Ok(get(&inserted, 0)?)
}

pub(super) async fn touch(
    client: &impl GenericClient,
    key: &SourceKey,
    stamp: Stamp,
    at: Timestamp,
) -> Result<(), StoreError> {
    execute(
        client,
        // Facts without a time of their own were stated when the file was written, so their entities
        // move in the list.
        "WITH touched AS (
             UPDATE sources SET size = $3, modified = $4, indexed_at = $5
             WHERE person = $1 AND path = $2 RETURNING id, dated)
         UPDATE facts SET counted = NULL FROM touched JOIN chunks ON chunks.source = touched.id
         WHERE facts.chunk = chunks.id AND touched.dated IS NULL AND chunks.said_at IS NULL",
        &[
            &person_column(key.person.as_ref()),
            &key.path,
            &integer(stamp.size),
            &stamp.modified.as_millis(),
            &at.as_millis(),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn remove(
    transaction: &Transaction<'_>,
    key: &SourceKey,
) -> Result<(), TransactionError> {
    let remove = "DELETE FROM sources WHERE person = $1 AND path = $2 RETURNING id";
    let person = person_column(key.person.as_ref());
    if let Some(removed) = row_if_any(transaction, remove, &[&person, &key.path]).await? {
        changes::note(transaction, &[get(&removed, 0)?], ChangedPart::Text).await?;
    }
    Ok(())
}

pub(super) async fn remove_under(
    transaction: &Transaction<'_>,
    person: &str,
    prefix: &str,
) -> Result<u64, TransactionError> {
    let removed = rows(
        transaction,
        "DELETE FROM sources WHERE person = $1 AND path >= $2 AND starts_with(path, $2)
         RETURNING id",
        &[&person, &prefix],
    )
    .await?;
    let ids: Vec<i64> = removed.iter().map(|row| get(row, 0)).collect::<Result<_, StoreError>>()?;
    changes::note(transaction, &ids, ChangedPart::Text).await?;
    Ok(ids.len() as u64)
}

fn name_of(value: impl Serialize) -> Result<String, StoreError> {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => Ok(name),
        Ok(_) | Err(_) => Err(StoreError::Failed("a name that is not text".to_owned())),
    }
}
