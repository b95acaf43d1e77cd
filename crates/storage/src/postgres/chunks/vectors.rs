//! Vectors of chunks, in the room of the model that made them: one room for the model that searches
//! use, one for a model that is to replace it. A transaction that gives a room to another model
//! locks the row `vectors` of the counters; one that copies vectors within their room shares it.

use deadpool_postgres::{GenericClient, Transaction};
use tokio_postgres::Row;

use super::changes::{self, ChangedPart};
use super::read::{group, select_stored, stored_chunk};
use super::write::SET_MARK;
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::{execute, read_all, row, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{ChunkId, SourceId, StoreError, StoredChunk, StoredVector};

const ROOMS: [i16; 2] = [0, 1];
const SERVED: &str = "vectors of";

/// The name of the mark that stores whose vectors a room holds.
const fn mark_of(room: i16) -> &'static str {
    if room == 0 { "vectors 0" } else { "vectors 1" }
}

pub(super) async fn served(client: &impl GenericClient) -> Result<Option<String>, StoreError> {
    Ok(mark(client, SERVED).await?)
}

async fn mark(
    client: &impl GenericClient,
    name: &str,
) -> Result<Option<String>, tokio_postgres::Error> {
    let found = row_if_any(client, "SELECT value FROM marks WHERE name = $1", &[&name]).await?;
    Ok(found.map(|row| row.get(0)))
}

/// The room that holds the vectors of a model; `None`: no room does.
pub(super) async fn room_of(
    client: &impl GenericClient,
    model: &str,
) -> Result<Option<i16>, StoreError> {
    for room in ROOMS {
        if mark(client, mark_of(room)).await?.as_deref() == Some(model) {
            return Ok(Some(room));
        }
    }
    Ok(None)
}

pub(super) async fn hold_rooms(transaction: &Transaction<'_>) -> Result<(), TransactionError> {
    let hold = "SELECT value FROM counters WHERE name = 'vectors' FOR UPDATE";
    row(transaction, hold, &[]).await?;
    Ok(())
}

/// Keeps the rooms with their models until the transaction ends. Others may do the same meanwhile.
pub(super) async fn share_rooms(transaction: &Transaction<'_>) -> Result<(), TransactionError> {
    let share = "SELECT value FROM counters WHERE name = 'vectors' FOR SHARE";
    row(transaction, share, &[]).await?;
    Ok(())
}

pub(super) async fn serve(
    transaction: &Transaction<'_>,
    model: &str,
) -> Result<(), TransactionError> {
    hold_rooms(transaction).await?;
    make_room(transaction, model).await?;
    for room in ROOMS {
        if mark(transaction, mark_of(room)).await?.is_some_and(|of| of != model) {
            empty(transaction, room).await?;
        }
    }
    execute(transaction, SET_MARK, &[&SERVED, &model]).await?;
    Ok(())
}

async fn empty(transaction: &Transaction<'_>, room: i16) -> Result<(), TransactionError> {
    execute(transaction, "DELETE FROM vectors WHERE room = $1", &[&room]).await?;
    execute(transaction, "DELETE FROM tokens WHERE room = $1", &[&room]).await?;
    execute(transaction, "DELETE FROM marks WHERE name = $1", &[&mark_of(room)]).await?;
    Ok(())
}

/// Returns the room of a model's vectors. A new model gets the first room that searches do not use,
/// and what that room held is deleted.
async fn make_room(transaction: &Transaction<'_>, model: &str) -> Result<i16, TransactionError> {
    if let Some(room) = room_of(transaction, model).await? {
        return Ok(room);
    }
    let served = served(transaction).await?;
    let mut chosen = ROOMS[0];
    for room in ROOMS {
        let of = mark(transaction, mark_of(room)).await?;
        if of.is_none() || of != served {
            chosen = room;
            break;
        }
    }
    empty(transaction, chosen).await?;
    execute(transaction, SET_MARK, &[&mark_of(chosen), &model]).await?;
    Ok(chosen)
}

pub(super) async fn missing(
    client: &impl GenericClient,
    model: &str,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let select = select_stored!(
        "WHERE chunks.id > $1
           AND NOT EXISTS (SELECT 1 FROM vectors WHERE room = $2 AND chunk = chunks.id)
         ORDER BY chunks.id LIMIT $3"
    );
    stored_chunks(client, select, model, after, limit).await
}

/// The chunks that a statement selects: `$1` is the chunk to begin at, `$2` the model's room, and
/// `$3` the most chunks.
pub(super) async fn stored_chunks(
    client: &impl GenericClient,
    select: &str,
    model: &str,
    from: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let room = room_of(client, model).await?;
    let found = rows(client, select, &[&integer(from.0), &room, &i64::from(limit)]).await?;
    read_all(&found, stored_chunk)
}

