//! Jobs and their slots. The gateway that moves a slot from queued to running fires it. The row
//! `jobs` of the counters is locked meanwhile, so that the limits over all jobs also hold over all
//! gateways.

use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::Transaction;
use onyx_types::{JobId, PersonId, Timestamp};
use tokio_postgres::Row;

use crate::{
    AuditEntry, JobChange, JobLedger, JobRow, JobSlot, OwnedDuty, Settling, SlotClaim,
    SlotDelivery, SlotEnding, SlotKey, StoreError,
};

use super::audit::AuditChains;
use super::connect::Database;
use super::convert::{
    count, get, hash, integer, named, named_if_any, parsed, parsed_if_any, shown, shown_if_any,
    small, timestamp, timestamp_if_any,
};
use super::gateway::Gateway;
use super::query::{execute, read_all, row, row_if_any, rows};
use super::transaction::{TransactionError, transact};

#[derive(Clone, Debug)]
pub(crate) struct PostgresJobs {
    database: Database,
    audit: AuditChains,
    gateway: Arc<Gateway>,
}

impl PostgresJobs {
    pub(crate) fn new(database: Database, audit: AuditChains, gateway: Arc<Gateway>) -> Self {
        Self { database, audit, gateway }
    }
}

#[async_trait]
impl JobLedger for PostgresJobs {
    async fn jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT person, job, accepted_hash, accepted_text, accepted_at, anchor, settled, paused,
                    failures, session, seen_at
             FROM jobs ORDER BY person, job",
            &[],
        )
        .await?;
        read_all(&found, job_row)
    }

    async fn jobs_of(&self, person: &PersonId) -> Result<Vec<JobRow>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT person, job, accepted_hash, accepted_text, accepted_at, anchor, settled, paused,
                    failures, session, seen_at
             FROM jobs WHERE person = $1 ORDER BY job",
            &[&person.as_str()],
        )
        .await?;
        read_all(&found, job_row)
    }

    async fn job(&self, person: &PersonId, job: &JobId) -> Result<Option<JobRow>, StoreError> {
        let client = self.database.client().await?;
        let found = row_if_any(
            &client,
            "SELECT person, job, accepted_hash, accepted_text, accepted_at, anchor, settled, paused,
                    failures, session, seen_at
             FROM jobs WHERE person = $1 AND job = $2",
            &[&person.as_str(), &job.as_str()],
        )
        .await?;
        found.as_ref().map(job_row).transpose()
    }

    async fn put_job(&self, job: JobRow, entry: AuditEntry) -> Result<(), StoreError> {
        let row = transact!(self.database, transaction => {
            let held = self.audit.hold(&transaction, &entry.person).await?;
            put(&transaction, &job).await?;
            self.audit.add(&transaction, held, &entry).await
        })?;
        self.audit.tell(&row);
        Ok(())
    }

    async fn change_job(
        &self,
        person: &PersonId,
        job: &JobId,
        change: JobChange,
    ) -> Result<bool, StoreError> {
        transact!(self.database, transaction => {
            alter(&transaction, person, job, &change).await
        })
    }

    async fn remove_job(
        &self,
        person: &PersonId,
        job: &JobId,
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        let row = transact!(self.database, transaction => {
            let held = self.audit.hold(&transaction, &entry.person).await?;
            let name: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
                &[&person.as_str(), &job.as_str()];
            let remove = "DELETE FROM jobs WHERE person = $1 AND job = $2";
            execute(&transaction, remove, name).await?;
            let slots = "DELETE FROM job_slots WHERE person = $1 AND job = $2";
            execute(&transaction, slots, name).await?;
            self.audit.add(&transaction, held, &entry).await
        })?;
        self.audit.tell(&row);
        Ok(())
    }

    async fn settle_slots(&self, settling: Settling) -> Result<bool, StoreError> {
        transact!(self.database, transaction => { settle(&transaction, &settling).await })
    }

    async fn add_slot(&self, slot: JobSlot) -> Result<bool, StoreError> {
        transact!(self.database, transaction => { add(&transaction, &slot).await })
    }

    async fn claim_slot(&self, claim: SlotClaim) -> Result<bool, StoreError> {
        let incarnation = self.gateway.alive_again().await?;
        transact!(self.database, transaction => {
            take(&transaction, &claim, self.gateway.id(), incarnation).await
        })
    }

    async fn end_slot(&self, ending: SlotEnding) -> Result<bool, StoreError> {
        transact!(self.database, transaction => { end(&transaction, &ending).await })
    }

    async fn open_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT person, job, scheduled_at, last, count, state, trigger, run, session,
                    started_at, ended_at, cost, detail, delivery
             FROM job_slots WHERE state IN ('queued', 'running')
             ORDER BY scheduled_at, person, job",
            &[],
        )
        .await?;
        read_all(&found, slot_row)
    }

    async fn left_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT person, job, scheduled_at, last, count, state, trigger, run, session,
                    started_at, ended_at, cost, detail, delivery
             FROM job_slots WHERE state = 'running'
               AND (gateway = $1
                    OR NOT EXISTS (SELECT 1 FROM gateways
                                   WHERE gateways.id = job_slots.gateway
                                     AND gateways.incarnation = job_slots.incarnation
                                     AND gateways.until > clock_timestamp()))
             ORDER BY scheduled_at, person, job",
            &[&self.gateway.id()],
        )
        .await?;
        read_all(&found, slot_row)
    }

    async fn undelivered_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT person, job, scheduled_at, last, count, state, trigger, run, session,
                    started_at, ended_at, cost, detail, delivery
             FROM job_slots WHERE delivery = 'pending' ORDER BY scheduled_at, person, job",
            &[],
        )
        .await?;
        read_all(&found, slot_row)
    }

    async fn set_delivery(
        &self,
        slot: &SlotKey,
        by: &OwnedDuty,
        delivery: SlotDelivery,
        detail: Option<&str>,
    ) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        let changed = execute(
            &client,
            "UPDATE job_slots SET delivery = $4, detail = coalesce($5, detail)
             WHERE person = $1 AND job = $2 AND scheduled_at = $3 AND delivery = 'pending'
               AND EXISTS (SELECT 1 FROM owners
                           WHERE name = $6 AND fence = $7 AND incarnation = $8)",
            &[
                &slot.person.as_str(),
                &slot.job.as_str(),
                &slot.scheduled_at.as_millis(),
                &delivery.as_str(),
                &shown_if_any(detail),
                &by.name,
                &integer(by.fence),
                &by.incarnation,
            ],
        )
        .await?;
        Ok(changed > 0)
    }

    async fn slots(
        &self,
        person: &PersonId,
        job: &JobId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<JobSlot>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT person, job, scheduled_at, last, count, state, trigger, run, session,
                    started_at, ended_at, cost, detail, delivery
             FROM job_slots WHERE person = $1 AND job = $2 AND scheduled_at < $3
             ORDER BY scheduled_at DESC LIMIT $4",
            &[
                &person.as_str(),
                &job.as_str(),
                &before.map_or(i64::MAX, Timestamp::as_millis),
                &i64::from(limit),
            ],
        )
        .await?;
        read_all(&found, slot_row)
    }

    async fn unseen_troubles(&self, person: &PersonId) -> Result<Vec<(JobId, u64)>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT slot.job, count(*) FROM job_slots AS slot JOIN jobs USING (person, job)
             WHERE person = $1 AND slot.state IN ('failed', 'interrupted', 'missed')
               AND slot.ended_at > coalesce(jobs.seen_at, 0)
             GROUP BY slot.job ORDER BY slot.job",
            &[&person.as_str()],
        )
        .await?;
        read_all(&found, |row| Ok((parsed(row, 0)?, count(row, 1)?)))
    }

    async fn spent_by_job(
        &self,
        person: &PersonId,
        job: &JobId,
        since: Timestamp,
    ) -> Result<f64, StoreError> {
        let client = self.database.client().await?;
        let sum = row(
            &client,
            "SELECT coalesce(sum(cost), 0) FROM job_slots
             WHERE person = $1 AND job = $2 AND started_at >= $3",
            &[&person.as_str(), &job.as_str(), &since.as_millis()],
        )
        .await?;
        get(&sum, 0)
    }
}

