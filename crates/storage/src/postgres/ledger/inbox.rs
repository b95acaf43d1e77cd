use deadpool_postgres::GenericClient;
use onyx_types::{PersonId, SessionId, SessionKey, TurnId};

use crate::postgres::convert::{json, named, parsed, timestamp};
use crate::postgres::query::{execute, read_all, rows};
use crate::{Delivery, InboxRow, LeftMessage, StoreError};

pub(super) async fn put(
    client: &impl GenericClient,
    key: &SessionKey,
    row: &InboxRow,
) -> Result<(), StoreError> {
    execute(
        client,
        "INSERT INTO inbox (person, session, turn, delivery, words, received_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            &key.person.as_str(),
            &key.session.to_string(),
            &row.turn.to_string(),
            &row.delivery.as_str(),
            &words_of(row)?,
            &row.received_at.as_millis(),
        ],
    )
    .await?;
    Ok(())
}

/// Replaces a message in the inbox. `false`: it is no longer there.
pub(super) async fn change(
    client: &impl GenericClient,
    key: &SessionKey,
    row: &InboxRow,
) -> Result<bool, StoreError> {
    let changed = execute(
        client,
        "UPDATE inbox SET delivery = $4, words = $5
         WHERE person = $1 AND session = $2 AND turn = $3",
        &[
            &key.person.as_str(),
            &key.session.to_string(),
            &row.turn.to_string(),
            &row.delivery.as_str(),
            &words_of(row)?,
        ],
    )
    .await?;
    Ok(changed > 0)
}

fn words_of(row: &InboxRow) -> Result<String, StoreError> {
    serde_json::to_string(&row.words).map_err(|error| StoreError::Failed(error.to_string()))
}

/// Lists the sessions that have messages in their inboxes.
pub(super) async fn sessions(
    client: &impl GenericClient,
) -> Result<Vec<(PersonId, SessionId)>, StoreError> {
    let found = rows(client, "SELECT DISTINCT person, session FROM inbox", &[]).await?;
    read_all(&found, |row| Ok((parsed(row, 0)?, parsed(row, 1)?)))
}

/// Lists messages that wait for an answer of their own in sessions that no living gateway holds. Their words are not
/// read, because every gateway asks for this all the time.
pub(super) async fn left(client: &impl GenericClient) -> Result<Vec<LeftMessage>, StoreError> {
    let found = rows(
        client,
        "SELECT inbox.person, inbox.session, inbox.turn
         FROM inbox JOIN sessions
           ON sessions.person = inbox.person AND sessions.session = inbox.session
         WHERE inbox.delivery = $1
           AND NOT EXISTS (
               SELECT 1 FROM session_log AS log JOIN gateways
                 ON gateways.id = log.gateway AND gateways.incarnation = log.incarnation
               WHERE log.person = sessions.person AND log.agent = sessions.agent
                 AND log.session = sessions.session AND log.until > clock_timestamp()
                 AND gateways.until > clock_timestamp())
         ORDER BY inbox.turn",
        &[&Delivery::FollowUp.as_str()],
    )
    .await?;
    read_all(&found, |row| {
        Ok(LeftMessage { person: parsed(row, 0)?, session: parsed(row, 1)?, turn: parsed(row, 2)? })
    })
}

/// Lists the inbox in the order in which the messages came, which is the order of their turn ids.
pub(super) async fn all(
    client: &impl GenericClient,
    key: &SessionKey,
) -> Result<Vec<InboxRow>, StoreError> {
    let found = rows(
        client,
        "SELECT turn, delivery, words, received_at FROM inbox
         WHERE person = $1 AND session = $2 ORDER BY turn",
        &[&key.person.as_str(), &key.session.to_string()],
    )
    .await?;
    read_all(&found, |row| {
        Ok(InboxRow {
            turn: parsed(row, 0)?,
            delivery: named(row, 1)?,
            words: json(row, 2)?,
            received_at: timestamp(row, 3)?,
        })
    })
}

pub(super) async fn remove(
    client: &impl GenericClient,
    key: &SessionKey,
    turns: &[TurnId],
) -> Result<(), StoreError> {
    let turns: Vec<String> = turns.iter().map(ToString::to_string).collect();
    execute(
        client,
        "DELETE FROM inbox WHERE person = $1 AND session = $2 AND turn = ANY ($3)",
        &[&key.person.as_str(), &key.session.to_string(), &turns],
    )
    .await?;
    Ok(())
}
