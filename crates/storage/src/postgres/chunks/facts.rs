//! Facts. The entities that they are about are in `entities.rs`.

use std::collections::BTreeSet;

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::Hash;
use tokio_postgres::Row;

use super::read::{group, person_of};
use crate::postgres::convert::{
    count, get, named, parsed_if_any, shown, small, timestamp, timestamp_if_any,
};
use crate::postgres::query::{execute, read_all, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{
    ChunkFacts, ChunkId, EntityName, FactId, FactRow, GroupId, Holds, ObjectKind, SourceKey,
    StoreError, StoredFact,
};

/// Stores facts. They replace what the same makers found in the same chunks before. Chunks that no
/// longer exist are skipped.
pub(super) async fn keep(
    transaction: &Transaction<'_>,
    found: &[ChunkFacts],
) -> Result<(), TransactionError> {
    let held = hold(transaction, found).await?;
    for ChunkFacts { chunk, maker, facts } in found {
        let chunk = number(*chunk);
        if !held.contains(&chunk) {
            continue;
        }
        let clear = "DELETE FROM facts WHERE chunk = $1 AND maker = $2";
        execute(transaction, clear, &[&chunk, maker]).await?;
        for fact in facts {
            insert(transaction, chunk, maker, fact).await?;
        }
    }
    Ok(())
}

/// Keeps other gateways from writing facts of the same chunks until the transaction ends: both would
/// delete the older facts and add theirs, and each fact would be there twice. All take the chunks in
/// the same order, so that no two wait for each other. Returns the chunks that exist.
async fn hold(
    transaction: &Transaction<'_>,
    found: &[ChunkFacts],
) -> Result<BTreeSet<i64>, TransactionError> {
    let wanted: BTreeSet<i64> = found.iter().map(|found| number(found.chunk)).collect();
    let wanted: Vec<i64> = wanted.into_iter().collect();
    let hold = "SELECT id FROM chunks WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE";
    let held = rows(transaction, hold, &[&wanted]).await?;
    Ok(held.iter().map(|row| get(row, 0)).collect::<Result<_, StoreError>>()?)
}

fn number(chunk: ChunkId) -> i64 {
    i64::try_from(chunk.0).unwrap_or(i64::MAX)
}

async fn insert(
    transaction: &Transaction<'_>,
    chunk: i64,
    maker: &str,
    fact: &FactRow,
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "INSERT INTO facts (chunk, maker, subject_key, subject, relation, object_key, object,
                            is_entity, ends, line, said, valid_from, valid_until)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        &[
            &chunk,
            &maker,
            &shown(&fact.subject.key),
            &shown(&fact.subject.name),
            &shown(&fact.relation),
            &shown(&fact.object.key),
            &shown(&fact.object.name),
            &(fact.object_kind == ObjectKind::Entity),
            &(fact.holds == Holds::Ends),
            &i64::from(fact.line),
            &shown(&fact.said),
            &fact.from.map(|at| at.as_millis()),
            &fact.until.map(|at| at.as_millis()),
        ],
    )
    .await?;
    Ok(())
}

/// Lists facts within groups whose subject or object is one of these names, those stated last
/// first.
pub(super) async fn about(
    client: &impl GenericClient,
    keys: &[String],
    groups: &[GroupId],
    limit: u32,
) -> Result<Vec<StoredFact>, StoreError> {
    let found = rows(
        client,
        "SELECT facts.id, maker, subject_key, subject, relation, object_key, object, is_entity,
                ends, line, said, valid_from, valid_until, person, path, title, grp,
                chunks.origin, coalesce(said_at, dated, modified) AS at, author, turn
         FROM (SELECT id FROM facts WHERE subject_key = ANY ($1)
               UNION
               SELECT id FROM facts WHERE is_entity AND object_key = ANY ($1)) AS wanted
         JOIN facts ON facts.id = wanted.id
         JOIN chunks ON chunks.id = facts.chunk
         JOIN sources ON sources.id = chunks.source
         WHERE grp = ANY ($2)
         ORDER BY at DESC, facts.id DESC LIMIT $3",
        &[&keys, &numbers(groups), &i64::from(limit)],
    )
    .await?;
    read_all(&found, stored)
}

pub(super) async fn reading(
    client: &impl GenericClient,
    text: Hash,
    maker: &str,
) -> Result<Option<Vec<FactRow>>, StoreError> {
    let select = "SELECT facts FROM readings WHERE hash = $1 AND maker = $2";
    let found = row_if_any(client, select, &[&text.as_bytes().as_slice(), &maker]).await?;
    let Some(found) = found else { return Ok(None) };
    // A reading that cannot be parsed counts as absent, so it is made again.
    Ok(serde_json::from_str(get(&found, 0)?).ok())
}

pub(super) async fn keep_reading(
    client: &impl GenericClient,
    text: Hash,
    maker: &str,
    facts: &[FactRow],
) -> Result<(), StoreError> {
    let facts = serde_json::to_string(facts)
        .map_err(|error| StoreError::Failed(format!("facts: {error}")))?;
    let keep = "INSERT INTO readings (hash, maker, facts) VALUES ($1, $2, $3)
                ON CONFLICT (hash, maker) DO UPDATE SET facts = excluded.facts";
    execute(client, keep, &[&text.as_bytes().as_slice(), &maker, &facts]).await?;
    Ok(())
}

pub(super) fn numbers(groups: &[GroupId]) -> Vec<i64> {
    groups.iter().map(|group| i64::from(group.0)).collect()
}

fn stored(row: &Row) -> Result<StoredFact, StoreError> {
    Ok(StoredFact {
        id: FactId(count(row, 0)?),
        maker: get(row, 1)?,
        row: FactRow {
            subject: EntityName { key: get(row, 2)?, name: get(row, 3)? },
            relation: get(row, 4)?,
            object: EntityName { key: get(row, 5)?, name: get(row, 6)? },
            object_kind: if get(row, 7)? { ObjectKind::Entity } else { ObjectKind::Value },
            holds: if get(row, 8)? { Holds::Ends } else { Holds::Begins },
            line: small(row, 9)?,
            said: get(row, 10)?,
            from: timestamp_if_any(row, 11)?,
            until: timestamp_if_any(row, 12)?,
        },
        source: SourceKey { person: person_of(row, 13)?, path: get(row, 14)? },
        title: get(row, 15)?,
        group: group(row, 16)?,
        origin: named(row, 17)?,
        said_at: timestamp(row, 18)?,
        author: get(row, 19)?,
        turn: parsed_if_any(row, 20)?,
    })
}