async fn put(transaction: &Transaction<'_>, row: &JobRow) -> Result<(), TransactionError> {
    execute(
        transaction,
        "INSERT INTO jobs (person, job, accepted_hash, accepted_text, accepted_at, anchor, settled,
                           paused, failures, session, seen_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (person, job) DO UPDATE SET accepted_hash = excluded.accepted_hash,
             accepted_text = excluded.accepted_text, accepted_at = excluded.accepted_at,
             anchor = excluded.anchor, settled = excluded.settled, paused = excluded.paused,
             failures = excluded.failures, session = excluded.session,
             seen_at = excluded.seen_at",
        &[
            &row.person.as_str(),
            &row.job.as_str(),
            &row.accepted_hash.to_string(),
            &shown(&row.accepted_text),
            &row.accepted_at.as_millis(),
            &row.anchor.as_millis(),
            &row.settled.as_millis(),
            &shown_if_any(row.paused.as_deref()),
            &i64::from(row.failures),
            &row.session.map(|session| session.to_string()),
            &row.seen_at.map(Timestamp::as_millis),
        ],
    )
    .await?;
    Ok(())
}

async fn alter(
    transaction: &Transaction<'_>,
    person: &PersonId,
    job: &JobId,
    change: &JobChange,
) -> Result<bool, TransactionError> {
    let paused = change.paused.as_ref().and_then(|paused| paused.as_deref());
    let changed = execute(
        transaction,
        "UPDATE jobs SET
             paused = CASE WHEN $3 THEN $4 ELSE paused END,
             failures = coalesce($5, failures),
             session = coalesce($6, session),
             seen_at = coalesce($7, seen_at),
             settled = coalesce($8, settled)
         WHERE person = $1 AND job = $2",
        &[
            &person.as_str(),
            &job.as_str(),
            &change.paused.is_some(),
            &shown_if_any(paused),
            &change.failures.map(i64::from),
            &change.session.map(|session| session.to_string()),
            &change.seen_at.map(Timestamp::as_millis),
            &change.settled.map(Timestamp::as_millis),
        ],
    )
    .await?;
    Ok(changed > 0)
}

