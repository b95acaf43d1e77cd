use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{Clock, PersonId, RunId, SessionKey, SessionOrigin, Timestamp};
use tokio_postgres::Row;

use crate::postgres::convert::{get, integer, named_if_any, parsed, shown_if_any, timestamp};
use crate::postgres::query::{execute, read_all, row, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{BeginIn, BeginRun, ModelUse, RunOutcome, RunRow, StoreError};

use super::{changes, spending};

pub(super) async fn begin(
    transaction: &Transaction<'_>,
    begin: &BeginRun,
    gateway: &str,
    incarnation: i64,
) -> Result<(), TransactionError> {
    let key = &begin.key;
    let session = key.session.to_string();
    let taken = execute(
        transaction,
        "INSERT INTO run_inputs (person, session, input_turn, run) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
        &[&key.person.as_str(), &session, &begin.input_turn.to_string(), &begin.run.to_string()],
    )
    .await?;
    if taken == 0 {
        return Err(StoreError::AlreadyRun.into());
    }
    let inserted = execute(
        transaction,
        "INSERT INTO runs (run, person, agent, session, input_turn, started_at, gateway,
                           incarnation)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        &[
            &begin.run.to_string(),
            &key.person.as_str(),
            &key.agent.as_str(),
            &session,
            &begin.input_turn.to_string(),
            &begin.started_at.as_millis(),
            &gateway,
            &incarnation,
        ],
    )
    .await?;
    if inserted == 0 {
        return Err(StoreError::AlreadyRun.into());
    }
    let agent = match begin.session {
        BeginIn::New(origin) => match touch_session(transaction, begin).await? {
            Some(agent) => agent,
            None => make_session(transaction, begin, origin).await?,
        },
        BeginIn::Existing => {
            touch_session(transaction, begin).await?.ok_or(StoreError::NotFound)?
        }
    };
    // The agent is part of the log's path, so it must never change.
    if agent == key.agent.as_str() { Ok(()) } else { Err(StoreError::Conflict.into()) }
}

/// Creates the session's row, unless another writer did so meanwhile. Returns the session's agent.
async fn make_session(
    transaction: &Transaction<'_>,
    begin: &BeginRun,
    origin: SessionOrigin,
) -> Result<String, TransactionError> {
    let key = &begin.key;
    let (person, session) = (key.person.as_str(), key.session.to_string());
    let made = row(
        transaction,
        "INSERT INTO sessions (person, session, agent, origin, status, created_at, updated_at,
                               message_count, token_count, preview, root, last_run)
         VALUES ($1, $2, $3, $4, 'active', $5, $5, 0, 0, '', $2, $6)
         ON CONFLICT (person, session) DO UPDATE SET
             updated_at = greatest(sessions.updated_at, excluded.updated_at),
             last_run = excluded.last_run,
             last_run_status = NULL
         RETURNING agent",
        &[
            &person,
            &session,
            &key.agent.as_str(),
            &origin.as_str(),
            &begin.started_at.as_millis(),
            &begin.run.to_string(),
        ],
    )
    .await?;
    Ok(get(&made, 0)?)
}

/// Records in the session's row that a run began. Returns the session's agent, or `None` if there
/// is no such row.
async fn touch_session(
    transaction: &Transaction<'_>,
    begin: &BeginRun,
) -> Result<Option<String>, TransactionError> {
    let key = &begin.key;
    let found = row_if_any(
        transaction,
        "UPDATE sessions SET updated_at = greatest(updated_at, $3), last_run = $4,
                             last_run_status = NULL
         WHERE person = $1 AND session = $2
         RETURNING agent",
        &[
            &key.person.as_str(),
            &key.session.to_string(),
            &begin.started_at.as_millis(),
            &begin.run.to_string(),
        ],
    )
    .await?;
    Ok(found.map(|row| get(&row, 0)).transpose()?)
}

/// Ends the run and returns its person; `None`: it had ended before.
pub(super) async fn end(
    transaction: &Transaction<'_>,
    clock: &dyn Clock,
    outcome: &RunOutcome,
) -> Result<Option<PersonId>, TransactionError> {
    let ended = row_if_any(
        transaction,
        "UPDATE runs SET status = $2, ended_at = $3, input = $4, output = $5, cache_read = $6,
                         cache_write = $7, cost = $8
         WHERE run = $1 AND status IS NULL
         RETURNING person, session",
        &[
            &outcome.run.to_string(),
            &outcome.status.as_str(),
            &outcome.ended_at.as_millis(),
            &integer(outcome.usage.input),
            &integer(outcome.usage.output),
            &integer(outcome.usage.cache_read),
            &integer(outcome.usage.cache_write),
            &outcome.usage.cost,
        ],
    )
    .await?;
    let Some(ended) = ended else {
        let known = "SELECT 1 FROM runs WHERE run = $1";
        let known = row_if_any(transaction, known, &[&outcome.run.to_string()]).await?;
        return known.map(|_| None).ok_or_else(|| StoreError::NotFound.into());
    };
    let (person, session): (PersonId, String) = (parsed(&ended, 0)?, get(&ended, 1)?);
    if outcome.status.may_run_again() {
        let free = "DELETE FROM run_inputs WHERE person = $1 AND session = $2 AND run = $3";
        let run = outcome.run.to_string();
        execute(transaction, free, &[&person.as_str(), &session, &run]).await?;
    }
    fold_into_session(transaction, outcome, &person, &session).await?;
    for used in &outcome.used {
        spending::book(transaction, clock, &person, used, outcome.ended_at).await?;
    }
    Ok(Some(person))
}

