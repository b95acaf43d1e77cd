//! Facts. The entities that they are about are in `entities.rs`.

use onyx_types::Hash;
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use super::entities::count_changes;
use super::read::person_of;
use crate::sqlite::convert::{count, integer, named, parsed_if_any, timestamp};
use crate::{
    ChunkFacts, EntityName, FactId, FactRow, GroupId, Holds, ObjectKind, SourceKey, StoreError,
    StoredFact,
};

/// Stores facts. They replace what the same makers found in the same chunks before. Chunks that no
/// longer exist are skipped.
pub(super) fn keep(connection: &mut Connection, found: &[ChunkFacts]) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    {
        let mut exists = transaction.prepare_cached("SELECT 1 FROM chunks WHERE id = ?1")?;
        let mut clear =
            transaction.prepare_cached("DELETE FROM facts WHERE chunk = ?1 AND maker = ?2")?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO facts (chunk, maker, subject_key, subject, relation, object_key, object,
                                is_entity, ends, line, said, valid_from, valid_until)
             VALUES (:chunk, :maker, :subject_key, :subject, :relation, :object_key, :object,
                     :is_entity, :ends, :line, :said, :valid_from, :valid_until)",
        )?;
        for ChunkFacts { chunk, maker, facts } in found {
            if !exists.exists([integer(chunk.0)])? {
                continue;
            }
            clear.execute(params![integer(chunk.0), maker])?;
            for fact in facts {
                insert.execute(named_params! {
                    ":chunk": integer(chunk.0),
                    ":maker": maker,
                    ":subject_key": fact.subject.key,
                    ":subject": fact.subject.name,
                    ":relation": fact.relation,
                    ":object_key": fact.object.key,
                    ":object": fact.object.name,
                    ":is_entity": fact.object_kind == ObjectKind::Entity,
                    ":ends": fact.holds == Holds::Ends,
                    ":line": fact.line,
                    ":said": fact.said,
                    ":valid_from": fact.from.map(|at| at.as_millis()),
                    ":valid_until": fact.until.map(|at| at.as_millis()),
                })?;
            }
        }
    }
    count_changes(&transaction)?;
    Ok(transaction.commit()?)
}

/// Lists facts within groups whose subject or object is one of these names, those stated last
/// first.
pub(super) fn about(
    connection: &Connection,
    keys: &[String],
    groups: &[GroupId],
    limit: u32,
) -> Result<Vec<StoredFact>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT facts.id, maker, subject_key, subject, relation, object_key, object, is_entity,
                ends, line, said, valid_from, valid_until, person, path, title, grp,
                chunks.origin, coalesce(said_at, dated, modified) AS at, author, turn
         FROM (SELECT id FROM facts WHERE subject_key IN (SELECT value FROM json_each(:keys))
               UNION
               SELECT id FROM facts WHERE is_entity AND object_key IN
                   (SELECT value FROM json_each(:keys))) AS wanted
         JOIN facts ON facts.id = wanted.id
         JOIN chunks ON chunks.id = facts.chunk
         JOIN sources ON sources.id = chunks.source
         WHERE grp IN (SELECT value FROM json_each(:groups))
         ORDER BY at DESC, facts.id DESC LIMIT :limit",
    )?;
    let rows = statement.query_map(
        named_params! { ":keys": listed(keys)?, ":groups": numbers(groups), ":limit": limit },
        stored,
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn reading(
    connection: &Connection,
    hash: Hash,
    maker: &str,
) -> Result<Option<Vec<FactRow>>, StoreError> {
    let found = connection
        .prepare_cached("SELECT facts FROM readings WHERE hash = ?1 AND maker = ?2")?
        .query_row(params![hash.as_bytes().as_slice(), maker], |row| row.get::<_, String>(0))
        .optional()?;
    // A reading that cannot be parsed counts as absent, so it is made again.
    Ok(found.and_then(|text| serde_json::from_str(&text).ok()))
}

pub(super) fn keep_reading(
    connection: &Connection,
    hash: Hash,
    maker: &str,
    facts: &[FactRow],
) -> Result<(), StoreError> {
    let facts = serde_json::to_string(facts)
        .map_err(|error| StoreError::Failed(format!("facts: {error}")))?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO readings (hash, maker, facts) VALUES (?1, ?2, ?3)")?
        .execute(params![hash.as_bytes().as_slice(), maker, facts])?;
    Ok(())
}

fn listed(keys: &[String]) -> Result<String, StoreError> {
    serde_json::to_string(keys).map_err(|error| StoreError::Failed(format!("names: {error}")))
}

fn numbers(groups: &[GroupId]) -> String {
    let numbers: Vec<String> = groups.iter().map(|group| group.0.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredFact> {
    let time = |place: usize| match row.get_ref(place)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => timestamp(row, place).map(Some),
    };
    Ok(StoredFact {
        id: FactId(count(row, 0)?),
        maker: row.get(1)?,
        row: FactRow {
            subject: EntityName { key: row.get(2)?, name: row.get(3)? },
            relation: row.get(4)?,
            object: EntityName { key: row.get(5)?, name: row.get(6)? },
            object_kind: if row.get(7)? { ObjectKind::Entity } else { ObjectKind::Value },
            holds: if row.get(8)? { Holds::Ends } else { Holds::Begins },
            line: row.get(9)?,
            said: row.get(10)?,
            from: time(11)?,
            until: time(12)?,
        },
        source: SourceKey { person: person_of(row, 13)?, path: row.get(14)? },
        title: row.get(15)?,
        group: GroupId(row.get(16)?),
        origin: named(row, 17)?,
        said_at: timestamp(row, 18)?,
        author: row.get(19)?,
        turn: parsed_if_any(row, 20)?,
    })
}
