//! The audit chains of the embedded database.

use std::collections::BTreeMap;

use onyx_types::{Actor, PersonId, RecordedTool};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::audit::{ChainCheck, Head};
use crate::{AuditEntry, AuditRow, AuditSeal, ChainState, StoreError};

use super::convert::{count, hash, integer, named_if_any, parsed, parsed_if_any, timestamp};

pub(crate) fn append(
    connection: &Connection,
    entry: AuditEntry,
    seal: Option<&AuditSeal>,
) -> Result<AuditRow, StoreError> {
    let head = head(connection, &entry.person)?.unwrap_or(Head::EMPTY);
    let row = head.next(entry, seal);
    insert(connection, &row, seal.map(AuditSeal::name))?;
    connection
        .prepare_cached(
            "INSERT INTO audit_heads (person, seq, hash) VALUES (?1, ?2, ?3)
             ON CONFLICT (person) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
        )?
        .execute(params![row.entry.person.as_str(), integer(row.seq), row.hash.to_string()])?;
    Ok(row)
}

fn insert(connection: &Connection, row: &AuditRow, key: Option<&str>) -> Result<(), StoreError> {
    let entry = &row.entry;
    connection
        .prepare_cached(
            "INSERT INTO audit (person, seq, ts, actor_kind, actor, agent, session, run, tool,
                                effect, decision, diff_summary, result, previous, hash, key)
             VALUES (:person, :seq, :ts, :actor_kind, :actor, :agent, :session, :run, :tool,
                     :effect, :decision, :diff_summary, :result, :previous, :hash, :key)",
        )?
        .execute(named_params! {
            ":person": entry.person.as_str(),
            ":seq": integer(row.seq),
            ":ts": entry.ts.as_millis(),
            ":actor_kind": entry.actor.kind(),
            ":actor": entry.actor.name(),
            ":agent": entry.agent.as_ref().map(ToString::to_string),
            ":session": entry.session.map(|session| session.to_string()),
            ":run": entry.run.map(|run| run.to_string()),
            ":tool": entry.tool.as_ref().map(RecordedTool::as_str),
            ":effect": entry.effect.map(|effect| effect.as_str()),
            ":decision": entry.decision.map(|decision| decision.as_str()),
            ":diff_summary": entry.diff_summary,
            ":result": entry.result,
            ":previous": row.previous.to_string(),
            ":hash": row.hash.to_string(),
            ":key": key,
        })?;
    Ok(())
}

fn head(connection: &Connection, person: &PersonId) -> Result<Option<Head>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT seq, hash FROM audit_heads WHERE person = ?1")?;
    let head = statement
        .query_row([person.as_str()], |row| Ok(Head { seq: count(row, 0)?, hash: hash(row, 1)? }));
    Ok(head.optional()?)
}

pub(crate) fn page(
    connection: &Connection,
    person: &PersonId,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, seq, ts, actor_kind, actor, agent, session, run, tool, effect, decision,
                diff_summary, result, previous, hash
         FROM audit WHERE person = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3",
    )?;
    let before = before.map_or(i64::MAX, integer);
    let rows = statement.query_map(params![person.as_str(), before, limit], audit_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Calls `each` for every row that came after the known ones, for each person in the order of their
/// chain.
pub(crate) fn rows_after(
    connection: &Connection,
    known: &BTreeMap<PersonId, u64>,
    mut each: impl FnMut(&AuditRow),
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached("SELECT person, seq FROM audit_heads")?;
    let heads = statement.query_map([], |row| Ok((parsed::<PersonId>(row, 0)?, count(row, 1)?)))?;
    for head in heads {
        let (person, newest) = head?;
        let after = known.get(&person).copied().unwrap_or(0);
        for seq in after + 1..=newest {
            page(connection, &person, Some(seq + 1), 1)?.iter().for_each(&mut each);
        }
    }
    Ok(())
}

/// Walks the chain from its start. It counts as broken at the first row that is missing, changed or
/// does not belong to it.
pub(crate) fn verify(
    connection: &Connection,
    person: &PersonId,
    seal: Option<&AuditSeal>,
) -> Result<ChainState, StoreError> {
    // The sealed head is read before the snapshot is taken, so that every row the head covers is in
    // the snapshot.
    let sealed = seal.and_then(|seal| seal.head(person));
    // One read transaction gives a consistent view of both tables while others write.
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(
        "SELECT person, seq, ts, actor_kind, actor, agent, session, run, tool, effect, decision,
                diff_summary, result, previous, hash, key
         FROM audit WHERE person = ?1 ORDER BY seq",
    )?;
    let mut check = ChainCheck::new(seal, sealed);
    let read = |row: &Row<'_>| Ok((audit_row(row)?, row.get::<_, Option<String>>(15)?));
    for row in statement.query_map([person.as_str()], read)? {
        match row {
            Ok((row, key)) if check.accepts(&row, key.as_deref()) => {}
            Ok(_) | Err(rusqlite::Error::FromSqlConversionFailure(..)) => {
                return Ok(check.broken());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let head = head(&snapshot, person)?.unwrap_or(Head::EMPTY);
    Ok(check.state(head))
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    let entry = AuditEntry {
        person: parsed(row, 0)?,
        ts: timestamp(row, 2)?,
        actor: Actor::read(row.get(3)?, row.get(4)?),
        agent: parsed_if_any(row, 5)?,
        session: parsed_if_any(row, 6)?,
        run: parsed_if_any(row, 7)?,
        tool: row.get::<_, Option<String>>(8)?.map(RecordedTool::read),
        effect: named_if_any(row, 9)?,
        decision: named_if_any(row, 10)?,
        diff_summary: row.get(11)?,
        result: row.get(12)?,
    };
    Ok(AuditRow { seq: count(row, 1)?, entry, previous: hash(row, 13)?, hash: hash(row, 14)? })
}
