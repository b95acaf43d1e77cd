//! Usage and spending. Sums are read from the rows each time, so that usage which another gateway
//! recorded counts at once.

use std::str::FromStr;

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{AgentId, Clock, ModelId, PersonId, Timestamp, Usage};

use crate::postgres::convert::{count, get, integer, parsed};
use crate::postgres::query::{execute, read_all, row, rows};
use crate::postgres::transaction::TransactionError;
use crate::{DaySpending, ModelUse, SpentAmount, StoreError, UsageRow};

/// Books what one agent used of one model for a person, on the day in the person's time zone.
pub(super) async fn book(
    transaction: &Transaction<'_>,
    clock: &dyn Clock,
    person: &PersonId,
    used: &ModelUse,
    at: Timestamp,
) -> Result<(), TransactionError> {
    let ModelUse { agent, model, usage } = used;
    execute(
        transaction,
        "INSERT INTO usage (day, person, agent, model, input, output, cache_read, cache_write, cost)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (person, day, agent, model) DO UPDATE SET
             input = usage.input + excluded.input,
             output = usage.output + excluded.output,
             cache_read = usage.cache_read + excluded.cache_read,
             cache_write = usage.cache_write + excluded.cache_write,
             cost = usage.cost + excluded.cost",
        &[
            &clock.zone_of(person).date(at),
            &person.as_str(),
            &agent.as_str(),
            &model.as_str(),
            &integer(usage.input),
            &integer(usage.output),
            &integer(usage.cache_read),
            &integer(usage.cache_write),
            // Usage of unknown price counts as costing nothing; the run tells the person.
            &usage.cost.unwrap_or(0.0),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn of_person(
    client: &impl GenericClient,
    person: &PersonId,
    day: &str,
) -> Result<f64, StoreError> {
    let sum = "SELECT coalesce(sum(cost), 0) FROM usage WHERE day = $1 AND person = $2";
    get(&row(client, sum, &[&day, &person.as_str()]).await?, 0)
}

pub(super) async fn of_agent(
    client: &impl GenericClient,
    agent: &AgentId,
    day: &str,
) -> Result<f64, StoreError> {
    let sum = "SELECT coalesce(sum(cost), 0) FROM usage WHERE day = $1 AND agent = $2";
    get(&row(client, sum, &[&day, &agent.as_str()]).await?, 0)
}

pub(super) async fn of_day(
    client: &impl GenericClient,
    day: &str,
) -> Result<DaySpending, StoreError> {
    let people = "SELECT person, sum(cost ORDER BY agent, model), sum(input + output)::BIGINT
                  FROM usage WHERE day = $1 GROUP BY person ORDER BY person";
    let agents = "SELECT agent, sum(cost ORDER BY person, model), sum(input + output)::BIGINT
                  FROM usage WHERE day = $1 GROUP BY agent ORDER BY agent";
    Ok(DaySpending {
        people: all(client, people, day).await?,
        agents: all(client, agents, day).await?,
    })
}

async fn all<Name: FromStr<Err: std::fmt::Display>>(
    client: &impl GenericClient,
    statement: &str,
    day: &str,
) -> Result<Vec<(Name, SpentAmount)>, StoreError> {
    let found = rows(client, statement, &[&day]).await?;
    read_all(&found, |row| {
        Ok((parsed(row, 0)?, SpentAmount { cost: get(row, 1)?, tokens: count(row, 2)? }))
    })
}

pub(super) async fn between(
    client: &impl GenericClient,
    first: &str,
    last: &str,
) -> Result<Vec<UsageRow>, StoreError> {
    let found = rows(
        client,
        "SELECT day, person, agent, model, input, output, cache_read, cache_write, cost FROM usage
         WHERE day BETWEEN $1 AND $2 ORDER BY day, person, agent, model",
        &[&first, &last],
    )
    .await?;
    read_all(&found, |row| {
        let usage = Usage {
            input: count(row, 4)?,
            output: count(row, 5)?,
            cache_read: count(row, 6)?,
            cache_write: count(row, 7)?,
            cost: get(row, 8)?,
        };
        let model = ModelId::new(get::<String>(row, 3)?);
        let used = ModelUse { agent: parsed(row, 2)?, model, usage };
        Ok(UsageRow { day: get(row, 0)?, person: parsed(row, 1)?, used })
    })
}
