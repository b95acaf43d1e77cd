//! The vectors of chunks' tokens. They are stored beside the chunk's vector and deleted with it.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::read::{select_stored, stored_chunk};
use super::vectors::room_of;
use crate::sqlite::convert::{count, integer};
use crate::{ChunkId, StoreError, StoredChunk};

pub(super) fn keep(
    connection: &mut Connection,
    model: &str,
    tokens: &[(ChunkId, Vec<u8>)],
) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    // No vector of this model is there any more: another one took its place.
    let Some(room) = room_of(&transaction, model)? else { return Ok(()) };
    for (chunk, codes) in tokens {
        let insert = [
            "INSERT OR REPLACE INTO ",
            room.tokens,
            " SELECT chunk, ?2 FROM ",
            room.table,
            " WHERE chunk = ?1",
        ];
        transaction.prepare_cached(&insert.concat())?.execute(params![integer(chunk.0), codes])?;
    }
    Ok(transaction.commit()?)
}

pub(super) fn of_chunks(
    connection: &mut Connection,
    model: &str,
    chunks: &[ChunkId],
) -> Result<Vec<(ChunkId, Vec<u8>)>, StoreError> {
    // One transaction: else the file is locked and unlocked for every chunk.
    let transaction = connection.transaction()?;
    let Some(room) = room_of(&transaction, model)? else { return Ok(Vec::new()) };
    let select = ["SELECT codes FROM ", room.tokens, " WHERE chunk = ?1"].concat();
    let mut statement = transaction.prepare_cached(&select)?;
    // In their order: messages of one conversation lie beside each other, and a page is read once.
    let mut chunks = chunks.to_vec();
    chunks.sort_unstable();
    let mut tokens = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let codes = statement.query_row([integer(chunk.0)], |row| row.get(0)).optional()?;
        tokens.extend(codes.map(|codes| (chunk, codes)));
    }
    Ok(tokens)
}

pub(super) fn missing(
    connection: &Connection,
    model: &str,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let Some(room) = room_of(connection, model)? else { return Ok(Vec::new()) };
    let which = [
        "WHERE chunks.id > ?1 AND chunks.id IN (SELECT chunk FROM ",
        room.table,
        ") AND chunks.id NOT IN (SELECT chunk FROM ",
        room.tokens,
        ") ORDER BY chunks.id LIMIT ?2",
    ];
    let mut statement = connection.prepare_cached(&select_stored(&which.concat()))?;
    let rows = statement.query_map(params![integer(after.0), limit], stored_chunk)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn bytes(connection: &Connection, model: &str) -> Result<u64, StoreError> {
    let Some(room) = room_of(connection, model)? else { return Ok(0) };
    let select = ["SELECT coalesce(sum(length(codes)), 0) FROM ", room.tokens].concat();
    Ok(connection.query_row(&select, [], |row| count(row, 0))?)
}
