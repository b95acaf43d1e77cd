//! Which sessions changed. Writers only mark a session as changed. A reader gives the changes their
//! numbers while it locks a row that all such readers lock. So the numbers follow the order in
//! which changes became visible, and writers never wait.

use deadpool_postgres::{GenericClient, Transaction};

use crate::postgres::connect::Database;
use crate::postgres::convert::{count, get, integer, parsed};
use crate::postgres::query::{execute, read_all, row, rows};
use crate::postgres::transaction::{TransactionError, at_once};
use crate::{SessionMove, SessionSequence, StoreError};

/// Records that a session was created, changed or deleted in this transaction.
pub(super) async fn note(
    transaction: &Transaction<'_>,
    person: &str,
    session: &str,
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "INSERT INTO session_changes (person, session, noted)
         VALUES ($1, $2, clock_timestamp())
         ON CONFLICT (person, session) DO UPDATE SET seq = NULL, noted = clock_timestamp()",
        &[&person, &session],
    )
    .await?;
    Ok(())
}

/// Numbers the waiting changes, with all statements in one message. The task that does so may stop
/// at any moment, and a transaction that it left open would delay the ends of other gateways' runs.
const NUMBER: &str = "
    SELECT FROM counters WHERE name = 'sessions' FOR UPDATE;
    WITH waiting AS (
        SELECT person, session FROM session_changes WHERE seq IS NULL FOR UPDATE),
    numbered AS (
        SELECT person, session, row_number() OVER (ORDER BY noted, person, session) AS number
        FROM waiting JOIN session_changes USING (person, session))
    UPDATE session_changes
    SET seq = numbered.number + (SELECT value FROM counters WHERE name = 'sessions')
    FROM numbered
    WHERE session_changes.person = numbered.person AND session_changes.session = numbered.session;
    UPDATE counters SET value = greatest(value, (SELECT max(seq) FROM session_changes))
    WHERE name = 'sessions'";

pub(super) async fn number(database: &Database) -> Result<(), StoreError> {
    let client = database.client().await?;
    let any = "SELECT EXISTS (SELECT 1 FROM session_changes WHERE seq IS NULL)";
    if get::<bool>(&row(&client, any, &[]).await?, 0)? {
        at_once(&client, NUMBER).await?;
    }
    Ok(())
}

pub(super) async fn sequence(client: &impl GenericClient) -> Result<SessionSequence, StoreError> {
    // The newest change may have been removed, but the counter has its number.
    let select = "SELECT value, (SELECT value FROM counters WHERE name = 'sessions'),
                         (SELECT value FROM counters WHERE name = 'removed-sessions')
                  FROM session_epoch";
    let found = row(client, select, &[]).await?;
    Ok(SessionSequence {
        epoch: count(&found, 0)?,
        last: count(&found, 1)?,
        removed: count(&found, 2)?,
    })
}

pub(super) async fn after(
    client: &impl GenericClient,
    after: u64,
    limit: u32,
) -> Result<Vec<SessionMove>, StoreError> {
    let found = rows(
        client,
        "SELECT seq, person, session FROM session_changes WHERE seq > $1 ORDER BY seq LIMIT $2",
        &[&integer(after), &i64::from(limit)],
    )
    .await?;
    read_all(&found, |row| {
        Ok(SessionMove { seq: count(row, 0)?, person: parsed(row, 1)?, session: parsed(row, 2)? })
    })
}
