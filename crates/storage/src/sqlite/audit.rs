//! A chain of rows for each person: every row holds the hash of the one before, and the newest is
//! named apart, so that changing, removing or adding one anywhere is seen.

use onyx_types::{Hash, PersonId};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::{AuditEntry, AuditRow, ChainState, StoreError};

use super::convert::{count, hash, integer, named_if_any, parsed, parsed_if_any, timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    seq: u64,
    hash: Hash,
}

pub(crate) fn append(connection: &Connection, entry: AuditEntry) -> Result<AuditRow, StoreError> {
    let head = head(connection, &entry.person)?;
    let (seq, previous) = head.map_or((1, Hash::ZERO), |head| (head.seq + 1, head.hash));
    let hash = hash_of(seq, &entry, previous);
    let row = AuditRow { seq, entry, previous, hash };
    insert(connection, &row)?;
    connection
        .prepare_cached(
            "INSERT INTO audit_heads (person, seq, hash) VALUES (?1, ?2, ?3)
             ON CONFLICT (person) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
        )?
        .execute(params![row.entry.person.as_str(), integer(seq), hash.to_string()])?;
    Ok(row)
}

fn insert(connection: &Connection, row: &AuditRow) -> Result<(), StoreError> {
    let entry = &row.entry;
    connection
        .prepare_cached(
            "INSERT INTO audit (person, seq, ts, actor_kind, actor, agent, session, run, tool,
                                effect, decision, diff_summary, result, previous, hash)
             VALUES (:person, :seq, :ts, :actor_kind, :actor, :agent, :session, :run, :tool,
                     :effect, :decision, :diff_summary, :result, :previous, :hash)",
        )?
        .execute(named_params! {
            ":person": entry.person.as_str(),
            ":seq": integer(row.seq),
            ":ts": entry.ts.as_millis(),
            ":actor_kind": entry.actor_kind,
            ":actor": entry.actor,
            ":agent": entry.agent.as_ref().map(ToString::to_string),
            ":session": entry.session.map(|session| session.to_string()),
            ":run": entry.run.map(|run| run.to_string()),
            ":tool": entry.tool,
            ":effect": entry.effect.map(|effect| effect.as_str()),
            ":decision": entry.decision.map(|decision| decision.as_str()),
            ":diff_summary": entry.diff_summary,
            ":result": entry.result,
            ":previous": row.previous.to_string(),
            ":hash": row.hash.to_string(),
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

/// Walks the chain from its start. The first row that is missing, changed or does not belong is
/// where it is broken.
pub(crate) fn verify(connection: &Connection, person: &PersonId) -> Result<ChainState, StoreError> {
    // One view of both tables, while others write.
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(
        "SELECT person, seq, ts, actor_kind, actor, agent, session, run, tool, effect, decision,
                diff_summary, result, previous, hash
         FROM audit WHERE person = ?1 ORDER BY seq",
    )?;
    let mut last = Head { seq: 0, hash: Hash::ZERO };
    for row in statement.query_map([person.as_str()], audit_row)? {
        let expected = last.seq + 1;
        match row {
            Ok(row) if follows(&row, last) => last = Head { seq: row.seq, hash: row.hash },
            Ok(_) | Err(rusqlite::Error::FromSqlConversionFailure(..)) => {
                return Ok(ChainState::Broken { at: expected });
            }
            Err(error) => return Err(error.into()),
        }
    }
    let head = head(&snapshot, person)?.unwrap_or(Head { seq: 0, hash: Hash::ZERO });
    if head == last {
        Ok(ChainState::Whole { rows: last.seq })
    } else {
        Ok(ChainState::Broken { at: head.seq.min(last.seq + 1) })
    }
}

fn follows(row: &AuditRow, last: Head) -> bool {
    row.seq == last.seq + 1
        && row.previous == last.hash
        && row.hash == hash_of(row.seq, &row.entry, row.previous)
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    let entry = AuditEntry {
        person: parsed(row, 0)?,
        ts: timestamp(row, 2)?,
        actor_kind: row.get(3)?,
        actor: row.get(4)?,
        agent: parsed_if_any(row, 5)?,
        session: parsed_if_any(row, 6)?,
        run: parsed_if_any(row, 7)?,
        tool: row.get(8)?,
        effect: named_if_any(row, 9)?,
        decision: named_if_any(row, 10)?,
        diff_summary: row.get(11)?,
        result: row.get(12)?,
    };
    Ok(AuditRow { seq: count(row, 1)?, entry, previous: hash(row, 13)?, hash: hash(row, 14)? })
}

/// Over every field. A field that is absent differs from an empty one.
fn hash_of(seq: u64, entry: &AuditEntry, previous: Hash) -> Hash {
    let (agent, session, run) = (
        entry.agent.as_ref().map(ToString::to_string),
        entry.session.map(|session| session.to_string()),
        entry.run.map(|run| run.to_string()),
    );
    let optional = [
        agent.as_deref(),
        session.as_deref(),
        run.as_deref(),
        entry.tool.as_deref(),
        entry.effect.map(|effect| effect.as_str()),
        entry.decision.map(|decision| decision.as_str()),
    ];
    let numbers = [seq.to_le_bytes(), entry.ts.as_millis().to_le_bytes()];
    let texts = [
        entry.person.as_str(),
        &entry.actor_kind,
        &entry.actor,
        &entry.diff_summary,
        &entry.result,
    ];
    let parts = numbers
        .iter()
        .map(<[u8; 8]>::as_slice)
        .chain(texts.iter().map(|text| text.as_bytes()))
        .chain(optional.iter().flat_map(|field| match field {
            Some(text) => [b"1".as_slice(), text.as_bytes()],
            None => [b"0".as_slice(), b"".as_slice()],
        }))
        .chain([previous.as_bytes().as_slice()]);
    Hash::of_parts(parts)
}
