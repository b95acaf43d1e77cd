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
    // If no vectors of this model are stored any more, those of another model have replaced them.
    let Some(room) = room_of(&transaction, model)? else { return Ok(()) };
    for (chunk, codes) in tokens {
        // `INSERT OR REPLACE` would not run the trigger that subtracts the replaced bytes.
        let insert = [
            "INSERT INTO ",
            room.tokens,
            " SELECT chunk, ?2 FROM ",
            room.table,
            " WHERE chunk = ?1 ON CONFLICT (chunk) DO UPDATE SET codes = excluded.codes",
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
    // One transaction reads all of them, because otherwise SQLite would lock and unlock the file
    // for every chunk.
    let transaction = connection.transaction()?;
    let Some(room) = room_of(&transaction, model)? else { return Ok(Vec::new()) };
    let select = ["SELECT codes FROM ", room.tokens, " WHERE chunk = ?1"].concat();
    let mut statement = transaction.prepare_cached(&select)?;
    // The chunks are read in order, because messages of one conversation lie side by side and their
    // page is then read once.
    let mut chunks = chunks.to_vec();
    chunks.sort_unstable();
    let mut tokens = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let codes = statement.query_row([integer(chunk.0)], |row| row.get(0)).optional()?;
        tokens.extend(codes.map(|codes| (chunk, codes)));
    }
    Ok(tokens)
}

/// The end from which chunks are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanOrder {
    OldestFirst { after: ChunkId },
    NewestFirst { before: ChunkId },
}

pub(super) fn missing(
    connection: &Connection,
    model: &str,
    order: ScanOrder,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let Some(room) = room_of(connection, model)? else { return Ok(Vec::new()) };
    let (side, border, order) = match order {
        ScanOrder::OldestFirst { after } => (">", after, "ASC"),
        ScanOrder::NewestFirst { before } => ("<", before, "DESC"),
    };
    let which = [
        "WHERE chunks.id ",
        side,
        " ?1 AND chunks.id IN (SELECT chunk FROM ",
        room.table,
        ") AND chunks.id NOT IN (SELECT chunk FROM ",
        room.tokens,
        ") ORDER BY chunks.id ",
        order,
        " LIMIT ?2",
    ];
    let mut statement = connection.prepare_cached(&select_stored(&which.concat()))?;
    let rows = statement.query_map(params![integer(border.0), limit], stored_chunk)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn bytes(connection: &Connection, model: &str) -> Result<u64, StoreError> {
    let Some(room) = room_of(connection, model)? else { return Ok(0) };
    let mut statement =
        connection.prepare_cached("SELECT bytes FROM token_bytes WHERE room = ?1")?;
    Ok(statement.query_row([room.number], |row| count(row, 0))?)
}

/// The file is packed when more than one in this many of its pages is empty.
const EMPTY_SHARE: i64 = 4;

pub(super) fn drop_oldest(
    connection: &mut Connection,
    model: &str,
    most: u64,
) -> Result<Option<ChunkId>, StoreError> {
    let transaction = connection.transaction()?;
    let Some(room) = room_of(&transaction, model)? else { return Ok(None) };
    let mut surplus = bytes(&transaction, model)?.saturating_sub(most);
    let mut last = None;
    if surplus > 0 {
        let select = ["SELECT chunk, length(codes) FROM ", room.tokens, " ORDER BY chunk"].concat();
        let mut statement = transaction.prepare(&select)?;
        let mut rows = statement.query([])?;
        while surplus > 0
            && let Some(row) = rows.next()?
        {
            surplus = surplus.saturating_sub(count(row, 1)?);
            last = Some(count(row, 0)?);
        }
    }
    if let Some(last) = last {
        let delete = ["DELETE FROM ", room.tokens, " WHERE chunk <= ?1"].concat();
        transaction.execute(&delete, [integer(last)])?;
    }
    transaction.commit()?;
    if last.is_some() {
        pack(connection)?;
    }
    Ok(last.map(ChunkId))
}

/// Returns disk space after a smaller bound has freed much of the file. Where less is free, new
/// rows fill it.
fn pack(connection: &Connection) -> Result<(), StoreError> {
    let pages = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pages("freelist_count")? * EMPTY_SHARE > pages("page_count")? {
        connection.execute_batch("VACUUM")?;
    }
    Ok(())
}
