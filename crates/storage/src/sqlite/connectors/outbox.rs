//! Outgoing messages. Each key is sent once, and each peer's messages are sent in order.

use onyx_types::Timestamp;
use rusqlite::{Connection, Row, params};

use crate::sqlite::convert::{named, timestamp};
use crate::{AccountKey, NewPart, OutboxPart, PeerKey, Repeat, SendEnd, StoreError};

pub(super) fn queue(
    connection: &Connection,
    parts: &[NewPart],
    at: Timestamp,
) -> Result<(), StoreError> {
    for part in parts {
        let account = &part.peer.account;
        connection
            .prepare_cached(
                "INSERT INTO connector_outbox
                     (network, account, peer, key, body, repeatable, state, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                account.network,
                account.account,
                part.peer.peer,
                part.key,
                part.body,
                part.repeat == Repeat::Safe,
                at.as_millis(),
            ])?;
    }
    Ok(())
}

/// Lists the first message of each peer, unless it is being sent.
pub(super) fn heads(
    connection: &Connection,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<OutboxPart>, StoreError> {
    let mut statement = connection.prepare_cached(
        "WITH heads AS (
             SELECT min(id) AS head FROM connector_outbox
             WHERE network = ?1 AND account = ?2 AND state IN ('queued', 'sending')
             GROUP BY peer ORDER BY head LIMIT ?3)
         SELECT id, network, account, peer, key, body, repeatable, state, attempts, not_before,
                why, created_at
         FROM heads JOIN connector_outbox ON id = head
         WHERE state = 'queued' ORDER BY id",
    )?;
    let rows = statement.query_map(params![account.network, account.account, limit], part)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn is_clear(connection: &Connection, peer: &PeerKey) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT NOT EXISTS (
             SELECT 1 FROM connector_outbox
             WHERE network = ?1 AND account = ?2 AND peer = ?3 AND state IN ('queued', 'sending'))",
    )?;
    let asked = params![peer.account.network, peer.account.account, peer.peer];
    Ok(statement.query_row(asked, |row| row.get(0))?)
}

pub(super) fn dead(
    connection: &Connection,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<OutboxPart>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, network, account, peer, key, body, repeatable, state, attempts, not_before,
                why, created_at
         FROM connector_outbox
         WHERE network = ?1 AND account = ?2 AND state IN ('dead', 'unknown')
         ORDER BY id DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![account.network, account.account, limit], part)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn part(row: &Row<'_>) -> rusqlite::Result<OutboxPart> {
    let account = AccountKey { network: row.get(1)?, account: row.get(2)? };
    let repeatable: bool = row.get(6)?;
    Ok(OutboxPart {
        id: row.get(0)?,
        peer: PeerKey { account, peer: row.get(3)? },
        key: row.get(4)?,
        body: row.get(5)?,
        repeat: if repeatable { Repeat::Safe } else { Repeat::Unsafe },
        state: named(row, 7)?,
        attempts: row.get(8)?,
        not_before: timestamp(row, 9)?,
        why: row.get(10)?,
        created_at: timestamp(row, 11)?,
    })
}

pub(super) fn begin(connection: &Connection, id: i64) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE connector_outbox SET state = 'sending', attempts = attempts + 1
             WHERE id = ?1 AND state = 'queued'",
        )?
        .execute([id])?;
    Ok(changed > 0)
}

pub(super) fn end(connection: &Connection, id: i64, end: &SendEnd) -> Result<(), StoreError> {
    match end {
        SendEnd::Sent(message) => connection
            .prepare_cached(
                "UPDATE connector_outbox SET state = 'sent', message = ?2, body = '', why = ''
                 WHERE id = ?1",
            )?
            .execute(params![id, message])?,
        SendEnd::Again { body, repeat, not_before, why } => connection
            .prepare_cached(
                "UPDATE connector_outbox
                 SET state = 'queued', body = ?2, repeatable = ?3, not_before = ?4, why = ?5
                 WHERE id = ?1",
            )?
            .execute(params![id, body, *repeat == Repeat::Safe, not_before.as_millis(), why])?,
        SendEnd::Unknown(why) => close(connection, id, "unknown", why)?,
        SendEnd::Dead(why) => close(connection, id, "dead", why)?,
    };
    Ok(())
}

fn close(
    connection: &Connection,
    id: i64,
    state: &str,
    why: &str,
) -> Result<usize, rusqlite::Error> {
    connection
        .prepare_cached("UPDATE connector_outbox SET state = ?2, why = ?3 WHERE id = ?1")?
        .execute(params![id, state, why])
}

/// Settles interrupted sends. Nobody knows whether they arrived, so only repeatable ones are queued
/// again.
pub(super) fn settle(connection: &Connection, account: &AccountKey) -> Result<u64, StoreError> {
    connection
        .prepare_cached(
            "UPDATE connector_outbox SET state = 'queued'
             WHERE network = ?1 AND account = ?2 AND state = 'sending' AND repeatable",
        )?
        .execute(params![account.network, account.account])?;
    let unknown = connection
        .prepare_cached(
            "UPDATE connector_outbox SET state = 'unknown',
                 why = 'The server stopped while it was being sent.'
             WHERE network = ?1 AND account = ?2 AND state = 'sending'",
        )?
        .execute(params![account.network, account.account])?;
    Ok(unknown as u64)
}

pub(super) fn revive(
    connection: &Connection,
    account: &AccountKey,
    id: i64,
) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE connector_outbox SET state = 'queued', attempts = 0, not_before = 0
             WHERE network = ?1 AND account = ?2 AND id = ?3 AND state IN ('dead', 'unknown')",
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
            "UPDATE connector_outbox SET state = 'sent', body = ''
             WHERE network = ?1 AND account = ?2 AND id = ?3 AND state IN ('dead', 'unknown')",
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
            "DELETE FROM connector_outbox
             WHERE network = ?1 AND account = ?2 AND state = 'sent' AND created_at < ?3",
        )?
        .execute(params![account.network, account.account, at.as_millis()])?;
    Ok(())
}
