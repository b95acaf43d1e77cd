//! Outgoing messages: each key is sent once, and in order for each peer.

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::Timestamp;
use tokio_postgres::Row;

use super::peers;
use crate::postgres::convert::{get, named, shown, small, timestamp};
use crate::postgres::query::{execute, read_all, row, rows};
use crate::postgres::transaction::Trouble;
use crate::{AccountKey, NewPart, OutboxPart, PeerKey, Repeat, SendEnd, StoreError};

pub(super) const FORGET: &str = "DELETE FROM connector_outbox
     WHERE network = $1 AND account = $2 AND state = 'sent' AND created_at < $3";

pub(super) async fn queue(
    transaction: &Transaction<'_>,
    parts: &[NewPart],
    at: Timestamp,
) -> Result<(), Trouble> {
    for part in parts {
        let account = &part.peer.account;
        // One after the other, so that messages are sent in the order of their numbers.
        peers::hold_account(transaction, account).await?;
        execute(
            transaction,
            "INSERT INTO connector_outbox
                 (network, account, peer, key, body, repeatable, state, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7)
             ON CONFLICT DO NOTHING",
            &[
                &account.network,
                &account.account,
                &part.peer.peer,
                &part.key,
                &shown(&part.body),
                &(part.repeat == Repeat::Safe),
                &at.as_millis(),
            ],
        )
        .await?;
    }
    Ok(())
}

/// The first of each peer, unless it is being sent.
pub(super) async fn heads(
    client: &impl GenericClient,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<OutboxPart>, StoreError> {
    let found = rows(
        client,
        "WITH heads AS (
             SELECT min(id) AS head FROM connector_outbox
             WHERE network = $1 AND account = $2 AND state IN ('queued', 'sending')
             GROUP BY peer ORDER BY head LIMIT $3)
         SELECT id, network, account, peer, key, body, repeatable, state, attempts, not_before,
                why, created_at
         FROM heads JOIN connector_outbox ON id = head
         WHERE state = 'queued' ORDER BY id",
        &[&account.network, &account.account, &i64::from(limit)],
    )
    .await?;
    read_all(&found, part)
}

pub(super) async fn is_clear(
    client: &impl GenericClient,
    peer: &PeerKey,
) -> Result<bool, StoreError> {
    let found = row(
        client,
        "SELECT NOT EXISTS (
             SELECT 1 FROM connector_outbox
             WHERE network = $1 AND account = $2 AND peer = $3 AND state IN ('queued', 'sending'))",
        &[&peer.account.network, &peer.account.account, &peer.peer],
    )
    .await?;
    get(&found, 0)
}

pub(super) async fn dead(
    client: &impl GenericClient,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<OutboxPart>, StoreError> {
    let found = rows(
        client,
        "SELECT id, network, account, peer, key, body, repeatable, state, attempts, not_before,
                why, created_at
         FROM connector_outbox
         WHERE network = $1 AND account = $2 AND state IN ('dead', 'unknown')
         ORDER BY id DESC LIMIT $3",
        &[&account.network, &account.account, &i64::from(limit)],
    )
    .await?;
    read_all(&found, part)
}

fn part(row: &Row) -> Result<OutboxPart, StoreError> {
    let account = AccountKey { network: get(row, 1)?, account: get(row, 2)? };
    Ok(OutboxPart {
        id: get(row, 0)?,
        peer: PeerKey { account, peer: get(row, 3)? },
        key: get(row, 4)?,
        body: get(row, 5)?,
        repeat: if get(row, 6)? { Repeat::Safe } else { Repeat::Unsafe },
        state: named(row, 7)?,
        attempts: small(row, 8)?,
        not_before: timestamp(row, 9)?,
        why: get(row, 10)?,
        created_at: timestamp(row, 11)?,
    })
}

pub(super) async fn begin(client: &impl GenericClient, id: i64) -> Result<bool, StoreError> {
    let begin = "UPDATE connector_outbox SET state = 'sending', attempts = attempts + 1
                 WHERE id = $1 AND state = 'queued'";
    Ok(execute(client, begin, &[&id]).await? > 0)
}

pub(super) async fn end(
    client: &impl GenericClient,
    id: i64,
    end: &SendEnd,
) -> Result<(), StoreError> {
    match end {
        SendEnd::Sent(message) => {
            let sent =
                "UPDATE connector_outbox SET state = 'sent', message = $2, body = '', why = ''
                        WHERE id = $1";
            execute(client, sent, &[&id, &shown(message)]).await?
        }
        SendEnd::Again { body, repeat, not_before, why } => {
            execute(
                client,
                "UPDATE connector_outbox
                 SET state = 'queued', body = $2, repeatable = $3, not_before = $4, why = $5
                 WHERE id = $1",
                &[
                    &id,
                    &shown(body),
                    &(*repeat == Repeat::Safe),
                    &not_before.as_millis(),
                    &shown(why),
                ],
            )
            .await?
        }
        SendEnd::Unknown(why) => close(client, id, "unknown", why).await?,
        SendEnd::Dead(why) => close(client, id, "dead", why).await?,
    };
    Ok(())
}

async fn close(
    client: &impl GenericClient,
    id: i64,
    state: &str,
    why: &str,
) -> Result<u64, tokio_postgres::Error> {
    let close = "UPDATE connector_outbox SET state = $2, why = $3 WHERE id = $1";
    execute(client, close, &[&id, &state, &shown(why)]).await
}

/// Nobody knows whether what was being sent has arrived.
pub(super) async fn settle(
    transaction: &Transaction<'_>,
    account: &AccountKey,
) -> Result<u64, Trouble> {
    let repeat = "UPDATE connector_outbox SET state = 'queued'
                  WHERE network = $1 AND account = $2 AND state = 'sending' AND repeatable";
    execute(transaction, repeat, &[&account.network, &account.account]).await?;
    let unknown = "UPDATE connector_outbox SET state = 'unknown',
                       why = 'The server stopped while it was being sent.'
                   WHERE network = $1 AND account = $2 AND state = 'sending'";
    Ok(execute(transaction, unknown, &[&account.network, &account.account]).await?)
}

pub(super) async fn revive(
    client: &impl GenericClient,
    account: &AccountKey,
    id: i64,
) -> Result<bool, StoreError> {
    let revive = "UPDATE connector_outbox SET state = 'queued', attempts = 0, not_before = 0
                  WHERE network = $1 AND account = $2 AND id = $3 AND state IN ('dead', 'unknown')";
    Ok(execute(client, revive, &[&account.network, &account.account, &id]).await? > 0)
}

pub(super) async fn give_up(
    client: &impl GenericClient,
    account: &AccountKey,
    id: i64,
) -> Result<bool, StoreError> {
    let give_up = "UPDATE connector_outbox SET state = 'sent', body = ''
                   WHERE network = $1 AND account = $2 AND id = $3 AND state IN ('dead', 'unknown')";
    Ok(execute(client, give_up, &[&account.network, &account.account, &id]).await? > 0)
}
