//! Outgoing messages. Each key is sent once, and each peer's messages are sent in order.

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::Timestamp;
use tokio_postgres::Row;

use super::{RowOwner, peers};
use crate::postgres::convert::{get, named, shown, small, timestamp};
use crate::postgres::query::{StatementParameters, execute, read_all, row, rows};
use crate::postgres::transaction::TransactionError;
use crate::{AccountKey, NewPart, OutboxPart, PeerKey, Repeat, SendEnd, StoreError};

pub(super) const FORGET: &str = "DELETE FROM connector_outbox
     WHERE network = $1 AND account = $2 AND state = 'sent' AND created_at < $3";

pub(super) async fn queue(
    transaction: &Transaction<'_>,
    parts: &[NewPart],
    at: Timestamp,
) -> Result<(), TransactionError> {
    for part in parts {
        let account = &part.peer.account;
        // The account is locked, so that messages are sent in the order of their numbers.
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

/// Lists the first message of each peer, unless it is being sent.
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

pub(super) async fn begin(
    client: &impl GenericClient,
    id: i64,
    owner: RowOwner<'_>,
) -> Result<bool, StoreError> {
    let begin = "UPDATE connector_outbox
                 SET state = 'sending', attempts = attempts + 1, gateway = $2, incarnation = $3
                 WHERE id = $1 AND state = 'queued'
                   AND EXISTS (SELECT 1 FROM gateways
                               WHERE gateways.id = $2 AND gateways.incarnation = $3
                                 AND until > clock_timestamp())";
    Ok(execute(client, begin, &[&id, &owner.gateway, &owner.incarnation]).await? > 0)
}

/// Records how a send ended. Only the gateway that began a send knows this. Once another gateway
/// has settled the send, the report no longer counts.
pub(super) async fn end(
    client: &impl GenericClient,
    id: i64,
    owner: RowOwner<'_>,
    end: &SendEnd,
) -> Result<(), StoreError> {
    let RowOwner { gateway, incarnation } = owner;
    let ended = match end {
        SendEnd::Sent(message) => {
            let sent = "UPDATE connector_outbox
                        SET state = 'sent', message = $4, body = '', why = ''
                        WHERE id = $1 AND state = 'sending' AND gateway = $2 AND incarnation = $3";
            execute(client, sent, &[&id, &gateway, &incarnation, &shown(message)]).await?
        }
        SendEnd::Again { body, repeat, not_before, why } => {
            let again = "UPDATE connector_outbox
                         SET state = 'queued', body = $4, repeatable = $5, not_before = $6,
                             why = $7
                         WHERE id = $1 AND state = 'sending' AND gateway = $2 AND incarnation = $3";
            let (body, why) = (shown(body), shown(why));
            let (is_safe, not_before) = (*repeat == Repeat::Safe, not_before.as_millis());
            let given: StatementParameters<'_> =
                &[&id, &gateway, &incarnation, &body, &is_safe, &not_before, &why];
            execute(client, again, given).await?
        }
        SendEnd::Unknown(why) => close(client, id, owner, ("unknown", why)).await?,
        SendEnd::Dead(why) => close(client, id, owner, ("dead", why)).await?,
    };
    if ended > 0 { Ok(()) } else { Err(StoreError::LeaseLost) }
}

async fn close(
    client: &impl GenericClient,
    id: i64,
    owner: RowOwner<'_>,
    (state, why): (&str, &str),
) -> Result<u64, tokio_postgres::Error> {
    let close = "UPDATE connector_outbox SET state = $4, why = $5
                 WHERE id = $1 AND state = 'sending' AND gateway = $2 AND incarnation = $3";
    let given: StatementParameters<'_> =
        &[&id, &owner.gateway, &owner.incarnation, &state, &shown(why)];
    execute(client, close, given).await
}

/// The condition for sends whose gateway's incarnation is dead. If `$3` and `$4` name a gateway, it
/// also covers that gateway's own sends and those of older versions, which wrote no owner.
macro_rules! is_lost {
    () => {
        "network = $1 AND account = $2 AND state = 'sending'
         AND (gateway IS NOT NULL OR $3::TEXT IS NOT NULL)
         AND (gateway = $3 AND incarnation = $4
              OR NOT EXISTS (SELECT 1 FROM gateways AS owner
                             WHERE owner.id = connector_outbox.gateway
                               AND owner.incarnation = connector_outbox.incarnation
                               AND owner.until > clock_timestamp()))"
    };
}

/// Settles interrupted sends; nobody knows whether they arrived. `own` is given when this gateway
/// starts the account, because then it is not sending anything itself.
pub(super) async fn settle(
    transaction: &Transaction<'_>,
    account: &AccountKey,
    own: Option<RowOwner<'_>>,
) -> Result<u64, TransactionError> {
    let (gateway, incarnation) = own.map(|own| (own.gateway, own.incarnation)).unzip();
    let given: StatementParameters<'_> =
        &[&account.network, &account.account, &gateway, &incarnation];
    let repeat =
        concat!("UPDATE connector_outbox SET state = 'queued' WHERE repeatable AND ", is_lost!());
    execute(transaction, repeat, given).await?;
    let unknown = concat!(
        "UPDATE connector_outbox SET state = 'unknown',
             why = 'The server stopped while it was being sent.' WHERE ",
        is_lost!()
    );
    Ok(execute(transaction, unknown, given).await?)
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
