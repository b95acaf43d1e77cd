//! The peers that an account has met, and the session in which each of them talks.

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::DraftId;
use tokio_postgres::Row;

use crate::postgres::convert::{
    count, get, integer, named, parsed, parsed_if_any, shown, shown_if_any, timestamp,
};
use crate::postgres::query::{execute, read_all, row, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{
    AccountKey, ConversationRow, PairingCode, PeerChange, PeerKey, PeerRow, PeerState, StoreError,
};

/// Locks an account until the transaction ends, so that no other transaction assigns numbers or
/// counts in it.
pub(super) async fn hold_account(
    transaction: &Transaction<'_>,
    account: &AccountKey,
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "INSERT INTO connector_accounts (network, account) VALUES ($1, $2)
         ON CONFLICT (network, account) DO UPDATE SET cursor = connector_accounts.cursor",
        &[&account.network, &account.account],
    )
    .await?;
    Ok(())
}

pub(super) async fn one(
    client: &impl GenericClient,
    key: &PeerKey,
) -> Result<Option<PeerRow>, StoreError> {
    let found = row_if_any(
        client,
        "SELECT id, network, account, peer, kind, name, state, person, code, code_expires,
                first_seen, last_seen
         FROM connector_peers WHERE network = $1 AND account = $2 AND peer = $3",
        &[&key.account.network, &key.account.account, &key.peer],
    )
    .await?;
    found.as_ref().map(peer).transpose()
}

pub(super) async fn all(
    client: &impl GenericClient,
    account: &AccountKey,
) -> Result<Vec<PeerRow>, StoreError> {
    let found = rows(
        client,
        "SELECT id, network, account, peer, kind, name, state, person, code, code_expires,
                first_seen, last_seen
         FROM connector_peers WHERE network = $1 AND account = $2
         ORDER BY last_seen DESC, id",
        &[&account.network, &account.account],
    )
    .await?;
    read_all(&found, peer)
}

fn peer(row: &Row) -> Result<PeerRow, StoreError> {
    let account = AccountKey { network: get(row, 1)?, account: get(row, 2)? };
    let code = match get::<Option<String>>(row, 8)? {
        Some(code) => Some(PairingCode { code, expires: timestamp(row, 9)? }),
        None => None,
    };
    Ok(PeerRow {
        id: get(row, 0)?,
        key: PeerKey { account, peer: get(row, 3)? },
        kind: named(row, 4)?,
        name: get(row, 5)?,
        state: named(row, 6)?,
        person: parsed_if_any(row, 7)?,
        code,
        first_seen: timestamp(row, 10)?,
        last_seen: timestamp(row, 11)?,
    })
}

pub(super) async fn put(
    transaction: &Transaction<'_>,
    change: &PeerChange,
    most_waiting: u64,
) -> Result<Option<PeerRow>, TransactionError> {
    let account = &change.key.account;
    hold_account(transaction, account).await?;
    if change.state == PeerState::Waiting {
        // A code that is still valid stays, so that two messages at once do not get two codes.
        let known = one(transaction, &change.key).await?;
        let has_code =
            |row: &PeerRow| row.code.as_ref().is_some_and(|code| code.expires > change.at);
        if let Some(known) = known.filter(has_code) {
            return Ok(Some(known));
        }
        make_room(transaction, change).await?;
        if waiting_others(transaction, &change.key).await? >= most_waiting {
            return Ok(None);
        }
    }
    execute(
        transaction,
        "INSERT INTO connector_peers
             (network, account, peer, kind, name, state, person, code, code_expires, first_seen,
              last_seen)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
         ON CONFLICT (network, account, peer) DO UPDATE SET kind = excluded.kind,
             name = excluded.name, state = excluded.state, person = excluded.person,
             code = excluded.code, code_expires = excluded.code_expires,
             last_seen = excluded.last_seen",
        &[
            &account.network,
            &account.account,
            &change.key.peer,
            &change.kind.as_str(),
            &shown(&change.name),
            &change.state.as_str(),
            &change.person.as_ref().map(|person| person.as_str()),
            &change.code.as_ref().map(|code| code.code.as_str()),
            &change.code.as_ref().map(|code| code.expires.as_millis()),
            &change.at.as_millis(),
        ],
    )
    .await?;
    Ok(one(transaction, &change.key).await?)
}

