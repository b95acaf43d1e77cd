//! A chain of rows for each person: every row holds the hash of the one before, and the newest is
//! named apart, so that changing, removing or adding one anywhere is seen.

use std::borrow::Cow;
use std::collections::BTreeMap;

use onyx_types::{Hash, PersonId, visible_line};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::{AuditEntry, AuditRow, ChainState, StoreError};

use super::convert::{count, hash, integer, named_if_any, parsed, parsed_if_any, timestamp};
use super::seal::{AuditSeal, SealedHead};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    seq: u64,
    hash: Hash,
}

/// Whoever reads a row sees all of it: names and words in it may be a model's.
fn visible_entry(mut entry: AuditEntry) -> AuditEntry {
    let texts = [&mut entry.actor_kind, &mut entry.actor, &mut entry.diff_summary];
    for text in texts.into_iter().chain([&mut entry.result]).chain(&mut entry.tool) {
        let shown = match visible_line(text) {
            Cow::Owned(shown) => shown,
            Cow::Borrowed(_) => continue,
        };
        *text = shown;
    }
    entry
}

pub(crate) fn append(
    connection: &Connection,
    entry: AuditEntry,
    seal: Option<&AuditSeal>,
) -> Result<AuditRow, StoreError> {
    let entry = visible_entry(entry);
    let head = head(connection, &entry.person)?;
    let (seq, previous) = head.map_or((1, Hash::ZERO), |head| (head.seq + 1, head.hash));
    let hash = hash_of(seq, &entry, previous);
    let hash = seal.map_or(hash, |seal| seal.sealed(hash));
    let row = AuditRow { seq, entry, previous, hash };
    insert(connection, &row, seal.map(AuditSeal::name))?;
    connection
        .prepare_cached(
            "INSERT INTO audit_heads (person, seq, hash) VALUES (?1, ?2, ?3)
             ON CONFLICT (person) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
        )?
        .execute(params![row.entry.person.as_str(), integer(seq), hash.to_string()])?;
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

/// Every row that came after those that are known, each person's in their order.
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

/// Walks the chain from its start. The first row that is missing, changed or does not belong is
/// where it is broken.
pub(crate) fn verify(
    connection: &Connection,
    person: &PersonId,
    seal: Option<&AuditSeal>,
) -> Result<ChainState, StoreError> {
    // Before the view is taken: rows that come meanwhile are in the view or in neither.
    let sealed = seal.and_then(|seal| seal.head(person));
    // One view of both tables, while others write.
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(
        "SELECT person, seq, ts, actor_kind, actor, agent, session, run, tool, effect, decision,
                diff_summary, result, previous, hash, key
         FROM audit WHERE person = ?1 ORDER BY seq",
    )?;
    let mut walk = Walk { seal, sealed, last: Head { seq: 0, hash: Hash::ZERO }, first: None };
    let read = |row: &Row<'_>| Ok((audit_row(row)?, row.get::<_, Option<String>>(15)?));
    for row in statement.query_map([person.as_str()], read)? {
        match row {
            Ok((row, key)) if walk.accepts(&row, key.as_deref()) => {}
            Ok(_) | Err(rusqlite::Error::FromSqlConversionFailure(..)) => {
                return Ok(ChainState::Broken { at: walk.last.seq + 1 });
            }
            Err(error) => return Err(error.into()),
        }
    }
    let head = head(&snapshot, person)?.unwrap_or(Head { seq: 0, hash: Hash::ZERO });
    Ok(walk.state(head))
}

/// How far a chain was looked through.
struct Walk<'a> {
    seal: Option<&'a AuditSeal>,
    /// Where the chain had come to, as it is noted outside.
    sealed: Option<SealedHead>,
    last: Head,
    /// The first row that the key protects.
    first: Option<u64>,
}

impl Walk<'_> {
    fn accepts(&mut self, row: &AuditRow, key: Option<&str>) -> bool {
        if row.seq != self.last.seq + 1 || row.previous != self.last.hash {
            return false;
        }
        let plain = hash_of(row.seq, &row.entry, row.previous);
        let of_ours = self.seal.filter(|seal| key == Some(seal.name()));
        let is_hashed_well = match (of_ours, key) {
            (Some(seal), _) => row.hash == seal.sealed(plain),
            (None, None) => row.hash == plain,
            // Only whoever has that key can tell; its place in the chain is right.
            (None, Some(_)) => true,
        };
        // From the first row of our key on there are only such rows, or somebody took it off.
        let must_be_ours = self.first.is_some()
            || self.sealed.as_ref().is_some_and(|sealed| row.seq >= sealed.first);
        let is_where_it_was = self
            .sealed
            .as_ref()
            .is_none_or(|sealed| sealed.seq != row.seq || sealed.hash == row.hash);
        if !is_hashed_well || (must_be_ours && of_ours.is_none()) || !is_where_it_was {
            return false;
        }
        if of_ours.is_some() {
            self.first = self.first.or(Some(row.seq));
        }
        self.last = Head { seq: row.seq, hash: row.hash };
        true
    }

    fn state(&self, head: Head) -> ChainState {
        let rows = self.last.seq;
        if self.sealed.as_ref().is_some_and(|sealed| sealed.seq > rows) {
            return ChainState::Broken { at: rows + 1 };
        }
        if head != self.last {
            return ChainState::Broken { at: head.seq.min(rows + 1) };
        }
        match (self.seal, self.first) {
            (None, _) | (Some(_), Some(1)) => ChainState::Whole { rows },
            (Some(_), None) if rows == 0 => ChainState::Whole { rows },
            (Some(_), first) => ChainState::SealedFrom { rows, first: first.unwrap_or(rows + 1) },
        }
    }
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
