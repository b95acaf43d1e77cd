//! Updates from networks, each stored once.

use onyx_types::{PersonId, RunId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::sqlite::convert::{named, parsed, parsed_if_any, timestamp};
use crate::{AccountKey, InboxUpdate, NewUpdate, PeerKey, StoreError, UpdateFailure};

pub(super) fn cursor(
    connection: &Connection,
    account: &AccountKey,
) -> Result<Option<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT cursor FROM connector_accounts WHERE network = ?1 AND account = ?2",
    )?;
    let found =
        statement.query_row(params![account.network, account.account], |row| row.get(0)).optional();
    Ok(found?.flatten())
}

pub(super) fn store(
    connection: &Connection,
    account: &AccountKey,
    updates: &[NewUpdate],
    cursor: Option<&str>,
    at: Timestamp,
) -> Result<usize, StoreError> {
    let mut stored = 0;
    for update in updates {
        stored += connection
            .prepare_cached(
                "INSERT INTO connector_inbox
                     (network, account, update_id, peer, message, body, state, received_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'new', ?7)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                account.network,
                account.account,
                update.update,
                update.peer,
                update.message,
                update.body,
                at.as_millis(),
            ])?;
    }
    if let Some(cursor) = cursor {
        connection
            .prepare_cached(
                "INSERT INTO connector_accounts (network, account, cursor) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET cursor = excluded.cursor",
            )?
            .execute(params![account.network, account.account, cursor])?;
    }
    Ok(stored)
}

const OPEN: &str = "SELECT id, network, account, peer, message, body, state, attempts, not_before,
                           person, run, growing, why, received_at
                    FROM connector_inbox
                    WHERE network = ?1 AND account = ?2 AND state IN ('new', 'working')
                    ORDER BY id LIMIT ?3";

const DEAD: &str = "SELECT id, network, account, peer, message, body, state, attempts, not_before,
                           person, run, growing, why, received_at
                    FROM connector_inbox
                    WHERE network = ?1 AND account = ?2 AND state = 'dead'
                    ORDER BY id DESC LIMIT ?3";

pub(super) fn open(
    connection: &Connection,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<InboxUpdate>, StoreError> {
    rows(connection, OPEN, account, limit)
}

pub(super) fn dead(
    connection: &Connection,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<InboxUpdate>, StoreError> {
    rows(connection, DEAD, account, limit)
}

fn rows(
    connection: &Connection,
    query: &'static str,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<InboxUpdate>, StoreError> {
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map(params![account.network, account.account, limit], update)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn update(row: &Row<'_>) -> rusqlite::Result<InboxUpdate> {
    let account = AccountKey { network: row.get(1)?, account: row.get(2)? };
    let person: Option<PersonId> = parsed_if_any(row, 9)?;
    let run: Option<RunId> = parsed_if_any(row, 10)?;
    Ok(InboxUpdate {
        id: row.get(0)?,
        peer: PeerKey { account, peer: row.get(3)? },
        message: row.get(4)?,
        body: row.get(5)?,
        state: named(row, 6)?,
        attempts: row.get(7)?,
        not_before: timestamp(row, 8)?,
        run: person.zip(run),
        growing: row.get(11)?,
        why: row.get(12)?,
        received_at: timestamp(row, 13)?,
        is_elsewhere: false,
    })
}

pub(super) fn begin(connection: &Connection, id: i64) -> Result<Option<InboxUpdate>, StoreError> {
    let mut statement = connection.prepare_cached(
        "UPDATE connector_inbox SET state = 'working', attempts = attempts + 1
         WHERE id = ?1 AND state IN ('new', 'working')
         RETURNING id, network, account, peer, message, body, state, attempts, not_before,
                   person, run, growing, why, received_at",
    )?;
    Ok(statement.query_row([id], update).optional()?)
}

pub(super) fn promise(
    connection: &Connection,
    id: i64,
    person: &PersonId,
    run: RunId,
) -> Result<Option<(PersonId, RunId)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "UPDATE connector_inbox SET person = coalesce(person, ?2), run = coalesce(run, ?3)
         WHERE id = ?1 AND state IN ('new', 'working')
         RETURNING person, run",
    )?;
    let promised = |row: &Row<'_>| Ok((parsed(row, 0)?, parsed(row, 1)?));
    Ok(statement.query_row(params![id, person.as_str(), run.to_string()], promised).optional()?)
}

/// Marks an update as done and removes its text. The session has the text, and that of a stranger
/// must not be kept.
pub(super) fn finish(connection: &Connection, id: i64) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE connector_inbox SET state = 'done', body = '', why = ''
             WHERE id = ?1 AND state IN ('new', 'working')",
        )?
        .execute([id])?;
    Ok(changed > 0)
}

pub(super) fn fail(
    connection: &Connection,
    id: i64,
    failure: UpdateFailure,
    why: &str,
) -> Result<(), StoreError> {
    let (state, not_before, taken_back) = match failure {
        UpdateFailure::Later(at) => ("new", at.as_millis(), 1),
        UpdateFailure::Again(at) => ("new", at.as_millis(), 0),
        UpdateFailure::Dead => ("dead", 0, 0),
    };
    connection
        .prepare_cached(
            "UPDATE connector_inbox
             SET state = ?2, not_before = ?3, attempts = max(0, attempts - ?4), why = ?5
             WHERE id = ?1 AND state IN ('new', 'working')",
        )?
        .execute(params![id, state, not_before, taken_back, why])?;
    Ok(())
}

pub(super) fn revive(
    connection: &Connection,
    account: &AccountKey,
    id: i64,
) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE connector_inbox
             SET state = 'new', attempts = 0, not_before = 0, person = NULL, run = NULL
             WHERE network = ?1 AND account = ?2 AND id = ?3 AND state = 'dead'",
        )?
        .execute(params![account.network, account.account, id])?;
    Ok(changed > 0)
}

pub(super) fn give_up(
    connection: &Connection,
    account: &AccountKey,
    id: i64,
) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE connector_inbox SET state = 'done', body = ''
             WHERE network = ?1 AND account = ?2 AND id = ?3 AND state = 'dead'",
        )?
        .execute(params![account.network, account.account, id])?;
    Ok(changed > 0)
}

pub(super) fn forget(
    connection: &Connection,
    account: &AccountKey,
    at: Timestamp,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM connector_inbox
             WHERE network = ?1 AND account = ?2 AND state = 'done' AND received_at < ?3",
        )?
        .execute(params![account.network, account.account, at.as_millis()])?;
    Ok(())
}
