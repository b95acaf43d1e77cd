//! The beginning and the end of a run, each as one statement and so one trip to the database,
//! because every answer waits for both. Each statement writes the run's turns, its row and its
//! session's row under the fence of the session's lease, or nothing at all. What the statements
//! cannot do (create a session, explain why nothing happened) is left to `runs`.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{PersonId, Turn};
use tokio_postgres::error::SqlState;

use super::PostgresLedger;
use crate::blocking::lock;
use crate::postgres::convert::{get, integer, shown_if_any};
use crate::postgres::query::row_if_any;
use crate::postgres::transaction::TransactionError;
use crate::postgres::turns::{
    AppendStatement, PostgresTurnLog, Written, added_lines, appended_columns, is_held,
};
use crate::{
    BeginError, BeginIn, BeginRun, FinalWrite, Lease, Ledger as _, LogState, RunLog, RunOutcome,
    StoreError, TurnLog as _,
};

/// Writes a run's turns and its ledger rows together. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct PostgresRunLog {
    ledger: PostgresLedger,
    turns: PostgresTurnLog,
}

impl PostgresRunLog {
    pub(crate) fn new(ledger: PostgresLedger, turns: PostgresTurnLog) -> Self {
        Self { ledger, turns }
    }
}

/// What people had spent when their runs at this gateway began. The budget asks for it a moment
/// later.
#[derive(Debug, Default)]
pub(super) struct KnownSpending(Mutex<HashMap<PersonId, DayCost>>);

#[derive(Debug)]
pub(super) struct DayCost {
    pub(super) day: String,
    pub(super) cost: f64,
    pub(super) at: Duration,
}

/// How long such a sum is valid. A run asks its model within this time.
const OPENING: Duration = Duration::from_secs(1);

impl KnownSpending {
    fn keep(&self, person: &PersonId, spent: DayCost) {
        lock(&self.0).insert(person.clone(), spent);
    }

    /// Forgets the sum of a person, because usage was recorded since.
    pub(super) fn forget(&self, person: &PersonId) {
        lock(&self.0).remove(person);
    }

    /// Returns the sum of a person once. A second caller needs the state at its own time, so it has
    /// to ask the database.
    pub(super) fn take(&self, person: &PersonId, day: &str, now: Duration) -> Option<f64> {
        let spent = lock(&self.0).remove(person)?;
        (spent.day == day && now < spent.at + OPENING).then_some(spent.cost)
    }
}

#[async_trait]
impl RunLog for PostgresRunLog {
    async fn begin(
        &self,
        lease: &Lease,
        begin: BeginRun,
        turns: &[Turn],
    ) -> Result<(), BeginError> {
        match begin.session {
            BeginIn::New(_) => {
                self.ledger.begin_run(begin).await.map_err(BeginError::NotBegun)?;
                let written = self.turns.append(lease, turns).await;
                written.map(drop).map_err(BeginError::NotWritten)
            }
            BeginIn::Existing => {
                let begun = self.begin_at_once(lease, &begin, turns).await;
                begun.map_err(BeginError::NotBegun)
            }
        }
    }

    async fn end(
        &self,
        lease: &Lease,
        last: FinalWrite<'_>,
    ) -> Result<Option<LogState>, StoreError> {
        let person = &lease.key.person;
        self.ledger.spent.forget(person);
        let written = self.end_at_once(lease, &last).await?;
        self.ledger.leases.freed(lease);
        // If the answer was lost, the presence of the turns shows that the whole statement
        // happened.
        let is_ended = written.row.as_ref().map_or(Ok(true), |row| get(row, 4))?;
        let run = last.outcome.run;
        // The run is not in the ledger, or had ended there before; `end_run` finds out which.
        if !is_ended && let Err(error) = self.ledger.end_run(last.outcome).await {
            tracing::error!(%run, %error, "the run's end could not be recorded");
        }
        Ok(Some(written.log))
    }
}

