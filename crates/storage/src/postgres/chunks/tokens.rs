//! The vectors of chunks' tokens, in the room of the model that made them. They are deleted with
//! the vector of their chunk.

use deadpool_postgres::{GenericClient, Transaction};

use super::read::select_stored;
use super::vectors::{hold_rooms, room_of, stored_chunks};
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::{execute, read_all, row, rows};
use crate::postgres::transaction::TransactionError;
use crate::{ChunkId, StoreError, StoredChunk};

/// Stores token vectors. Chunks without a vector of the model are skipped.
pub(super) async fn keep(
    transaction: &Transaction<'_>,
    model: &str,
    tokens: &[(ChunkId, Vec<u8>)],
) -> Result<(), TransactionError> {
    hold_rooms(transaction).await?;
    // If no vectors of this model are stored any more, those of another model have replaced them.
    let Some(room) = room_of(transaction, model).await? else { return Ok(()) };
    for (chunk, codes) in tokens {
        execute(
            transaction,
            "INSERT INTO tokens (room, chunk, codes)
             SELECT room, chunk, $3::BYTEA FROM vectors WHERE room = $1 AND chunk = $2
             ON CONFLICT (room, chunk) DO UPDATE SET codes = excluded.codes",
            &[&room, &integer(chunk.0), codes],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn of_chunks(
    client: &impl GenericClient,
    model: &str,
    chunks: &[ChunkId],
) -> Result<Vec<(ChunkId, Vec<u8>)>, StoreError> {
    let room = room_of(client, model).await?;
    let chunks: Vec<i64> = chunks.iter().map(|chunk| integer(chunk.0)).collect();
    let select = "SELECT chunk, codes FROM tokens WHERE room = $1 AND chunk = ANY ($2)
                  ORDER BY array_position($2, chunk)";
    let found = rows(client, select, &[&room, &chunks]).await?;
    read_all(&found, |row| Ok((ChunkId(count(row, 0)?), get(row, 1)?)))
}

pub(super) async fn missing(
    client: &impl GenericClient,
    model: &str,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let select = select_stored!(
        "WHERE chunks.id > $1
           AND EXISTS (SELECT 1 FROM vectors WHERE room = $2 AND chunk = chunks.id)
           AND NOT EXISTS (SELECT 1 FROM tokens WHERE room = $2 AND chunk = chunks.id)
         ORDER BY chunks.id LIMIT $3"
    );
    stored_chunks(client, select, model, after, limit).await
}

pub(super) async fn missing_before(
    client: &impl GenericClient,
    model: &str,
    before: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let select = select_stored!(
        "WHERE chunks.id < $1
           AND EXISTS (SELECT 1 FROM vectors WHERE room = $2 AND chunk = chunks.id)
           AND NOT EXISTS (SELECT 1 FROM tokens WHERE room = $2 AND chunk = chunks.id)
         ORDER BY chunks.id DESC LIMIT $3"
    );
    stored_chunks(client, select, model, before, limit).await
}

/// Adds up the sizes of a model's token vectors. The database knows each length without reading the
/// value, so this takes milliseconds.
pub(super) async fn bytes(client: &impl GenericClient, model: &str) -> Result<u64, StoreError> {
    let room = room_of(client, model).await?;
    let sum = "SELECT coalesce(sum(octet_length(codes)), 0)::BIGINT FROM tokens WHERE room = $1";
    count(&row(client, sum, &[&room]).await?, 0)
}

/// Deletes the oldest token vectors. One statement looks at no more than the 4,096 oldest.
const DROP_OLDEST: &str = "
    WITH oldest AS (
        SELECT chunk, octet_length(codes) AS size FROM tokens WHERE room = $1 ORDER BY chunk LIMIT 4096),
    sums AS (SELECT chunk, sum(size) OVER (ORDER BY chunk) AS so_far FROM oldest),
    last AS (SELECT coalesce(min(chunk) FILTER (WHERE so_far >= $2), max(chunk)) AS chunk FROM sums),
    gone AS (DELETE FROM tokens WHERE room = $1 AND chunk <= (SELECT chunk FROM last) RETURNING chunk)
    SELECT max(chunk) FROM gone";

pub(super) async fn drop_oldest(
    transaction: &Transaction<'_>,
    model: &str,
    most: u64,
) -> Result<Option<ChunkId>, TransactionError> {
    hold_rooms(transaction).await?;
    let Some(room) = room_of(transaction, model).await? else { return Ok(None) };
    let mut last = None;
    loop {
        let surplus = bytes(transaction, model).await?.saturating_sub(most);
        if surplus == 0 {
            return Ok(last);
        }
        let gone = row(transaction, DROP_OLDEST, &[&room, &integer(surplus)]).await?;
        let Some(chunk) = get::<Option<i64>>(&gone, 0)? else { return Ok(last) };
        last = Some(ChunkId(u64::try_from(chunk).unwrap_or_default()));
    }
}
