//! The beginning and the end of a run as one statement each, which is one trip to the database: every answer waits for
//! both. What the statements cannot do (a new session, whose run it is, why nothing happened) is left to `runs`.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use deadpool_postgres::GenericClient;
use onyx_types::{Clock, PersonId, RunId};
use tokio_postgres::error::SqlState;

use crate::blocking::lock;
use crate::postgres::convert::{get, integer, shown_if_any};
use crate::postgres::query::row_if_any;
use crate::postgres::transaction::lost_a_race;
use crate::{BeginRun, RunOutcome, StoreError};

/// What the beginnings of runs at this gateway told.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// Whose they are: the day on which they are booked is that of where a person lives.
    people: Mutex<HashMap<RunId, PersonId>>,
    spent: Mutex<HashMap<PersonId, Spent>>,
}

/// What a person had spent on a day when a run began: asked for by the budget a moment later.
#[derive(Debug)]
pub(super) struct Spent {
    pub(super) day: String,
    pub(super) cost: f64,
    pub(super) at: Duration,
}

/// More are not under way at once; those of lost leases end elsewhere and stay here until then.
const MOST_BEGUN: usize = 10_000;
/// A run asks its model within this.
const OPENING: Duration = Duration::from_secs(1);

impl Begun {
    pub(super) fn keep(&self, begin: &BeginRun) {
        let mut begun = lock(&self.people);
        if begun.len() >= MOST_BEGUN {
            begun.clear();
        }
        begun.insert(begin.run, begin.key.person.clone());
    }

    pub(super) fn take(&self, run: RunId) -> Option<PersonId> {
        lock(&self.people).remove(&run)
    }

    pub(super) fn keep_spent(&self, person: &PersonId, spent: Spent) {
        lock(&self.spent).insert(person.clone(), spent);
    }

    /// Something was booked since.
    pub(super) fn forget_spent(&self, person: &PersonId) {
        lock(&self.spent).remove(person);
    }

    /// Good once: whoever asks again wants to know what is so by then.
    pub(super) fn take_spent(&self, person: &PersonId, day: &str, now: Duration) -> Option<f64> {
        let spent = lock(&self.spent).remove(person)?;
        (spent.day == day && now < spent.at + OPENING).then_some(spent.cost)
    }
}