impl PostgresRunLog {
    async fn begin_at_once(
        &self,
        lease: &Lease,
        begin: &BeginRun,
        turns: &[Turn],
    ) -> Result<(), StoreError> {
        let ledger = &self.ledger;
        let incarnation = ledger.gateway.alive_again().await?;
        ledger.leases.opened(&begin.key);
        let (person, at) = (&begin.key.person, ledger.clock.now().mono);
        let day = ledger.clock.zone_of(person).date(begin.started_at);
        let statement = AppendStatement {
            sql: BEGIN,
            given: &[
                &begin.input_turn.to_string(),
                &begin.run.to_string(),
                &begin.started_at.as_millis(),
                &ledger.gateway.id(),
                &incarnation,
                &day,
            ],
        };
        match self.turns.append_by(lease, turns, &statement).await {
            Ok(written) => {
                if let Some(row) = &written.row {
                    let cost = get(row, 4)?;
                    ledger.spent.keep(person, DayCost { day, cost, at });
                }
                Ok(())
            }
            // The input or the run itself exists already, so nothing was written.
            Err(TransactionError::Database(error))
                if error.code() == Some(&SqlState::UNIQUE_VIOLATION) =>
            {
                Err(StoreError::AlreadyRun)
            }
            Err(TransactionError::Store(StoreError::LeaseLost)) => {
                Err(self.why_not_begun(begin).await?)
            }
            Err(trouble) => Err(trouble.into()),
        }
    }

    /// The error for a run that did not begin: another gateway holds the session, or a run of this
    /// agent may not begin in it.
    async fn why_not_begun(&self, begin: &BeginRun) -> Result<StoreError, StoreError> {
        let client = self.ledger.database.client().await?;
        let select = "SELECT agent FROM sessions WHERE person = $1 AND session = $2";
        let (person, session) = (begin.key.person.as_str(), begin.key.session.to_string());
        let found = row_if_any(&client, select, &[&person, &session]).await?;
        let Some(found) = found else { return Ok(StoreError::NotFound) };
        let is_its_agent = get::<&str>(&found, 0)? == begin.key.agent.as_str();
        Ok(if is_its_agent { StoreError::LeaseLost } else { StoreError::Conflict })
    }

    async fn end_at_once(
        &self,
        lease: &Lease,
        last: &FinalWrite<'_>,
    ) -> Result<Written, StoreError> {
        let RunOutcome { run, status, ended_at, usage, used, .. } = &last.outcome;
        let person = &lease.key.person;
        let agents: Vec<&str> = used.iter().map(|used| used.agent.as_str()).collect();
        let models: Vec<&str> = used.iter().map(|used| used.model.as_str()).collect();
        let all = |of: fn(&onyx_types::Usage) -> u64| -> Vec<i64> {
            used.iter().map(|used| integer(of(&used.usage))).collect()
        };
        // Usage of unknown price counts as costing nothing; the run tells the person.
        let costs: Vec<f64> = used.iter().map(|used| used.usage.cost.unwrap_or(0.0)).collect();
        let statement = AppendStatement {
            sql: END,
            given: &[
                &run.to_string(),
                &status.as_str(),
                &ended_at.as_millis(),
                &integer(usage.input),
                &integer(usage.output),
                &integer(usage.cache_read),
                &integer(usage.cache_write),
                &usage.cost,
                &status.may_run_again(),
                &integer(last.outcome.messages_added),
                &integer(usage.tokens()),
                &shown_if_any(last.outcome.preview.as_deref()),
                &shown_if_any(last.outcome.title.as_deref()),
                &self.ledger.clock.zone_of(person).date(*ended_at),
                &agents,
                &models,
                &all(|usage| usage.input),
                &all(|usage| usage.output),
                &all(|usage| usage.cache_read),
                &all(|usage| usage.cache_write),
                &costs,
                &last.noted_live,
            ],
        };
        Ok(self.turns.append_by(lease, last.turns, &statement).await?)
    }
}