pub(super) async fn keep(
    transaction: &Transaction<'_>,
    model: &str,
    vectors: &[(ChunkId, Vec<f32>)],
) -> Result<(), TransactionError> {
    hold_rooms(transaction).await?;
    let room = make_room(transaction, model).await?;
    let ids: Vec<i64> = vectors.iter().map(|(chunk, _)| integer(chunk.0)).collect();
    let bytes: Vec<Vec<u8>> = vectors.iter().map(|(_, vector)| to_bytes(vector)).collect();
    // Chunks that no longer exist are skipped. The others are locked, so that none is deleted
    // meanwhile.
    let kept = rows(
        transaction,
        "WITH given AS (
             SELECT DISTINCT ON (chunk) chunk, vector
             FROM unnest($2::BIGINT[], $3::BYTEA[]) WITH ORDINALITY AS new (chunk, vector, number)
             ORDER BY chunk, number DESC),
         held AS (
             SELECT id, source, hash FROM chunks WHERE id = ANY ($2) ORDER BY id FOR KEY SHARE)
         INSERT INTO vectors (room, chunk, source, hash, vector)
         SELECT $1::SMALLINT, id, source, hash, vector FROM held JOIN given ON chunk = id
         ON CONFLICT (room, chunk) DO UPDATE SET source = excluded.source, hash = excluded.hash,
             vector = excluded.vector
         RETURNING source",
        &[&room, &ids, &bytes],
    )
    .await?;
    let mut sources: Vec<i64> =
        kept.iter().map(|row| get(row, 0)).collect::<Result<_, StoreError>>()?;
    sources.sort_unstable();
    sources.dedup();
    changes::note(transaction, &sources, ChangedPart::Vectors).await
}

pub(super) async fn after(
    client: &impl GenericClient,
    model: &str,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredVector>, StoreError> {
    let room = room_of(client, model).await?;
    let found = rows(
        client,
        "SELECT chunk, source, grp, vector FROM vectors JOIN sources ON sources.id = source
         WHERE room = $1 AND chunk > $2 ORDER BY chunk LIMIT $3",
        &[&room, &integer(after.0), &i64::from(limit)],
    )
    .await?;
    read_all(&found, stored_vector)
}

pub(super) async fn newest(
    client: &impl GenericClient,
    model: &str,
) -> Result<Option<ChunkId>, StoreError> {
    let room = room_of(client, model).await?;
    let newest = "SELECT max(chunk) FROM vectors WHERE room = $1";
    let newest = get::<Option<i64>>(&row(client, newest, &[&room]).await?, 0)?;
    Ok(newest.and_then(|chunk| u64::try_from(chunk).ok()).map(ChunkId))
}

pub(super) async fn of_sources(
    client: &impl GenericClient,
    model: &str,
    sources: &[SourceId],
) -> Result<Vec<StoredVector>, StoreError> {
    let room = room_of(client, model).await?;
    let sources: Vec<i64> = sources.iter().map(|source| integer(source.0)).collect();
    let found = rows(
        client,
        "SELECT vectors.chunk, vectors.source, grp, vector
         FROM chunks JOIN vectors ON vectors.chunk = chunks.id AND room = $1
                     JOIN sources ON sources.id = chunks.source
         WHERE chunks.source = ANY ($2)
         ORDER BY array_position($2, chunks.source), vectors.chunk",
        &[&room, &sources],
    )
    .await?;
    read_all(&found, stored_vector)
}

pub(super) async fn of_chunks(
    client: &impl GenericClient,
    model: &str,
    chunks: &[ChunkId],
) -> Result<Vec<(ChunkId, Vec<f32>)>, StoreError> {
    let room = room_of(client, model).await?;
    let chunks: Vec<i64> = chunks.iter().map(|chunk| integer(chunk.0)).collect();
    let found = rows(
        client,
        "SELECT chunk, vector FROM vectors WHERE room = $1 AND chunk = ANY ($2)
         ORDER BY array_position($2, chunk)",
        &[&room, &chunks],
    )
    .await?;
    read_all(&found, |row| Ok((ChunkId(count(row, 0)?), vector(row, 1)?)))
}

fn stored_vector(row: &Row) -> Result<StoredVector, StoreError> {
    Ok(StoredVector {
        chunk: ChunkId(count(row, 0)?),
        source: SourceId(count(row, 1)?),
        group: group(row, 2)?,
        vector: vector(row, 3)?,
    })
}

fn vector(row: &Row, column: usize) -> Result<Vec<f32>, StoreError> {
    let bytes: &[u8] = get(row, column)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
