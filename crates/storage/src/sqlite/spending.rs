use std::str::FromStr;

use onyx_types::{AgentId, PersonId, Timestamp, Usage};
use rusqlite::{Connection, params};

use super::convert::{count, integer, parsed};
use crate::{DaySpending, ModelUse, RunOutcome, Spent, StoreError, UsageRow};

/// Books what a run has used on the day it ended.
pub(super) fn book_run(
    connection: &Connection,
    outcome: &RunOutcome,
    person: &str,
) -> Result<(), StoreError> {
    outcome.used.iter().try_for_each(|used| book(connection, person, used, outcome.ended_at))
}

/// Books what one agent used of one model for a person.
pub(super) fn book(
    connection: &Connection,
    person: &str,
    used: &ModelUse,
    at: Timestamp,
) -> Result<(), StoreError> {
    let ModelUse { agent, model, usage } = used;
    connection
        .prepare_cached(
            "INSERT INTO usage (day, person, agent, model, input, output, cache_read, cache_write, cost)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT DO UPDATE SET
                 input = input + excluded.input,
                 output = output + excluded.output,
                 cache_read = cache_read + excluded.cache_read,
                 cache_write = cache_write + excluded.cache_write,
                 cost = cost + excluded.cost",
        )?
        .execute(params![
            at.utc_date(),
            person,
            agent.as_str(),
            model,
            integer(usage.input),
            integer(usage.output),
            integer(usage.cache_read),
            integer(usage.cache_write),
            // An unknown price counts as nothing; the run says so to the person.
            usage.cost.unwrap_or(0.0),
        ])?;
    Ok(())
}

pub(super) fn of_person(
    connection: &Connection,
    person: &PersonId,
    day: &str,
) -> Result<f64, StoreError> {
    let statement = "SELECT total(cost) FROM usage WHERE day = ?1 AND person = ?2";
    cost(connection, statement, day, person.as_str())
}

pub(super) fn of_agent(
    connection: &Connection,
    agent: &AgentId,
    day: &str,
) -> Result<f64, StoreError> {
    let statement = "SELECT total(cost) FROM usage WHERE day = ?1 AND agent = ?2";
    cost(connection, statement, day, agent.as_str())
}

fn cost(connection: &Connection, statement: &str, day: &str, who: &str) -> Result<f64, StoreError> {
    let mut statement = connection.prepare_cached(statement)?;
    Ok(statement.query_row([day, who], |row| row.get(0))?)
}

pub(super) fn of_day(connection: &Connection, day: &str) -> Result<DaySpending, StoreError> {
    let people = "SELECT person, total(cost), sum(input + output) FROM usage
                  WHERE day = ?1 GROUP BY person ORDER BY person";
    let agents = "SELECT agent, total(cost), sum(input + output) FROM usage
                  WHERE day = ?1 GROUP BY agent ORDER BY agent";
    Ok(DaySpending { people: all(connection, people, day)?, agents: all(connection, agents, day)? })
}

fn all<Name>(
    connection: &Connection,
    statement: &str,
    day: &str,
) -> Result<Vec<(Name, Spent)>, StoreError>
where
    Name: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map([day], |row| {
        let spent = Spent { cost: row.get(1)?, tokens: count(row, 2)? };
        Ok((parsed(row, 0)?, spent))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn between(
    connection: &Connection,
    first: &str,
    last: &str,
) -> Result<Vec<UsageRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT day, person, agent, model, input, output, cache_read, cache_write, cost FROM usage
         WHERE day BETWEEN ?1 AND ?2 ORDER BY day, person, agent, model",
    )?;
    let rows = statement.query_map([first, last], |row| {
        let usage = Usage {
            input: count(row, 4)?,
            output: count(row, 5)?,
            cache_read: count(row, 6)?,
            cache_write: count(row, 7)?,
            cost: row.get(8)?,
        };
        let used = ModelUse { agent: parsed(row, 2)?, model: row.get(3)?, usage };
        Ok(UsageRow { day: row.get(0)?, person: parsed(row, 1)?, used })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
