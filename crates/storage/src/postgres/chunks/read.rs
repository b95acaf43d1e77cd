use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use onyx_types::PersonId;
use tokio_postgres::Row;

use super::{person_column, vectors};
use crate::postgres::convert::{
    count, get, hash, hash_bytes, integer, json, named, parsed, parsed_if_any, small, timestamp,
    timestamp_if_any,
};
use crate::postgres::query::{read_all, row, row_if_any, rows};
use crate::{
    ChunkCounts, ChunkId, ChunkRow, Contents, Group, GroupId, Message, SourceId, SourceKey,
    SourceRow, Stamp, StoreError, StoredChunk,
};

/// Selects sources in the columns that `source_row` reads.
macro_rules! select_sources {
    ($rest:literal) => {
        concat!(
            "SELECT sources.person, path, scope, kind, sources.origin, title, checksum, size,
                    modified, chunking, problem, indexed_at, conversation, dated
             FROM sources JOIN source_groups ON source_groups.id = grp ",
            $rest
        )
    };
}

/// Selects chunks with their sources in the columns that `stored_chunk` reads.
macro_rules! select_stored {
    ($rest:literal) => {
        concat!(
            "SELECT sources.person, path, scope, kind, sources.origin, title, checksum, size,
                    modified, chunking, problem, indexed_at, conversation, dated,
                    start_line, end_line, heading, chunks.origin, text, chunks.hash, turn, author,
                    said_at, position, chunks.id
             FROM chunks JOIN sources ON sources.id = chunks.source
                         JOIN source_groups ON source_groups.id = grp ",
            $rest
        )
    };
}

pub(super) use select_stored;

/// The number of columns of a source.
const SOURCE_WIDTH: usize = 14;
/// The number of columns of a chunk.
const CHUNK_WIDTH: usize = 10;

pub(super) async fn source(
    client: &impl GenericClient,
    key: &SourceKey,
) -> Result<Option<SourceRow>, StoreError> {
    let select = select_sources!("WHERE sources.person = $1 AND path = $2");
    let person = person_column(key.person.as_ref());
    let found = row_if_any(client, select, &[&person, &key.path]).await?;
    found.as_ref().map(source_row).transpose()
}

pub(super) async fn paths_under(
    client: &impl GenericClient,
    person: &str,
    prefix: &str,
) -> Result<Vec<String>, StoreError> {
    let found = rows(
        client,
        "SELECT path FROM sources
         WHERE person = $1 AND path >= $2 AND starts_with(path, $2) ORDER BY path",
        &[&person, &prefix],
    )
    .await?;
    read_all(&found, |row| get(row, 0))
}

pub(super) async fn sources(
    client: &impl GenericClient,
    person: &str,
) -> Result<Vec<SourceRow>, StoreError> {
    let select =
        select_sources!("WHERE source_groups.person = $1 AND kind <> 'session' ORDER BY path");
    read_all(&rows(client, select, &[&person]).await?, source_row)
}

pub(super) async fn source_ids(
    client: &impl GenericClient,
    person: &str,
) -> Result<Vec<SourceId>, StoreError> {
    let select = "SELECT id FROM sources WHERE person = $1 ORDER BY id";
    let found = rows(client, select, &[&person]).await?;
    read_all(&found, |row| count(row, 0).map(SourceId))
}

pub(super) async fn problems(
    client: &impl GenericClient,
    person: &str,
    limit: u32,
) -> Result<Vec<SourceRow>, StoreError> {
    let select =
        select_sources!("WHERE sources.person = $1 AND problem IS NOT NULL ORDER BY path LIMIT $2");
    read_all(&rows(client, select, &[&person, &i64::from(limit)]).await?, source_row)
}

pub(super) async fn counts(
    client: &impl GenericClient,
    person: &str,
    model: Option<&str>,
) -> Result<ChunkCounts, StoreError> {
    let room = match model {
        Some(model) => vectors::room_of(client, model).await?,
        None => None,
    };
    let found = row(
        client,
        "SELECT (SELECT count(*) FROM sources WHERE person = $1),
                (SELECT count(*) FROM chunks JOIN sources ON sources.id = source
                 WHERE person = $1),
                (SELECT count(*) FROM vectors JOIN sources ON sources.id = source
                 WHERE person = $1 AND room = $2),
                (SELECT count(problem) FROM sources WHERE person = $1)",
        &[&person, &room],
    )
    .await?;
    Ok(ChunkCounts {
        sources: count(&found, 0)?,
        chunks: count(&found, 1)?,
        vectors: count(&found, 2)?,
        problems: count(&found, 3)?,
    })
}

pub(super) async fn chunks(
    client: &impl GenericClient,
    key: &SourceKey,
) -> Result<Vec<ChunkRow>, StoreError> {
    let found = rows(
        client,
        "SELECT start_line, end_line, heading, chunks.origin, text, hash, turn, author, said_at,
                position
         FROM chunks JOIN sources ON sources.id = chunks.source
         WHERE person = $1 AND path = $2 ORDER BY chunks.id",
        &[&person_column(key.person.as_ref()), &key.path],
    )
    .await?;
    read_all(&found, |row| chunk_row(row, 0))
}

pub(super) async fn epoch(client: &impl GenericClient) -> Result<u64, StoreError> {
    count(&row(client, "SELECT value FROM chunk_epoch", &[]).await?, 0)
}