async fn settle(
    transaction: &Transaction<'_>,
    settling: &Settling,
) -> Result<bool, TransactionError> {
    let Settling { person, job, from, to, slots } = settling;
    let moved = execute(
        transaction,
        "UPDATE jobs SET settled = $4 WHERE person = $1 AND job = $2 AND settled = $3",
        &[&person.as_str(), &job.as_str(), &from.as_millis(), &to.as_millis()],
    )
    .await?;
    if moved == 0 {
        return Ok(false);
    }
    if to < from {
        reopen(transaction, person, job, *to).await?;
    }
    for slot in slots {
        if !add(transaction, slot).await? && slot.last > slot.scheduled_at {
            // The first time of the row was fired before the clock was set back. The other times
            // were not, so they get a row of their own.
            let rest = Timestamp::from_millis(slot.scheduled_at.as_millis() + 1);
            add(transaction, &JobSlot { scheduled_at: rest, ..slot.clone() }).await?;
        }
    }
    forget_oldest(transaction, person, job).await?;
    Ok(true)
}

/// The most slots of a job that are kept for people to look at.
const MOST_KEPT: i64 = 2_000;

async fn forget_oldest(
    transaction: &Transaction<'_>,
    person: &PersonId,
    job: &JobId,
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "DELETE FROM job_slots WHERE person = $1 AND job = $2
           AND state NOT IN ('queued', 'running')
           AND scheduled_at < (SELECT scheduled_at FROM job_slots
                               WHERE person = $1 AND job = $2
                               ORDER BY scheduled_at DESC LIMIT 1 OFFSET $3)",
        &[&person.as_str(), &job.as_str(), &MOST_KEPT],
    )
    .await?;
    Ok(())
}

/// Removes skipped and missed slots after a time, because the clock was wrong and their times come
/// again.
async fn reopen(
    transaction: &Transaction<'_>,
    person: &PersonId,
    job: &JobId,
    after: Timestamp,
) -> Result<(), TransactionError> {
    for statement in [
        "DELETE FROM job_slots WHERE person = $1 AND job = $2 AND scheduled_at > $3
           AND state IN ('skipped', 'missed')",
        "UPDATE job_slots SET last = $3 WHERE person = $1 AND job = $2 AND last > $3
           AND state IN ('skipped', 'missed')",
    ] {
        let given = after.as_millis();
        execute(transaction, statement, &[&person.as_str(), &job.as_str(), &given]).await?;
    }
    Ok(())
}

