//! The outline of chunks: where they are, without their texts.

use rusqlite::{Connection, Row};

use super::id_list;
use crate::sqlite::convert::{count, parsed, timestamp};
use crate::{ChunkId, GroupId, OutlinedChunk, OutlinedMessage, SourceId, StoreError};

const SELECT: &str =
    "SELECT chunks.id, source, coalesce(said_at, dated, modified), position, author,
    conversation, person, grp FROM chunks JOIN sources ON sources.id = chunks.source ";

pub(super) fn of_sources(
    connection: &Connection,
    sources: &[SourceId],
) -> Result<Vec<OutlinedChunk>, StoreError> {
    let which = "WHERE source IN (SELECT value FROM json_each(?1)) ORDER BY source, chunks.id";
    let mut statement = connection.prepare_cached(&[SELECT, which].concat())?;
    let rows = statement.query_map([id_list(sources)], outlined)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn outlined(row: &Row<'_>) -> rusqlite::Result<OutlinedChunk> {
    let message = match row.get::<_, Option<i64>>(3)? {
        Some(_) => Some(OutlinedMessage {
            position: count(row, 3)?,
            author: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
            conversation: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
            person: match row.get_ref(6)?.as_str()? {
                "" => None,
                _ => Some(parsed(row, 6)?),
            },
        }),
        None => None,
    };
    Ok(OutlinedChunk {
        chunk: ChunkId(count(row, 0)?),
        source: SourceId(count(row, 1)?),
        group: GroupId(row.get(7)?),
        at: timestamp(row, 2)?,
        message,
    })
}
