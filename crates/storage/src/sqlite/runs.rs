use onyx_types::{PersonId, RunId, SessionKey, SessionOrigin, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::{BeginIn, BeginRun, ModelUse, RunOutcome, RunRow, SessionStatus, StoreError};

use super::connection::is_unique_violation;
use super::convert::{integer, named_if_any, parsed, timestamp};
use super::sessions::status_name;
use super::spending::{self, KnownSpending};

pub(crate) fn begin(connection: &Connection, begin: &BeginRun) -> Result<(), StoreError> {
    let key = &begin.key;
    let inserted = connection
        .prepare_cached(
            "INSERT INTO runs (run, person, agent, session, input_turn, started_at, active)
             VALUES (:run, :person, :agent, :session, :input_turn, :started_at, 1)",
        )?
        .execute(named_params! {
            ":run": begin.run.to_string(),
            ":person": key.person.as_str(),
            ":agent": key.agent.as_str(),
            ":session": key.session.to_string(),
            ":input_turn": begin.input_turn.to_string(),
            ":started_at": begin.started_at.as_millis(),
        });
    match inserted {
        Ok(_) => {
            let agent = match begin.session {
                BeginIn::New(origin) => make_session(connection, begin, origin)?,
                BeginIn::Existing => touch_session(connection, begin)?,
            };
            // The agent is part of the log's path, so it must never change.
            if agent == key.agent.as_str() { Ok(()) } else { Err(StoreError::Conflict) }
        }
        Err(error) if is_unique_violation(&error) => Err(StoreError::AlreadyRun),
        Err(error) => Err(error.into()),
    }
}

/// Creates the session's row, or records in it that a run began. Returns the session's agent.
fn make_session(
    connection: &Connection,
    begin: &BeginRun,
    origin: SessionOrigin,
) -> Result<String, StoreError> {
    let key = &begin.key;
    let agent = connection
        .prepare_cached(
            "INSERT INTO sessions (person, session, agent, origin, status, created_at, updated_at,
                                   message_count, token_count, preview, root, last_run)
             VALUES (:person, :session, :agent, :origin, :status, :now, :now, 0, 0, '', :session, :run)
             ON CONFLICT (person, session) DO UPDATE SET
                 updated_at = max(updated_at, excluded.updated_at),
                 last_run = excluded.last_run,
                 last_run_status = NULL
             RETURNING agent",
        )?
        .query_row(
            named_params! {
                ":person": key.person.as_str(),
                ":session": key.session.to_string(),
                ":agent": key.agent.as_str(),
                ":origin": origin.as_str(),
                ":status": status_name(SessionStatus::Active),
                ":now": begin.started_at.as_millis(),
                ":run": begin.run.to_string(),
            },
            |row| row.get(0),
        )?;
    Ok(agent)
}

/// Records in the session's row that a run began. Returns the session's agent.
fn touch_session(connection: &Connection, begin: &BeginRun) -> Result<String, StoreError> {
    let key = &begin.key;
    let agent = connection
        .prepare_cached(
            "UPDATE sessions SET updated_at = max(updated_at, :now), last_run = :run,
                                 last_run_status = NULL
             WHERE person = :person AND session = :session
             RETURNING agent",
        )?
        .query_row(
            named_params! {
                ":person": key.person.as_str(),
                ":session": key.session.to_string(),
                ":now": begin.started_at.as_millis(),
                ":run": begin.run.to_string(),
            },
            |row| row.get(0),
        )
        .optional()?;
    agent.ok_or(StoreError::NotFound)
}

pub(super) fn end(
    connection: &Connection,
    known: &KnownSpending,
    outcome: &RunOutcome,
) -> Result<(), StoreError> {
    let ended: Option<(String, String)> = connection
        .prepare_cached(
            "UPDATE runs SET status = :status, active = 0, ended_at = :ended_at, input = :input,
                             output = :output, cache_read = :cache_read,
                             cache_write = :cache_write, cost = :cost
             WHERE run = :run AND active = 1
             RETURNING person, session",
        )?
        .query_row(
            named_params! {
                ":run": outcome.run.to_string(),
                ":status": outcome.status.as_str(),
                ":ended_at": outcome.ended_at.as_millis(),
                ":input": integer(outcome.usage.input),
                ":output": integer(outcome.usage.output),
                ":cache_read": integer(outcome.usage.cache_read),
                ":cache_write": integer(outcome.usage.cache_write),
                ":cost": outcome.usage.cost,
            },
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match ended {
        Some((person, session)) => {
            fold_into_session(connection, outcome, &person, &session)?;
            spending::book_run(connection, known, outcome, &person)
        }
        None if exists(connection, outcome.run)? => Ok(()),
        None => Err(StoreError::NotFound),
    }
}

fn exists(connection: &Connection, run: RunId) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM runs WHERE run = ?1")?;
    Ok(statement.exists([run.to_string()])?)
}

fn fold_into_session(
    connection: &Connection,
    outcome: &RunOutcome,
    person: &str,
    session: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE sessions SET
                 updated_at = max(updated_at, :ended_at),
                 message_count = message_count + :messages,
                 token_count = token_count + :tokens,
                 preview = coalesce(:preview, preview),
                 title = coalesce(title, :title),
                 last_run = :run,
                 last_run_status = :status
             WHERE person = :person AND session = :session",
        )?
        .execute(named_params! {
            ":person": person,
            ":session": session,
            ":ended_at": outcome.ended_at.as_millis(),
            ":messages": integer(outcome.messages_added),
            ":tokens": integer(outcome.usage.tokens()),
            ":preview": outcome.preview,
            ":title": outcome.title,
            ":run": outcome.run.to_string(),
            ":status": outcome.status.as_str(),
        })?;
    // Passing sessions are never marked as unread, because nobody looks for them later.
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO unread (person, session, since)
             SELECT person, session, ?3 FROM sessions
             WHERE person = ?1 AND session = ?2 AND origin NOT IN ('api', 'temporary')",
        )?
        .execute(params![person, session, outcome.ended_at.as_millis()])?;
    Ok(())
}

/// Books usage for a session that happened outside of its runs.
pub(super) fn book(
    connection: &Connection,
    known: &KnownSpending,
    key: &SessionKey,
    used: &ModelUse,
    at: Timestamp,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE sessions SET token_count = token_count + ?3
             WHERE person = ?1 AND session = ?2",
        )?
        .execute(params![
            key.person.as_str(),
            key.session.to_string(),
            integer(used.usage.tokens())
        ])?;
    spending::book(connection, known, key.person.as_str(), used, at)
}

pub(crate) fn active(connection: &Connection) -> Result<Vec<RunRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT run, person, agent, session, input_turn, started_at, status FROM runs
         WHERE active = 1 ORDER BY started_at, run",
    )?;
    let rows = statement.query_map([], run_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Lists the open runs of a session. The index that prevents running an input twice serves this
/// query.
pub(crate) fn of_session(
    connection: &Connection,
    key: &SessionKey,
) -> Result<Vec<RunRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT run, person, agent, session, input_turn, started_at, status FROM runs
         WHERE person = ?1 AND session = ?2 AND status IS NULL ORDER BY started_at, run",
    )?;
    let rows =
        statement.query_map(params![key.person.as_str(), key.session.to_string()], run_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn one(
    connection: &Connection,
    person: &PersonId,
    run: RunId,
) -> Result<Option<RunRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT run, person, agent, session, input_turn, started_at, status FROM runs
         WHERE run = ?1 AND person = ?2",
    )?;
    Ok(statement.query_row(params![run.to_string(), person.as_str()], run_row).optional()?)
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
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