/// Begins a run in a session that is there, and tells what its person has spent on a day. `None`: nothing was done, for a
/// reason that the statement does not tell.
pub(super) async fn begin(
    client: &impl GenericClient,
    begin: &BeginRun,
    gateway: &str,
    incarnation: i64,
    day: &str,
) -> Result<Option<f64>, StoreError> {
    let key = &begin.key;
    let begun = row_if_any(
        client,
        "WITH touched AS (
             UPDATE sessions SET updated_at = greatest(updated_at, $6), last_run = $5,
                                 last_run_status = NULL
             WHERE person = $1 AND session = $2 AND agent = $3
             RETURNING person, session, agent),
         taken AS (
             INSERT INTO run_inputs (person, session, input_turn, run)
             SELECT person, session, $4, $5 FROM touched),
         begun AS (
             INSERT INTO runs (run, person, agent, session, input_turn, started_at, gateway,
                               incarnation)
             SELECT $5, person, agent, session, $4, $6, $7, $8 FROM touched)
         SELECT coalesce((SELECT sum(cost) FROM usage WHERE usage.day = $9 AND usage.person = $1),
                         0)
         FROM touched",
        &[
            &key.person.as_str(),
            &key.session.to_string(),
            &key.agent.as_str(),
            &begin.input_turn.to_string(),
            &begin.run.to_string(),
            &begin.started_at.as_millis(),
            &gateway,
            &incarnation,
            &day,
        ],
    )
    .await;
    match begun {
        Ok(begun) => begun.map(|row| get(&row, 0)).transpose(),
        // The input or the run itself is there already; nothing was written.
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
            Err(StoreError::AlreadyRun)
        }
        Err(error) if lost_a_race(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Ends a run, folds it into its session and books what it used. `false`: it has ended before, or was never begun.
pub(super) async fn end(
    client: &impl GenericClient,
    clock: &dyn Clock,
    person: &PersonId,
    outcome: &RunOutcome,
) -> Result<bool, StoreError> {
    let (usage, used) = (&outcome.usage, &outcome.used);
    let agents: Vec<&str> = used.iter().map(|used| used.agent.as_str()).collect();
    let models: Vec<&str> = used.iter().map(|used| used.model.as_str()).collect();
    let all = |of: fn(&onyx_types::Usage) -> u64| -> Vec<i64> {
        used.iter().map(|used| integer(of(&used.usage))).collect()
    };
    // An unknown price counts as nothing; the run says so to the person.
    let costs: Vec<f64> = used.iter().map(|used| used.usage.cost.unwrap_or(0.0)).collect();
    let ended = row_if_any(
        client,
        END,
        &[
            &outcome.run.to_string(),
            &person.as_str(),
            &outcome.status.as_str(),
            &outcome.ended_at.as_millis(),
            &integer(usage.input),
            &integer(usage.output),
            &integer(usage.cache_read),
            &integer(usage.cache_write),
            &usage.cost,
            &outcome.status.may_run_again(),
            &integer(outcome.messages_added),
            &integer(usage.tokens()),
            &shown_if_any(outcome.preview.as_deref()),
            &shown_if_any(outcome.title.as_deref()),
            &clock.zone_of(person).date(outcome.ended_at),
            &agents,
            &models,
            &all(|usage| usage.input),
            &all(|usage| usage.output),
            &all(|usage| usage.cache_read),
            &all(|usage| usage.cache_write),
            &costs,
        ],
    )
    .await;
    match ended {
        Ok(ended) => Ok(ended.is_some()),
        Err(error) if lost_a_race(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sums before it books: one statement must not touch a row of `usage` twice.
const END: &str = "
WITH ended AS (
    UPDATE runs SET status = $3, ended_at = $4, input = $5, output = $6, cache_read = $7,
                    cache_write = $8, cost = $9
    WHERE run = $1 AND person = $2 AND status IS NULL
    RETURNING person, session),
freed AS (
    DELETE FROM run_inputs USING ended
    WHERE $10 AND run_inputs.person = ended.person AND run_inputs.session = ended.session
      AND run_inputs.run = $1),
folded AS (
    UPDATE sessions SET
        updated_at = greatest(updated_at, $4),
        message_count = message_count + $11,
        token_count = token_count + $12,
        preview = coalesce($13, preview),
        title = coalesce(title, $14),
        last_run = $1,
        last_run_status = $3
    FROM ended WHERE sessions.person = ended.person AND sessions.session = ended.session
    RETURNING sessions.person, sessions.session, origin),
noted AS (
    INSERT INTO session_changes (person, session, noted)
    SELECT person, session, clock_timestamp() FROM folded
    ON CONFLICT (person, session) DO UPDATE SET seq = NULL, noted = clock_timestamp()),
unseen AS (
    INSERT INTO unread (person, session, since)
    SELECT person, session, $4 FROM folded WHERE origin NOT IN ('api', 'temporary')
    ON CONFLICT DO NOTHING),
booked AS (
    INSERT INTO usage (day, person, agent, model, input, output, cache_read, cache_write, cost)
    SELECT $15, ended.person, agent, model, sum(input)::BIGINT, sum(output)::BIGINT,
           sum(cache_read)::BIGINT, sum(cache_write)::BIGINT, sum(used.cost)
    FROM ended, unnest($16::TEXT[], $17::TEXT[], $18::BIGINT[], $19::BIGINT[], $20::BIGINT[],
                       $21::BIGINT[], $22::DOUBLE PRECISION[])
         AS used (agent, model, input, output, cache_read, cache_write, cost)
    GROUP BY ended.person, agent, model
    ON CONFLICT (person, day, agent, model) DO UPDATE SET
        input = usage.input + excluded.input,
        output = usage.output + excluded.output,
        cache_read = usage.cache_read + excluded.cache_read,
        cache_write = usage.cache_write + excluded.cache_write,
        cost = usage.cost + excluded.cost)
SELECT 1 FROM ended";
