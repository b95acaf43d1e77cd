use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use onyx_types::{AgentId, Clock, ModelId, Timestamp, Usage};
use rusqlite::{Connection, params};

use super::convert::{count, integer, parsed};
use crate::blocking::lock;
use crate::{DaySpending, ModelUse, RunOutcome, SpentAmount, StoreError, UsageRow};

/// A cache of sums that were asked for lately, because every call of a model asks what was spent
/// today. Every new booking updates them.
#[derive(Debug)]
pub(super) struct KnownSpending {
    known: Mutex<SpendCache>,
    /// Tells which day it is in a person's time zone.
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct SpendCache {
    sums: HashMap<(SpendingOwner, String), f64>,
    /// The number of bookings so far. A sum that was read before a booking must not be cached after
    /// it.
    bookings: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SpendingOwner {
    Person(String),
    Agent(String),
}

/// The most sums in the cache. When there would be more, all are dropped and read again.
const MOST_SUMS: usize = 256;

/// The answer that a sum is not cached. It remembers the number of bookings before the ledger is
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnreadSum(u64);

impl KnownSpending {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { known: Mutex::default(), clock }
    }

    /// The day on which usage at this time counts for a person.
    fn day(&self, person: &str, at: Timestamp) -> String {
        // The books name only people who have a time zone. A name that cannot be parsed counts by
        // UTC.
        person.parse().map_or_else(|_| at.utc_date(), |person| self.clock.zone_of(&person).date(at))
    }

    pub(super) fn get(&self, whose: &SpendingOwner, day: &str) -> Result<f64, UnreadSum> {
        let known = lock(&self.known);
        let sum = known.sums.get(&(whose.clone(), day.to_owned()));
        sum.copied().ok_or(UnreadSum(known.bookings))
    }

    pub(super) fn learn(&self, whose: SpendingOwner, day: &str, sum: f64, before: UnreadSum) {
        let mut known = lock(&self.known);
        if known.sums.len() >= MOST_SUMS {
            known.sums.clear();
        }
        if known.bookings == before.0 {
            known.sums.insert((whose, day.to_owned()), sum);
        }
    }

    /// Drops all sums, because a recorded booking may have been rolled back.
    pub(super) fn forget(&self) {
        let mut known = lock(&self.known);
        known.bookings += 1;
        known.sums.clear();
    }

    /// Updates the cached sums after a booking. It is called within the transaction that books, so
    /// that bookings arrive here in the order of the transactions.
    fn booked(
        &self,
        connection: &Connection,
        person: &str,
        agent: &AgentId,
        day: &str,
    ) -> Result<(), StoreError> {
        let mut known = lock(&self.known);
        known.bookings += 1;
        for whose in
            [SpendingOwner::Person(person.to_owned()), SpendingOwner::Agent(agent.to_string())]
        {
            let question = (whose, day.to_owned());
            if let Some(sum) = known.sums.get_mut(&question) {
                *sum = spent(connection, &question.0, day)?;
            }
        }
        Ok(())
    }
}

/// Books what a run used, on the day on which it ended.
pub(super) fn book_run(
    connection: &Connection,
    known: &KnownSpending,
    outcome: &RunOutcome,
    person: &str,
) -> Result<(), StoreError> {
    outcome.used.iter().try_for_each(|used| book(connection, known, person, used, outcome.ended_at))
}

/// Books what one agent used of one model for a person.
pub(super) fn book(
    connection: &Connection,
    known: &KnownSpending,
    person: &str,
    used: &ModelUse,
    at: Timestamp,
) -> Result<(), StoreError> {
    let ModelUse { agent, model, usage } = used;
    let day = known.day(person, at);
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
            day,
            person,
            agent.as_str(),
            model.as_str(),
            integer(usage.input),
            integer(usage.output),
            integer(usage.cache_read),
            integer(usage.cache_write),
            // Usage of unknown price counts as costing nothing; the run tells the person.
            usage.cost.unwrap_or(0.0),
        ])?;
    known.booked(connection, person, agent, &day)
}

pub(super) fn spent(
    connection: &Connection,
    whose: &SpendingOwner,
    day: &str,
) -> Result<f64, StoreError> {
    let (statement, who) = match whose {
        SpendingOwner::Person(person) => {
            ("SELECT total(cost) FROM usage WHERE day = ?1 AND person = ?2", person)
        }
        SpendingOwner::Agent(agent) => {
            ("SELECT total(cost) FROM usage WHERE day = ?1 AND agent = ?2", agent)
        }
    };
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
) -> Result<Vec<(Name, SpentAmount)>, StoreError>
where
    Name: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map([day], |row| {
        let spent = SpentAmount { cost: row.get(1)?, tokens: count(row, 2)? };
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
        let model = ModelId::new(row.get::<_, String>(3)?);
        let used = ModelUse { agent: parsed(row, 2)?, model, usage };
        Ok(UsageRow { day: row.get(0)?, person: parsed(row, 1)?, used })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
