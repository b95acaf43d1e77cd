use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::id_list;
use super::read::{select_stored, stored_chunk};
use super::write::{note_vectors, set_mark};
use crate::sqlite::convert::{count, integer};
use crate::{ChunkId, GroupId, SourceId, StoreError, StoredChunk, StoredVector};

/// A room for the vectors of one model at a time: a pair of tables.
pub(super) struct VectorRoom {
    pub(super) number: i64,
    /// The table of the chunks' vectors.
    pub(super) table: &'static str,
    /// The table of the vectors of the chunks' tokens.
    pub(super) tokens: &'static str,
    /// The name of the mark that stores whose vectors the room holds.
    mark: &'static str,
}

/// The rooms: one for the model that searches use, one for a model that is to replace it.
pub(super) const ROOMS: [VectorRoom; 2] = [
    VectorRoom { number: 0, table: "vectors_0", tokens: "tokens_0", mark: "vectors 0" },
    VectorRoom { number: 1, table: "vectors_1", tokens: "tokens_1", mark: "vectors 1" },
];

const SERVED: &str = "vectors of";

/// Selects the columns that `stored_vector` reads; the name of the table comes between the two
/// parts.
const SELECT_VECTORS: &str = "SELECT chunk, source, grp, vector FROM ";
const OF_SOURCES: &str = " JOIN sources ON sources.id = source";

pub(super) fn served(connection: &Connection) -> Result<Option<String>, StoreError> {
    mark(connection, SERVED)
}

pub(super) fn serve(connection: &mut Connection, model: &str) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    make_room(&transaction, model)?;
    for room in &ROOMS {
        if mark(&transaction, room.mark)?.is_some_and(|of| of != model) {
            empty(&transaction, room)?;
        }
    }
    set_mark(&transaction, SERVED, model)?;
    Ok(transaction.commit()?)
}

fn mark(connection: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT value FROM marks WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

fn empty(connection: &Connection, room: &VectorRoom) -> Result<(), StoreError> {
    connection.execute(&["DELETE FROM ", room.table].concat(), [])?;
    connection.execute(&["DELETE FROM ", room.tokens].concat(), [])?;
    connection.execute("DELETE FROM marks WHERE name = ?1", [room.mark])?;
    Ok(())
}

/// The room that holds the vectors of a model; `None`: no room does.
pub(super) fn room_of(
    connection: &Connection,
    model: &str,
) -> Result<Option<&'static VectorRoom>, StoreError> {
    for room in &ROOMS {
        if mark(connection, room.mark)?.as_deref() == Some(model) {
            return Ok(Some(room));
        }
    }
    Ok(None)
}

pub(super) fn table_of(
    connection: &Connection,
    model: &str,
) -> Result<Option<&'static str>, StoreError> {
    Ok(room_of(connection, model)?.map(|room| room.table))
}

/// Lists the rooms that hold vectors of some model.
pub(super) fn rooms_in_use(
    connection: &Connection,
) -> Result<Vec<&'static VectorRoom>, StoreError> {
    let mut rooms = Vec::new();
    for room in &ROOMS {
        if mark(connection, room.mark)?.is_some() {
            rooms.push(room);
        }
    }
    Ok(rooms)
}

/// Returns the table of a model's vectors. A new model gets the first room that searches do not
/// use; the vectors that were in it are deleted.
fn make_room(connection: &Connection, model: &str) -> Result<&'static str, StoreError> {
    if let Some(table) = table_of(connection, model)? {
        return Ok(table);
    }
    let served = served(connection)?;
    let mut room = &ROOMS[0];
    for other in &ROOMS {
        let of = mark(connection, other.mark)?;
        if of.is_none() || of != served {
            room = other;
            break;
        }
    }
    empty(connection, room)?;
    set_mark(connection, room.mark, model)?;
    Ok(room.table)
}