/// Begins a run in a session that exists. It also returns what the person has spent on the day.
const BEGIN: &str = concat!(
    "WITH held AS (
         UPDATE session_log SET next_seq = next_seq + $5, next_pos = next_pos + $6,
                                written = clock_timestamp()
         WHERE person = $1 AND agent = $2 AND session = $3 AND ",
    is_held!(),
    " AND EXISTS (SELECT 1 FROM sessions
                       WHERE sessions.person = $1 AND sessions.session = $3
                         AND sessions.agent = $2)
         RETURNING person, agent, session, next_seq, next_pos, sealed_seq, sealed_pos, generation),
     ",
    added_lines!(),
    ",
     touched AS (
         UPDATE sessions SET updated_at = greatest(updated_at, $12), last_run = $11,
                             last_run_status = NULL
         FROM held WHERE sessions.person = held.person AND sessions.session = held.session),
     taken AS (
         INSERT INTO run_inputs (person, session, input_turn, run)
         SELECT person, session, $10, $11 FROM held),
     begun AS (
         INSERT INTO runs (run, person, agent, session, input_turn, started_at, gateway,
                           incarnation)
         SELECT $11, person, agent, session, $10, $12, $13, $14 FROM held)
     SELECT ",
    appended_columns!(),
    ", coalesce((SELECT sum(cost) FROM usage WHERE usage.day = $15 AND usage.person = $1), 0)
     FROM held"
);

/// Ends a run and releases its session. The fence grows with the release, so nothing that was sent
/// before can still be written. Usage is summed up before it is booked, because one statement must
/// not touch a row of `usage` twice.
const END: &str = concat!(
    "WITH held AS (
         UPDATE session_log SET next_seq = next_seq + $5, next_pos = next_pos + $6,
                                written = clock_timestamp(),
                                fence = greatest(fence + 1, nextval('fences')),
                                until = '-infinity'
         WHERE person = $1 AND agent = $2 AND session = $3 AND ",
    is_held!(),
    " RETURNING person, agent, session, next_seq, next_pos, sealed_seq, sealed_pos, generation),
     ",
    added_lines!(),
    ",
     cleared AS (
         DELETE FROM live_texts USING held
         WHERE $31 AND live_texts.person = held.person AND live_texts.agent = held.agent
           AND live_texts.session = held.session),
     ended AS (
         UPDATE runs SET status = $11, ended_at = $12, input = $13, output = $14,
                         cache_read = $15, cache_write = $16, cost = $17
         FROM held WHERE run = $10 AND runs.person = held.person AND status IS NULL
         RETURNING runs.person, runs.session),
     freed AS (
         DELETE FROM run_inputs USING ended
         WHERE $18 AND run_inputs.person = ended.person AND run_inputs.session = ended.session
           AND run_inputs.run = $10),
     folded AS (
         UPDATE sessions SET
             updated_at = greatest(updated_at, $12),
             message_count = message_count + $19,
             token_count = token_count + $20,
             preview = coalesce($21, preview),
             title = coalesce(title, $22),
             last_run = $10,
             last_run_status = $11
         FROM ended WHERE sessions.person = ended.person AND sessions.session = ended.session
         RETURNING sessions.person, sessions.session, origin),
     noted AS (
         INSERT INTO session_changes (person, session, noted)
         SELECT person, session, clock_timestamp() FROM folded
         ON CONFLICT (person, session) DO UPDATE SET seq = NULL, noted = clock_timestamp()),
     unseen AS (
         INSERT INTO unread (person, session, since)
         SELECT person, session, $12 FROM folded WHERE origin NOT IN ('api', 'temporary')
         ON CONFLICT DO NOTHING),
     booked AS (
         INSERT INTO usage (day, person, agent, model, input, output, cache_read, cache_write,
                            cost)
         SELECT $23, ended.person, agent, model, sum(input)::BIGINT, sum(output)::BIGINT,
                sum(cache_read)::BIGINT, sum(cache_write)::BIGINT, sum(used.cost)
         FROM ended, unnest($24::TEXT[], $25::TEXT[], $26::BIGINT[], $27::BIGINT[], $28::BIGINT[],
                            $29::BIGINT[], $30::DOUBLE PRECISION[])
              AS used (agent, model, input, output, cache_read, cache_write, cost)
         GROUP BY ended.person, agent, model
         ON CONFLICT (person, day, agent, model) DO UPDATE SET
             input = usage.input + excluded.input,
             output = usage.output + excluded.output,
             cache_read = usage.cache_read + excluded.cache_read,
             cache_write = usage.cache_write + excluded.cache_write,
             cost = usage.cost + excluded.cost)
     SELECT ",
    appended_columns!(),
    ", EXISTS (SELECT 1 FROM ended) FROM held"
);
