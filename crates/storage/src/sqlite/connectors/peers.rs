//! The peers that an account has met, and the session in which each of them talks.

use onyx_types::DraftId;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::sqlite::convert::{count, integer, named, parsed, parsed_if_any, timestamp};
use crate::{
    AccountKey, ConversationRow, PairingCode, PeerChange, PeerKey, PeerRow, PeerState, StoreError,
};

pub(super) fn one(connection: &Connection, key: &PeerKey) -> Result<Option<PeerRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, network, account, peer, kind, name, state, person, code, code_expires,
                first_seen, last_seen
         FROM connector_peers WHERE network = ?1 AND account = ?2 AND peer = ?3",
    )?;
    let asked = params![key.account.network, key.account.account, key.peer];
    Ok(statement.query_row(asked, peer).optional()?)
}

pub(super) fn all(
    connection: &Connection,
    account: &AccountKey,
) -> Result<Vec<PeerRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, network, account, peer, kind, name, state, person, code, code_expires,
                first_seen, last_seen
         FROM connector_peers WHERE network = ?1 AND account = ?2
         ORDER BY last_seen DESC, id",
    )?;
    let rows = statement.query_map(params![account.network, account.account], peer)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn peer(row: &Row<'_>) -> rusqlite::Result<PeerRow> {
    let account = AccountKey { network: row.get(1)?, account: row.get(2)? };
    let code: Option<String> = row.get(8)?;
    let code = match code {
        Some(code) => Some(PairingCode { code, expires: timestamp(row, 9)? }),
        None => None,
    };
    Ok(PeerRow {
        id: row.get(0)?,
        key: PeerKey { account, peer: row.get(3)? },
        kind: named(row, 4)?,
        name: row.get(5)?,
        state: named(row, 6)?,
        person: parsed_if_any(row, 7)?,
        code,
        first_seen: timestamp(row, 10)?,
        last_seen: timestamp(row, 11)?,
    })
}

pub(super) fn put(
    connection: &Connection,
    change: &PeerChange,
    most_waiting: u64,
) -> Result<Option<PeerRow>, StoreError> {
    let account = &change.key.account;
    if change.state == PeerState::Waiting {
        // A code that is still valid stays, so that two messages at once do not get two codes.
        let known = one(connection, &change.key)?;
        let has_code =
            |row: &PeerRow| row.code.as_ref().is_some_and(|code| code.expires > change.at);
        if let Some(known) = known.filter(has_code) {
            return Ok(Some(known));
        }
        make_room(connection, change)?;
        if waiting_others(connection, &change.key)? >= most_waiting {
            return Ok(None);
        }
    }
    connection
        .prepare_cached(
            "INSERT INTO connector_peers
                 (network, account, peer, kind, name, state, person, code, code_expires,
                  first_seen, last_seen)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
             ON CONFLICT DO UPDATE SET kind = excluded.kind, name = excluded.name,
                 state = excluded.state, person = excluded.person, code = excluded.code,
                 code_expires = excluded.code_expires, last_seen = excluded.last_seen",
        )?
        .execute(params![
            account.network,
            account.account,
            change.key.peer,
            change.kind.as_str(),
            change.name,
            change.state.as_str(),
            change.person.as_ref().map(|person| person.as_str()),
            change.code.as_ref().map(|code| code.code.as_str()),
            change.code.as_ref().map(|code| code.expires.as_millis()),
            change.at.as_millis(),
        ])?;
    one(connection, &change.key)
}

/// Removes waiting peers whose codes have expired, because they can no longer be paired.
fn make_room(connection: &Connection, change: &PeerChange) -> Result<(), StoreError> {
    let account = &change.key.account;
    connection
        .prepare_cached(
            "DELETE FROM connector_peers
             WHERE network = ?1 AND account = ?2 AND state = 'waiting' AND code_expires <= ?3
               AND peer <> ?4",
        )?
        .execute(params![
            account.network,
            account.account,
            change.at.as_millis(),
            change.key.peer
        ])?;
    Ok(())
}

fn waiting_others(connection: &Connection, key: &PeerKey) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM connector_peers
         WHERE network = ?1 AND account = ?2 AND state = 'waiting' AND peer <> ?3",
    )?;
    let asked = params![key.account.network, key.account.account, key.peer];
    Ok(statement.query_row(asked, |row| count(row, 0))?)
}

pub(super) fn remove(connection: &Connection, key: &PeerKey) -> Result<(), StoreError> {
    let Some(row) = one(connection, key)? else { return Ok(()) };
    connection
        .prepare_cached("DELETE FROM connector_conversations WHERE peer = ?1")?
        .execute([row.id])?;
    connection
        .prepare_cached("DELETE FROM connector_proposals WHERE peer = ?1")?
        .execute([row.id])?;
    connection.prepare_cached("DELETE FROM connector_peers WHERE id = ?1")?.execute([row.id])?;
    Ok(())
}

pub(super) fn conversation(
    connection: &Connection,
    peer: i64,
    thread: &str,
) -> Result<ConversationRow, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT session, agent, model FROM connector_conversations
         WHERE peer = ?1 AND thread = ?2",
    )?;
    let found = statement
        .query_row(params![peer, thread], |row| {
            Ok(ConversationRow {
                session: parsed_if_any(row, 0)?,
                agent: parsed_if_any(row, 1)?,
                model: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

pub(super) fn put_conversation(
    connection: &Connection,
    peer: i64,
    thread: &str,
    row: &ConversationRow,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO connector_conversations (peer, thread, session, agent, model)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            peer,
            thread,
            row.session.map(|session| session.to_string()),
            row.agent.as_ref().map(|agent| agent.as_str()),
            row.model,
        ])?;
    Ok(())
}

pub(super) fn number(
    connection: &Connection,
    peer: i64,
    draft: DraftId,
) -> Result<u64, StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO connector_proposals (peer, number, draft)
             SELECT ?1, 1 + coalesce(max(number), 0), ?2 FROM connector_proposals WHERE peer = ?1
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![peer, draft.to_string()])?;
    let mut statement = connection
        .prepare_cached("SELECT number FROM connector_proposals WHERE peer = ?1 AND draft = ?2")?;
    Ok(statement.query_row(params![peer, draft.to_string()], |row| count(row, 0))?)
}

pub(super) fn proposal(
    connection: &Connection,
    peer: i64,
    number: u64,
) -> Result<Option<DraftId>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT draft FROM connector_proposals WHERE peer = ?1 AND number = ?2")?;
    let asked = params![peer, integer(number)];
    Ok(statement.query_row(asked, |row| parsed(row, 0)).optional()?)
}
