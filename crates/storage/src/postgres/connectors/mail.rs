//! Messages that receivers fetch themselves.

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::Timestamp;

use super::peers;
use crate::postgres::convert::{get, shown};
use crate::postgres::query::{execute, read_all, row, rows};
use crate::postgres::transaction::TransactionError;
use crate::{Mail, PeerKey, StoreError};

pub(super) const FORGET: &str =
    "DELETE FROM connector_mail WHERE network = $1 AND account = $2 AND created_at < $3";

pub(super) async fn put(
    transaction: &Transaction<'_>,
    peer: &PeerKey,
    key: &str,
    text: &str,
    at: Timestamp,
) -> Result<i64, TransactionError> {
    // The account is locked, because a receiver fetches by number and would miss a smaller number
    // that appears later.
    peers::hold_account(transaction, &peer.account).await?;
    let (network, account) = (&peer.account.network, &peer.account.account);
    execute(
        transaction,
        "INSERT INTO connector_mail (network, account, peer, key, text, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        &[network, account, &peer.peer, &key, &shown(text), &at.as_millis()],
    )
    .await?;
    let select = "SELECT id FROM connector_mail WHERE network = $1 AND account = $2 AND key = $3";
    Ok(get(&row(transaction, select, &[network, account, &key]).await?, 0)?)
}

pub(super) async fn after(
    client: &impl GenericClient,
    peer: &PeerKey,
    after: i64,
    limit: u32,
) -> Result<Vec<Mail>, StoreError> {
    let found = rows(
        client,
        "SELECT id, text FROM connector_mail
         WHERE network = $1 AND account = $2 AND peer = $3 AND id > $4 ORDER BY id LIMIT $5",
        &[&peer.account.network, &peer.account.account, &peer.peer, &after, &i64::from(limit)],
    )
    .await?;
    read_all(&found, |row| Ok(Mail { id: get(row, 0)?, text: get(row, 1)? }))
}