pub(super) async fn contents(
    client: &impl GenericClient,
    sources: &[SourceId],
) -> Result<Vec<Option<Contents>>, StoreError> {
    let ids: Vec<i64> = sources.iter().map(|source| integer(source.0)).collect();
    let select = "SELECT id, grp, title FROM sources WHERE id = ANY ($1)";
    let mut found: HashMap<u64, Contents> = HashMap::new();
    for row in &rows(client, select, &[&ids]).await? {
        let contents = Contents { group: group(row, 1)?, title: get(row, 2)?, chunks: Vec::new() };
        found.insert(count(row, 0)?, contents);
    }
    let chunks = rows(
        client,
        "SELECT start_line, end_line, heading, origin, text, hash, turn, author, said_at, position,
                id, source
         FROM chunks WHERE source = ANY ($1) ORDER BY id",
        &[&ids],
    )
    .await?;
    for row in &chunks {
        // Chunks of a source that was added between the two queries are skipped, because the change
        // of that source comes later.
        if let Some(contents) = found.get_mut(&count(row, CHUNK_WIDTH + 1)?) {
            contents.chunks.push((ChunkId(count(row, CHUNK_WIDTH)?), chunk_row(row, 0)?));
        }
    }
    Ok(sources.iter().map(|source| found.get(&source.0).cloned()).collect())
}

pub(super) async fn groups_after(
    client: &impl GenericClient,
    after: GroupId,
) -> Result<Vec<Group>, StoreError> {
    let select = "SELECT id, person, scope, kind FROM source_groups WHERE id > $1 ORDER BY id";
    read_all(&rows(client, select, &[&i64::from(after.0)]).await?, |row| {
        Ok(Group {
            id: group(row, 0)?,
            person: person_of(row, 1)?,
            scope: json(row, 2)?,
            kind: named(row, 3)?,
        })
    })
}

pub(super) async fn stored(
    client: &impl GenericClient,
    chunks: &[ChunkId],
) -> Result<Vec<StoredChunk>, StoreError> {
    let ids: Vec<i64> = chunks.iter().map(|chunk| integer(chunk.0)).collect();
    let select =
        select_stored!("WHERE chunks.id = ANY ($1) ORDER BY array_position($1, chunks.id)");
    read_all(&rows(client, select, &[&ids]).await?, stored_chunk)
}

pub(super) async fn stored_after(
    client: &impl GenericClient,
    after: ChunkId,
    limit: u32,
) -> Result<Vec<StoredChunk>, StoreError> {
    let select = select_stored!("WHERE chunks.id > $1 ORDER BY chunks.id LIMIT $2");
    let found = rows(client, select, &[&integer(after.0), &i64::from(limit)]).await?;
    read_all(&found, stored_chunk)
}

pub(super) async fn marks(
    client: &impl GenericClient,
    prefix: &str,
) -> Result<Vec<(String, String)>, StoreError> {
    let select = "SELECT name, value FROM marks
                  WHERE name >= $1 AND starts_with(name, $1) ORDER BY name";
    read_all(&rows(client, select, &[&prefix]).await?, |row| Ok((get(row, 0)?, get(row, 1)?)))
}

pub(super) fn stored_chunk(row: &Row) -> Result<StoredChunk, StoreError> {
    Ok(StoredChunk {
        source: source_row(row)?,
        row: chunk_row(row, SOURCE_WIDTH)?,
        id: ChunkId(count(row, SOURCE_WIDTH + CHUNK_WIDTH)?),
    })
}

/// Reads the `person` column; `None` for shared documents.
pub(super) fn person_of(row: &Row, column: usize) -> Result<Option<PersonId>, StoreError> {
    match get::<&str>(row, column)? {
        "" => Ok(None),
        _ => parsed(row, column).map(Some),
    }
}

pub(super) fn group(row: &Row, column: usize) -> Result<GroupId, StoreError> {
    small(row, column).map(GroupId)
}

fn source_row(row: &Row) -> Result<SourceRow, StoreError> {
    Ok(SourceRow {
        key: SourceKey { person: person_of(row, 0)?, path: get(row, 1)? },
        scope: json(row, 2)?,
        kind: named(row, 3)?,
        origin: named(row, 4)?,
        title: get(row, 5)?,
        checksum: hash(row, 6)?,
        stamp: Stamp { size: count(row, 7)?, modified: timestamp(row, 8)? },
        chunking: get(row, 9)?,
        problem: get(row, 10)?,
        indexed_at: timestamp(row, 11)?,
        conversation: get(row, 12)?,
        dated: timestamp_if_any(row, 13)?,
    })
}

fn chunk_row(row: &Row, at: usize) -> Result<ChunkRow, StoreError> {
    Ok(ChunkRow {
        start_line: small(row, at)?,
        end_line: small(row, at + 1)?,
        heading: get(row, at + 2)?,
        origin: named(row, at + 3)?,
        text: get(row, at + 4)?,
        hash: hash_bytes(row, at + 5)?,
        message: message(row, at + 6)?,
    })
}

fn message(row: &Row, at: usize) -> Result<Option<Message>, StoreError> {
    if get::<Option<i64>>(row, at + 3)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Message {
        turn: parsed_if_any(row, at)?,
        author: get::<Option<String>>(row, at + 1)?.unwrap_or_default(),
        at: timestamp_if_any(row, at + 2)?,
        position: count(row, at + 3)?,
    }))
}
