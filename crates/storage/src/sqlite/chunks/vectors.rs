use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::read::{select_stored, stored_chunk};
use super::write::note_vectors;
use crate::sqlite::convert::{count, integer};
use crate::{ChunkId, GroupId, SourceId, StoreError, StoredChunk, StoredVector};

const MODEL: &str = "vectors of";

pub(super) fn use_model(connection: &mut Connection, model: &str) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    let before: Option<String> = transaction
        .query_row("SELECT value FROM marks WHERE name = ?1", [MODEL], |row| row.get(0))
        .optional()?;
    if before.as_deref() == Some(model) {
        return Ok(());
    }
    transaction.execute("DELETE FROM vectors", [])?;
    transaction.execute(
        "INSERT INTO marks (name, value) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [MODEL, model],
    )?;
    Ok(transaction.commit()?)
}

pub(super) fn missing(
    connection: &Connection,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let mut statement = connection.prepare_cached(&select_stored(
        "WHERE chunks.id > ?1 AND chunks.id NOT IN (SELECT chunk FROM vectors)
         ORDER BY chunks.id LIMIT ?2",
    ))?;
    let rows = statement.query_map(params![integer(after.0), limit], stored_chunk)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn keep(
    connection: &mut Connection,
    vectors: &[(ChunkId, Vec<f32>)],
) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    let mut sources = Vec::new();
    for (chunk, vector) in vectors {
        let source: Option<i64> = transaction
            .prepare_cached("SELECT source FROM chunks WHERE id = ?1")?
            .query_row([integer(chunk.0)], |row| row.get(0))
            .optional()?;
        let Some(source) = source else { continue };
        transaction
            .prepare_cached("INSERT OR REPLACE INTO vectors (chunk, vector) VALUES (?1, ?2)")?
            .execute(params![integer(chunk.0), to_bytes(vector)])?;
        sources.push(source);
    }
    sources.sort_unstable();
    sources.dedup();
    for source in sources {
        note_vectors(&transaction, source)?;
    }
    Ok(transaction.commit()?)
}

pub(super) fn after(
    connection: &Connection,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredVector>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT chunks.id, sources.id, grp, vector
         FROM vectors JOIN chunks ON chunks.id = vectors.chunk
                      JOIN sources ON sources.id = chunks.source
         WHERE vectors.chunk > ?1 ORDER BY vectors.chunk LIMIT ?2",
    )?;
    let rows = statement.query_map(params![integer(after.0), limit], stored_vector)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn of_source(
    connection: &Connection,
    source: SourceId,
) -> Result<Vec<StoredVector>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT chunks.id, sources.id, grp, vector
         FROM chunks JOIN vectors ON vectors.chunk = chunks.id
                     JOIN sources ON sources.id = chunks.source
         WHERE chunks.source = ?1 ORDER BY chunks.id",
    )?;
    let rows = statement.query_map([integer(source.0)], stored_vector)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn of_chunks(
    connection: &Connection,
    chunks: &[ChunkId],
) -> Result<Vec<(ChunkId, Vec<f32>)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT vector FROM vectors WHERE chunk = ?1")?;
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