async fn add(transaction: &Transaction<'_>, slot: &JobSlot) -> Result<bool, TransactionError> {
    let added = execute(
        transaction,
        "INSERT INTO job_slots
             (person, job, scheduled_at, last, count, state, trigger, run, session, started_at,
              ended_at, cost, detail, delivery)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         ON CONFLICT DO NOTHING",
        &[
            &slot.person.as_str(),
            &slot.job.as_str(),
            &slot.scheduled_at.as_millis(),
            &slot.last.as_millis(),
            &i64::from(slot.count),
            &slot.state.as_str(),
            &slot.trigger.as_str(),
            &slot.run.map(|run| run.to_string()),
            &slot.session.map(|session| session.to_string()),
            &slot.started_at.map(Timestamp::as_millis),
            &slot.ended_at.map(Timestamp::as_millis),
            &slot.cost,
            &shown(&slot.detail),
            &slot.delivery.map(SlotDelivery::as_str),
        ],
    )
    .await?;
    Ok(added > 0)
}

async fn take(
    transaction: &Transaction<'_>,
    claim: &SlotClaim,
    gateway: &str,
    incarnation: i64,
) -> Result<bool, TransactionError> {
    // Without the lock, two claims of different slots would each not see that the other slot starts
    // to run.
    let hold = "SELECT value FROM counters WHERE name = 'jobs' FOR UPDATE";
    row(transaction, hold, &[]).await?;
    let claimed = execute(
        transaction,
        "UPDATE job_slots SET state = 'running', run = $4, started_at = $5, gateway = $7,
                              incarnation = $8
         WHERE person = $1 AND job = $2 AND scheduled_at = $3 AND state = 'queued'
           AND NOT EXISTS (SELECT 1 FROM job_slots AS other
                           WHERE other.state = 'running' AND other.person = $1
                             AND other.job = $2)
           AND (SELECT count(*) FROM job_slots WHERE state = 'running') < $6
           AND EXISTS (SELECT 1 FROM gateways
                       WHERE id = $7 AND incarnation = $8 AND until > clock_timestamp())",
        &[
            &claim.slot.person.as_str(),
            &claim.slot.job.as_str(),
            &claim.slot.scheduled_at.as_millis(),
            &claim.run.map(|run| run.to_string()),
            &claim.started_at.as_millis(),
            &integer(claim.most as u64),
            &gateway,
            &incarnation,
        ],
    )
    .await?;
    Ok(claimed > 0)
}

async fn end(transaction: &Transaction<'_>, ending: &SlotEnding) -> Result<bool, TransactionError> {
    let ended = execute(
        transaction,
        "UPDATE job_slots SET state = $5, session = coalesce($6, session), ended_at = $7,
                              cost = coalesce($8, cost), detail = $9, delivery = $10
         WHERE person = $1 AND job = $2 AND scheduled_at = $3 AND state = $4",
        &[
            &ending.slot.person.as_str(),
            &ending.slot.job.as_str(),
            &ending.slot.scheduled_at.as_millis(),
            &ending.from.as_str(),
            &ending.state.as_str(),
            &ending.session.map(|session| session.to_string()),
            &ending.ended_at.as_millis(),
            &ending.cost,
            &shown(&ending.detail),
            &ending.delivery.map(SlotDelivery::as_str),
        ],
    )
    .await?;
    if ended == 0 {
        return Ok(false);
    }
    alter(transaction, &ending.slot.person, &ending.slot.job, &ending.job).await?;
    Ok(true)
}

fn job_row(row: &Row) -> Result<JobRow, StoreError> {
    Ok(JobRow {
        person: parsed(row, 0)?,
        job: parsed(row, 1)?,
        accepted_hash: hash(row, 2)?,
        accepted_text: get(row, 3)?,
        accepted_at: timestamp(row, 4)?,
        anchor: timestamp(row, 5)?,
        settled: timestamp(row, 6)?,
        paused: get(row, 7)?,
        failures: small(row, 8)?,
        session: parsed_if_any(row, 9)?,
        seen_at: timestamp_if_any(row, 10)?,
    })
}

fn slot_row(row: &Row) -> Result<JobSlot, StoreError> {
    Ok(JobSlot {
        person: parsed(row, 0)?,
        job: parsed(row, 1)?,
        scheduled_at: timestamp(row, 2)?,
        last: timestamp(row, 3)?,
        count: small(row, 4)?,
        state: named(row, 5)?,
        trigger: named(row, 6)?,
        run: parsed_if_any(row, 7)?,
        session: parsed_if_any(row, 8)?,
        started_at: timestamp_if_any(row, 9)?,
        ended_at: timestamp_if_any(row, 10)?,
        cost: get(row, 11)?,
        detail: get(row, 12)?,
        delivery: named_if_any(row, 13)?,
    })
}