async fn fold_into_session(
    transaction: &Transaction<'_>,
    outcome: &RunOutcome,
    person: &PersonId,
    session: &str,
) -> Result<(), TransactionError> {
    let person = person.as_str();
    let folded = execute(
        transaction,
        "UPDATE sessions SET
             updated_at = greatest(updated_at, $3),
             message_count = message_count + $4,
             token_count = token_count + $5,
             preview = coalesce($6, preview),
             title = coalesce(title, $7),
             last_run = $8,
             last_run_status = $9
         WHERE person = $1 AND session = $2",
        &[
            &person,
            &session,
            &outcome.ended_at.as_millis(),
            &integer(outcome.messages_added),
            &integer(outcome.usage.tokens()),
            &shown_if_any(outcome.preview.as_deref()),
            &shown_if_any(outcome.title.as_deref()),
            &outcome.run.to_string(),
            &outcome.status.as_str(),
        ],
    )
    .await?;
    if folded > 0 {
        changes::note(transaction, person, session).await?;
    }
    // Passing sessions are never marked as unread, because nobody looks for them later.
    execute(
        transaction,
        "INSERT INTO unread (person, session, since)
         SELECT person, session, $3::BIGINT FROM sessions
         WHERE person = $1 AND session = $2 AND origin NOT IN ('api', 'temporary')
         ON CONFLICT DO NOTHING",
        &[&person, &session, &outcome.ended_at.as_millis()],
    )
    .await?;
    Ok(())
}

/// Books usage for a session that happened outside of its runs.
pub(super) async fn book(
    transaction: &Transaction<'_>,
    clock: &dyn Clock,
    key: &SessionKey,
    used: &ModelUse,
    at: Timestamp,
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "UPDATE sessions SET token_count = token_count + $3 WHERE person = $1 AND session = $2",
        &[&key.person.as_str(), &key.session.to_string(), &integer(used.usage.tokens())],
    )
    .await?;
    spending::book(transaction, clock, &key.person, used, at).await
}

pub(super) async fn active(client: &impl GenericClient) -> Result<Vec<RunRow>, StoreError> {
    let found = rows(
        client,
        "SELECT run, person, agent, session, input_turn, started_at, status FROM runs
         WHERE status IS NULL ORDER BY started_at, run",
        &[],
    )
    .await?;
    read_all(&found, run_row)
}

/// Lists the open runs of sessions that no living gateway holds.
pub(super) async fn left(client: &impl GenericClient) -> Result<Vec<RunRow>, StoreError> {
    let found = rows(
        client,
        "SELECT run, person, agent, session, input_turn, started_at, status FROM runs
         WHERE status IS NULL
           AND NOT EXISTS (
               SELECT 1 FROM session_log AS log JOIN gateways
                 ON gateways.id = log.gateway AND gateways.incarnation = log.incarnation
               WHERE log.person = runs.person AND log.agent = runs.agent
                 AND log.session = runs.session AND log.until > clock_timestamp()
                 AND gateways.until > clock_timestamp())
         ORDER BY started_at, run",
        &[],
    )
    .await?;
    read_all(&found, run_row)
}

pub(super) async fn of_session(
    client: &impl GenericClient,
    key: &SessionKey,
) -> Result<Vec<RunRow>, StoreError> {
    let found = rows(
        client,
        "SELECT run, person, agent, session, input_turn, started_at, status FROM runs
         WHERE person = $1 AND session = $2 AND status IS NULL ORDER BY started_at, run",
        &[&key.person.as_str(), &key.session.to_string()],
    )
    .await?;
    read_all(&found, run_row)
}

pub(super) async fn one(
    client: &impl GenericClient,
    person: &PersonId,
    run: RunId,
) -> Result<Option<RunRow>, StoreError> {
    let found = row_if_any(
        client,
        "SELECT run, person, agent, session, input_turn, started_at, status FROM runs
         WHERE run = $1 AND person = $2",
        &[&run.to_string(), &person.as_str()],
    )
    .await?;
    found.as_ref().map(run_row).transpose()
}

fn run_row(row: &Row) -> Result<RunRow, StoreError> {
    Ok(RunRow {
        run: parsed(row, 0)?,
        key: SessionKey {
            person: parsed(row, 1)?,
            agent: parsed(row, 2)?,
            session: parsed(row, 3)?,
        },
        input_turn: parsed(row, 4)?,
        started_at: timestamp(row, 5)?,
        status: named_if_any(row, 6)?,
    })
}
