use std::collections::HashSet;

use onyx_types::{PersonId, SessionId, SessionKey, TurnId};
use rusqlite::{Connection, params};

use crate::{InboxRow, StoreError};

use super::convert::{named, parsed, timestamp, unreadable};

pub(crate) fn put(
    connection: &Connection,
    key: &SessionKey,
    row: &InboxRow,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO inbox (person, session, turn, delivery, words, received_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            key.person.as_str(),
            key.session.to_string(),
            row.turn.to_string(),
            row.delivery.as_str(),
            words_of(row)?,
            row.received_at.as_millis(),
        ])?;
    Ok(())
}

/// Replaces a message in the inbox. `false`: it is no longer there.
pub(crate) fn change(
    connection: &Connection,
    key: &SessionKey,
    row: &InboxRow,
) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE inbox SET delivery = ?4, words = ?5
             WHERE person = ?1 AND session = ?2 AND turn = ?3",
        )?
        .execute(params![
            key.person.as_str(),
            key.session.to_string(),
            row.turn.to_string(),
            row.delivery.as_str(),
            words_of(row)?,
        ])?;
    Ok(changed > 0)
}

fn words_of(row: &InboxRow) -> Result<String, StoreError> {
    serde_json::to_string(&row.words).map_err(|error| StoreError::Failed(error.to_string()))
}

/// Lists the sessions that have messages in their inboxes.
pub(crate) fn sessions(
    connection: &Connection,
) -> Result<HashSet<(PersonId, SessionId)>, StoreError> {
    let mut statement = connection.prepare("SELECT DISTINCT person, session FROM inbox")?;
    let rows = statement.query_map([], |row| Ok((parsed(row, 0)?, parsed(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Lists the inbox in the order in which the messages came, which is the order of their turn ids.
pub(crate) fn all(connection: &Connection, key: &SessionKey) -> Result<Vec<InboxRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT turn, delivery, words, received_at FROM inbox
         WHERE person = ?1 AND session = ?2 ORDER BY turn",
    )?;
    let rows =
        statement.query_map(params![key.person.as_str(), key.session.to_string()], |row| {
            let words = serde_json::from_str(row.get_ref(2)?.as_str()?);
            Ok(InboxRow {
                turn: parsed(row, 0)?,
                delivery: named(row, 1)?,
                words: words.map_err(|error| unreadable(2, error))?,
                received_at: timestamp(row, 3)?,
            })
        })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn remove(
    connection: &Connection,
    key: &SessionKey,
    turns: &[TurnId],
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached("DELETE FROM inbox WHERE person = ?1 AND session = ?2 AND turn = ?3")?;
    for turn in turns {
        statement.execute(params![
            key.person.as_str(),
            key.session.to_string(),
            turn.to_string()
        ])?;
    }
    Ok(())
}
