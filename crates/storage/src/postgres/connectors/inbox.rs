//! Updates from networks, each stored once.

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{PersonId, RunId, Timestamp};
use tokio_postgres::Row;

use super::{RowOwner, peers};
use crate::postgres::convert::{get, named, parsed, parsed_if_any, shown, small, timestamp};
use crate::postgres::query::{StatementParameters, execute, read_all, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{AccountKey, InboxUpdate, NewUpdate, PeerKey, StoreError, UpdateFailure};

pub(super) const FORGET: &str = "DELETE FROM connector_inbox
     WHERE network = $1 AND account = $2 AND state = 'done' AND received_at < $3";

pub(super) async fn cursor(
    client: &impl GenericClient,
    account: &AccountKey,
) -> Result<Option<String>, StoreError> {
    let select = "SELECT cursor FROM connector_accounts WHERE network = $1 AND account = $2";
    let found = row_if_any(client, select, &[&account.network, &account.account]).await?;
    found.map_or(Ok(None), |row| get(&row, 0))
}

pub(super) async fn store(
    transaction: &Transaction<'_>,
    account: &AccountKey,
    updates: &[NewUpdate],
    cursor: Option<&str>,
    at: Timestamp,
) -> Result<usize, TransactionError> {
    // The account is locked, so that the numbers of updates have the order in which the updates
    // came.
    peers::hold_account(transaction, account).await?;
    let mut stored = 0;
    for update in updates {
        let added = execute(
            transaction,
            "INSERT INTO connector_inbox
                 (network, account, update_id, peer, message, body, state, received_at)
             VALUES ($1, $2, $3, $4, $5, $6, 'new', $7)
             ON CONFLICT DO NOTHING",
            &[
                &account.network,
                &account.account,
                &update.update,
                &update.peer,
                &update.message,
                &shown(&update.body),
                &at.as_millis(),
            ],
        )
        .await?;
        stored += usize::try_from(added).unwrap_or_default();
    }
    if let Some(cursor) = cursor {
        let set = "UPDATE connector_accounts SET cursor = $3 WHERE network = $1 AND account = $2";
        execute(transaction, set, &[&account.network, &account.account, &cursor]).await?;
    }
    Ok(stored)
}

const OPEN: &str = "SELECT id, network, account, peer, message, body, state, attempts, not_before,
                           person, run, growing, why, received_at,
                           state = 'working' AND EXISTS (
                               SELECT 1 FROM gateways AS owner
                               WHERE owner.id = connector_inbox.gateway
                                 AND owner.incarnation = connector_inbox.incarnation
                                 AND owner.until > clock_timestamp()
                                 AND NOT (owner.id = $4 AND owner.incarnation = $5))
                    FROM connector_inbox
                    WHERE network = $1 AND account = $2 AND state IN ('new', 'working')
                    ORDER BY id LIMIT $3";

const DEAD: &str = "SELECT id, network, account, peer, message, body, state, attempts, not_before,
                           person, run, growing, why, received_at, FALSE
                    FROM connector_inbox
                    WHERE network = $1 AND account = $2 AND state = 'dead'
                    ORDER BY id DESC LIMIT $3";

pub(super) async fn open(
    client: &impl GenericClient,
    account: &AccountKey,
    reader: RowOwner<'_>,
    limit: u32,
) -> Result<Vec<InboxUpdate>, StoreError> {
    let limit = i64::from(limit);
    let (network, name) = (&account.network, &account.account);
    let given: StatementParameters<'_> =
        &[network, name, &limit, &reader.gateway, &reader.incarnation];
    read_all(&rows(client, OPEN, given).await?, update)
}

pub(super) async fn dead(
    client: &impl GenericClient,
    account: &AccountKey,
    limit: u32,
) -> Result<Vec<InboxUpdate>, StoreError> {
    let given = i64::from(limit);
    let found = rows(client, DEAD, &[&account.network, &account.account, &given]).await?;
    read_all(&found, update)
}

fn update(row: &Row) -> Result<InboxUpdate, StoreError> {
    let account = AccountKey { network: get(row, 1)?, account: get(row, 2)? };
    let person: Option<PersonId> = parsed_if_any(row, 9)?;
    let run: Option<RunId> = parsed_if_any(row, 10)?;
    Ok(InboxUpdate {
        id: get(row, 0)?,
        peer: PeerKey { account, peer: get(row, 3)? },
        message: get(row, 4)?,
        body: get(row, 5)?,
        state: named(row, 6)?,
        attempts: small(row, 7)?,
        not_before: timestamp(row, 8)?,
        run: person.zip(run),
        growing: get(row, 11)?,
        why: get(row, 12)?,
        received_at: timestamp(row, 13)?,
        is_elsewhere: get(row, 14)?,
    })
}

/// Begins an update. One that another gateway left unfinished can be taken over once that gateway
/// is dead.
pub(super) async fn begin(
    client: &impl GenericClient,
    id: i64,
    owner: RowOwner<'_>,
) -> Result<Option<InboxUpdate>, StoreError> {
    let begun = row_if_any(
        client,
        "UPDATE connector_inbox
         SET state = 'working', attempts = attempts + 1, gateway = $2, incarnation = $3
         WHERE id = $1
           AND (state = 'new' OR state = 'working' AND (
                    (gateway = $2 AND incarnation = $3)
                    OR NOT EXISTS (SELECT 1 FROM gateways AS owner
                                   WHERE owner.id = connector_inbox.gateway
                                     AND owner.incarnation = connector_inbox.incarnation
                                     AND owner.until > clock_timestamp())))
           AND EXISTS (SELECT 1 FROM gateways AS beginner
                       WHERE beginner.id = $2 AND beginner.incarnation = $3
                         AND beginner.until > clock_timestamp())
         RETURNING id, network, account, peer, message, body, state, attempts, not_before,
                   person, run, growing, why, received_at, FALSE",
        &[&id, &owner.gateway, &owner.incarnation],
    )
    .await?;
    begun.as_ref().map(update).transpose()
}

/// Promises a run to an update, which need not have been begun yet.
pub(super) async fn promise(
    client: &impl GenericClient,
    id: i64,
    owner: RowOwner<'_>,
    person: &PersonId,
    run: RunId,
) -> Result<Option<(PersonId, RunId)>, StoreError> {
    let promised = row_if_any(
        client,
        "UPDATE connector_inbox SET person = coalesce(person, $4), run = coalesce(run, $5)
         WHERE id = $1
           AND (state = 'new' OR state = 'working' AND gateway = $2 AND incarnation = $3)
         RETURNING person, run",
        &[&id, &owner.gateway, &owner.incarnation, &person.as_str(), &run.to_string()],
    )
    .await?;
    promised.map(|row| Ok((parsed(&row, 0)?, parsed(&row, 1)?))).transpose()
}

pub(super) async fn set_growing(
    client: &impl GenericClient,
    id: i64,
    owner: RowOwner<'_>,
    message: &str,
) -> Result<(), StoreError> {
    let set = "UPDATE connector_inbox SET growing = $4
               WHERE id = $1 AND state = 'working' AND gateway = $2 AND incarnation = $3";
    let given: StatementParameters<'_> =
        &[&id, &owner.gateway, &owner.incarnation, &shown(message)];
    execute(client, set, given).await?;
    Ok(())
}

/// Marks an update as done and removes its text. The session has the text, and that of a stranger
/// must not be kept.
pub(super) async fn finish(
    transaction: &Transaction<'_>,
    id: i64,
    owner: RowOwner<'_>,
) -> Result<bool, TransactionError> {
    let finish = "UPDATE connector_inbox SET state = 'done', body = '', why = ''
                  WHERE id = $1 AND state = 'working' AND gateway = $2 AND incarnation = $3";
    Ok(execute(transaction, finish, &[&id, &owner.gateway, &owner.incarnation]).await? > 0)
}

pub(super) async fn fail(
    client: &impl GenericClient,
    id: i64,
    owner: RowOwner<'_>,
    failure: UpdateFailure,
    why: &str,
) -> Result<(), StoreError> {
    let (state, not_before, taken_back) = match failure {
        UpdateFailure::Later(at) => ("new", at.as_millis(), 1_i64),
        UpdateFailure::Again(at) => ("new", at.as_millis(), 0),
        UpdateFailure::Dead => ("dead", 0, 0),
    };
    execute(
        client,
        "UPDATE connector_inbox
         SET state = $4, not_before = $5, attempts = greatest(0, attempts - $6), why = $7
         WHERE id = $1 AND state = 'working' AND gateway = $2 AND incarnation = $3",
        &[&id, &owner.gateway, &owner.incarnation, &state, &not_before, &taken_back, &shown(why)],
    )
    .await?;
    Ok(())
}

pub(super) async fn revive(
    client: &impl GenericClient,
    account: &AccountKey,
    id: i64,
) -> Result<bool, StoreError> {
    let revive = "UPDATE connector_inbox
                  SET state = 'new', attempts = 0, not_before = 0, person = NULL, run = NULL
                  WHERE network = $1 AND account = $2 AND id = $3 AND state = 'dead'";
    Ok(execute(client, revive, &[&account.network, &account.account, &id]).await? > 0)
}

pub(super) async fn give_up(
    client: &impl GenericClient,
    account: &AccountKey,
    id: i64,
) -> Result<bool, StoreError> {
    let give_up = "UPDATE connector_inbox SET state = 'done', body = ''
                   WHERE network = $1 AND account = $2 AND id = $3 AND state = 'dead'";
    Ok(execute(client, give_up, &[&account.network, &account.account, &id]).await? > 0)
}