pub(super) fn missing(
    connection: &Connection,
    model: &str,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let lacking = match table_of(connection, model)? {
        Some(table) => [" AND chunks.id NOT IN (SELECT chunk FROM ", table, ")"].concat(),
        None => String::new(),
    };
    let which = ["WHERE chunks.id > ?1", &lacking, " ORDER BY chunks.id LIMIT ?2"].concat();
    let mut statement = connection.prepare_cached(&select_stored(&which))?;
    let rows = statement.query_map(params![integer(after.0), limit], stored_chunk)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn keep(
    connection: &mut Connection,
    model: &str,
    vectors: &[(ChunkId, Vec<f32>)],
) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    let table = make_room(&transaction, model)?;
    let mut sources = Vec::new();
    for (chunk, vector) in vectors {
        let found: Option<(i64, Vec<u8>)> = transaction
            .prepare_cached("SELECT source, hash FROM chunks WHERE id = ?1")?
            .query_row([integer(chunk.0)], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((source, hash)) = found else { continue };
        insert_vector(&transaction, table, integer(chunk.0), source, &hash, &to_bytes(vector))?;
        sources.push(source);
    }
    sources.sort_unstable();
    sources.dedup();
    for source in sources {
        note_vectors(&transaction, source)?;
    }
    Ok(transaction.commit()?)
}

pub(super) fn insert_vector(
    connection: &Connection,
    table: &str,
    chunk: i64,
    source: i64,
    hash: &[u8],
    vector: &[u8],
) -> Result<(), StoreError> {
    let insert = ["INSERT OR REPLACE INTO ", table, " VALUES (?1, ?2, ?3, ?4)"].concat();
    connection.prepare_cached(&insert)?.execute(params![chunk, source, hash, vector])?;
    Ok(())
}

pub(super) fn after(
    connection: &Connection,
    model: &str,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredVector>, StoreError> {
    let Some(table) = table_of(connection, model)? else { return Ok(Vec::new()) };
    let which = " WHERE chunk > ?1 ORDER BY chunk LIMIT ?2";
    let select = [SELECT_VECTORS, table, OF_SOURCES, which].concat();
    let mut statement = connection.prepare_cached(&select)?;
    let rows = statement.query_map(params![integer(after.0), limit], stored_vector)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn newest(connection: &Connection, model: &str) -> Result<Option<ChunkId>, StoreError> {
    let Some(table) = table_of(connection, model)? else { return Ok(None) };
    let mut statement = connection.prepare_cached(&["SELECT max(chunk) FROM ", table].concat())?;
    let newest: Option<i64> = statement.query_row([], |row| row.get(0))?;
    Ok(newest.and_then(|chunk| u64::try_from(chunk).ok()).map(ChunkId))
}

pub(super) fn of_sources(
    connection: &Connection,
    model: &str,
    sources: &[SourceId],
) -> Result<Vec<StoredVector>, StoreError> {
    let Some(table) = table_of(connection, model)? else { return Ok(Vec::new()) };
    let which = " WHERE chunk IN (SELECT id FROM chunks
             WHERE source IN (SELECT value FROM json_each(?1))) ORDER BY chunk";
    let select = [SELECT_VECTORS, table, OF_SOURCES, which].concat();
    let mut statement = connection.prepare_cached(&select)?;
    let rows = statement.query_map([id_list(sources)], stored_vector)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn of_chunks(
    connection: &Connection,
    model: &str,
    chunks: &[ChunkId],
) -> Result<Vec<(ChunkId, Vec<f32>)>, StoreError> {
    let Some(table) = table_of(connection, model)? else { return Ok(Vec::new()) };
    let select = ["SELECT vector FROM ", table, " WHERE chunk = ?1"].concat();
    let mut statement = connection.prepare_cached(&select)?;
    let mut vectors = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let vector = statement.query_row([integer(chunk.0)], |row| vector(row, 0)).optional()?;
        vectors.extend(vector.map(|vector| (*chunk, vector)));
    }
    Ok(vectors)
}

fn stored_vector(row: &Row<'_>) -> rusqlite::Result<StoredVector> {
    Ok(StoredVector {
        chunk: ChunkId(count(row, 0)?),
        source: SourceId(count(row, 1)?),
        group: GroupId(row.get(2)?),
        vector: vector(row, 3)?,
    })
}

fn vector(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<f32>> {
    let bytes = row.get_ref(column)?.as_blob()?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
