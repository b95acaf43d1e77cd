use std::str::FromStr;

use onyx_types::{AgentId, PersonId, Timestamp, Usage};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::convert::{count, integer, parsed};
use crate::{DaySpending, RunOutcome, Spent, StoreError};

const TO_PERSON: &str = "INSERT INTO spending (person, day, cost, tokens) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT DO UPDATE SET cost = cost + excluded.cost, tokens = tokens + excluded.tokens";

const TO_AGENT: &str = "INSERT INTO agent_spending (agent, day, cost, tokens)
     VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT DO UPDATE SET cost = cost + excluded.cost, tokens = tokens + excluded.tokens";

/// Books what a run has used on the day it ended.
pub(super) fn book_run(
    connection: &Connection,
    outcome: &RunOutcome,
    person: &str,
    session_agent: &str,
) -> Result<(), StoreError> {
    if outcome.agents.is_empty() {
        return book(connection, person, session_agent, &outcome.usage, outcome.ended_at);
    }
    let day = outcome.ended_at.utc_date();
    add(connection, TO_PERSON, person, &day, &outcome.usage)?;
    for (agent, usage) in &outcome.agents {
        add(connection, TO_AGENT, agent.as_str(), &day, usage)?;
    }
    Ok(())
}

/// Books what one agent used for a person.
pub(super) fn book(
    connection: &Connection,
    person: &str,
    agent: &str,
    usage: &Usage,
    at: Timestamp,
) -> Result<(), StoreError> {
    let day = at.utc_date();
    add(connection, TO_PERSON, person, &day, usage)?;
    add(connection, TO_AGENT, agent, &day, usage)
}

fn add(
    connection: &Connection,
    statement: &str,
    who: &str,
    day: &str,
    usage: &Usage,
) -> Result<(), StoreError> {
    // An unknown price counts as nothing; the run says so to the person.
    let cost = usage.cost.unwrap_or(0.0);
    let mut statement = connection.prepare_cached(statement)?;
    statement.execute(params![who, day, cost, integer(usage.tokens())])?;
    Ok(())
}

pub(super) fn of_person(
    connection: &Connection,
    person: &PersonId,
    day: &str,
) -> Result<f64, StoreError> {
    let statement = "SELECT cost FROM spending WHERE person = ?1 AND day = ?2";
    cost(connection, statement, person.as_str(), day)
}

pub(super) fn of_agent(
    connection: &Connection,
    agent: &AgentId,
    day: &str,
) -> Result<f64, StoreError> {
    let statement = "SELECT cost FROM agent_spending WHERE agent = ?1 AND day = ?2";
    cost(connection, statement, agent.as_str(), day)
}

fn cost(connection: &Connection, statement: &str, who: &str, day: &str) -> Result<f64, StoreError> {
    let mut statement = connection.prepare_cached(statement)?;
    let cost = statement.query_row([who, day], |row| row.get(0)).optional()?;
    Ok(cost.unwrap_or(0.0))
}

pub(super) fn of_day(connection: &Connection, day: &str) -> Result<DaySpending, StoreError> {
    let people = "SELECT person, cost, tokens FROM spending WHERE day = ?1 ORDER BY person";
    let agents = "SELECT agent, cost, tokens FROM agent_spending WHERE day = ?1 ORDER BY agent";
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