/// Removes waiting peers whose codes have expired, because they can no longer be paired.
async fn make_room(
    transaction: &Transaction<'_>,
    change: &PeerChange,
) -> Result<(), TransactionError> {
    let account = &change.key.account;
    execute(
        transaction,
        "DELETE FROM connector_peers
         WHERE network = $1 AND account = $2 AND state = 'waiting' AND code_expires <= $3
           AND peer <> $4",
        &[&account.network, &account.account, &change.at.as_millis(), &change.key.peer],
    )
    .await?;
    Ok(())
}

async fn waiting_others(
    transaction: &Transaction<'_>,
    key: &PeerKey,
) -> Result<u64, TransactionError> {
    let found = row(
        transaction,
        "SELECT count(*) FROM connector_peers
         WHERE network = $1 AND account = $2 AND state = 'waiting' AND peer <> $3",
        &[&key.account.network, &key.account.account, &key.peer],
    )
    .await?;
    Ok(count(&found, 0)?)
}

pub(super) async fn remove(
    transaction: &Transaction<'_>,
    key: &PeerKey,
) -> Result<(), TransactionError> {
    let Some(peer) = one(transaction, key).await? else { return Ok(()) };
    for statement in [
        "DELETE FROM connector_conversations WHERE peer = $1",
        "DELETE FROM connector_proposals WHERE peer = $1",
        "DELETE FROM connector_peers WHERE id = $1",
    ] {
        execute(transaction, statement, &[&peer.id]).await?;
    }
    Ok(())
}

pub(super) async fn conversation(
    client: &impl GenericClient,
    peer: i64,
    thread: &str,
) -> Result<ConversationRow, StoreError> {
    let select = "SELECT session, agent, model FROM connector_conversations
                  WHERE peer = $1 AND thread = $2";
    let Some(found) = row_if_any(client, select, &[&peer, &thread]).await? else {
        return Ok(ConversationRow::default());
    };
    Ok(ConversationRow {
        session: parsed_if_any(&found, 0)?,
        agent: parsed_if_any(&found, 1)?,
        model: get(&found, 2)?,
    })
}

pub(super) async fn put_conversation(
    client: &impl GenericClient,
    peer: i64,
    thread: &str,
    row: &ConversationRow,
) -> Result<(), StoreError> {
    execute(
        client,
        "INSERT INTO connector_conversations (peer, thread, session, agent, model)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (peer, thread) DO UPDATE SET session = excluded.session,
             agent = excluded.agent, model = excluded.model",
        &[
            &peer,
            &thread,
            &row.session.map(|session| session.to_string()),
            &row.agent.as_ref().map(|agent| agent.as_str()),
            &shown_if_any(row.model.as_deref()),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn number(
    transaction: &Transaction<'_>,
    peer: i64,
    draft: DraftId,
) -> Result<u64, TransactionError> {
    // The peer is locked, because two drafts at once would get the same number.
    let hold = "SELECT id FROM connector_peers WHERE id = $1 FOR UPDATE";
    row_if_any(transaction, hold, &[&peer]).await?;
    execute(
        transaction,
        "INSERT INTO connector_proposals (peer, number, draft)
         SELECT $1::BIGINT, 1 + coalesce(max(number), 0), $2::TEXT FROM connector_proposals
         WHERE peer = $1
         ON CONFLICT DO NOTHING",
        &[&peer, &draft.to_string()],
    )
    .await?;
    let select = "SELECT number FROM connector_proposals WHERE peer = $1 AND draft = $2";
    Ok(count(&row(transaction, select, &[&peer, &draft.to_string()]).await?, 0)?)
}

pub(super) async fn proposal(
    client: &impl GenericClient,
    peer: i64,
    number: u64,
) -> Result<Option<DraftId>, StoreError> {
    let select = "SELECT draft FROM connector_proposals WHERE peer = $1 AND number = $2";
    let found = row_if_any(client, select, &[&peer, &integer(number)]).await?;
    found.map(|row| parsed(&row, 0)).transpose()
}
