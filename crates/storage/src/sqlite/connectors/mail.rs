//! Messages that receivers fetch themselves.

use onyx_types::Timestamp;
use rusqlite::{Connection, params};

use crate::{AccountKey, Mail, PeerKey, StoreError};

pub(super) fn put(
    connection: &Connection,
    peer: &PeerKey,
    key: &str,
    text: &str,
    at: Timestamp,
) -> Result<i64, StoreError> {
    let (network, account) = (&peer.account.network, &peer.account.account);
    connection
        .prepare_cached(
            "INSERT INTO connector_mail (network, account, peer, key, text, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute(params![network, account, peer.peer, key, text, at.as_millis()])?;
    let mut statement = connection.prepare_cached(
        "SELECT id FROM connector_mail WHERE network = ?1 AND account = ?2 AND key = ?3",
    )?;
    Ok(statement.query_row(params![network, account, key], |row| row.get(0))?)
}

pub(super) fn after(
    connection: &Connection,
    peer: &PeerKey,
    after: i64,
    limit: u32,
) -> Result<Vec<Mail>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, text FROM connector_mail
         WHERE network = ?1 AND account = ?2 AND peer = ?3 AND id > ?4 ORDER BY id LIMIT ?5",
    )?;
    let asked = params![peer.account.network, peer.account.account, peer.peer, after, limit];
    let rows = statement.query_map(asked, |row| Ok(Mail { id: row.get(0)?, text: row.get(1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn forget(
    connection: &Connection,
    account: &AccountKey,
    at: Timestamp,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM connector_mail WHERE network = ?1 AND account = ?2 AND created_at < ?3",
        )?
        .execute(params![account.network, account.account, at.as_millis()])?;
    Ok(())
}
