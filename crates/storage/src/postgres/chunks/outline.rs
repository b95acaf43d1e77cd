//! The outline of chunks: where they are, without their texts.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::read::{group, person_of};
use crate::postgres::convert::{count, get, integer, timestamp};
use crate::postgres::query::{read_all, rows};
use crate::{ChunkId, OutlinedChunk, OutlinedMessage, SourceId, StoreError};

pub(super) async fn of_sources(
    client: &impl GenericClient,
    sources: &[SourceId],
) -> Result<Vec<OutlinedChunk>, StoreError> {
    let sources: Vec<i64> = sources.iter().map(|source| integer(source.0)).collect();
    let found = rows(
        client,
        "SELECT chunks.id, source, coalesce(said_at, dated, modified), position, author,
                conversation, person, grp
         FROM chunks JOIN sources ON sources.id = chunks.source
         WHERE source = ANY ($1) ORDER BY array_position($1, source), chunks.id",
        &[&sources],
    )
    .await?;
    read_all(&found, outlined)
}

fn outlined(row: &Row) -> Result<OutlinedChunk, StoreError> {
    let message = match get::<Option<i64>>(row, 3)? {
        Some(_) => Some(OutlinedMessage {
            position: count(row, 3)?,
            author: get::<Option<String>>(row, 4)?.unwrap_or_default(),
            conversation: get::<Option<String>>(row, 5)?.unwrap_or_default(),
            person: person_of(row, 6)?,
        }),
        None => None,
    };
    Ok(OutlinedChunk {
        chunk: ChunkId(count(row, 0)?),
        source: SourceId(count(row, 1)?),
        group: group(row, 7)?,
        at: timestamp(row, 2)?,
        message,
    })
}
