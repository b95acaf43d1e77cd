//! Jobs in the embedded database. They are few, and their slots are queried by job or while open.

use async_trait::async_trait;
use onyx_types::{JobId, PersonId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::{
    AuditEntry, JobChange, JobLedger, JobRow, JobSlot, OwnedDuty, Settling, SlotClaim,
    SlotDelivery, SlotEnding, SlotKey, StoreError,
};

use super::audit;
use super::convert::{count, hash, integer, named, named_if_any, parsed, parsed_if_any, timestamp};
use super::ledger::SqliteLedger;

#[async_trait]
impl JobLedger for SqliteLedger {
    async fn jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        self.readers.read(all).await
    }

    async fn job(&self, person: &PersonId, job: &JobId) -> Result<Option<JobRow>, StoreError> {
        let (person, job) = (person.clone(), job.clone());
        self.readers.read(move |connection| one(connection, &person, &job)).await
    }

    async fn put_job(&self, row: JobRow, entry: AuditEntry) -> Result<(), StoreError> {
        let witnesses = self.witnesses.clone();
        let put = move |connection: &Connection| {
            put(connection, &row)?;
            audit::append(connection, entry, witnesses.seal())
        };
        let row = self.writer.write(put).await?;
        self.witnesses.tell(&row);
        Ok(())
    }

    async fn change_job(
        &self,
        person: &PersonId,
        job: &JobId,
        change: JobChange,
    ) -> Result<bool, StoreError> {
        let (person, job) = (person.clone(), job.clone());
        let write = move |connection: &Connection| self::change(connection, &person, &job, &change);
        self.writer.write(write).await
    }

    async fn remove_job(
        &self,
        person: &PersonId,
        job: &JobId,
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        let (person, job) = (person.clone(), job.clone());
        let witnesses = self.witnesses.clone();
        let remove = move |connection: &Connection| {
            remove(connection, &person, &job)?;
            audit::append(connection, entry, witnesses.seal())
        };
        let row = self.writer.write(remove).await?;
        self.witnesses.tell(&row);
        Ok(())
    }

    async fn settle_slots(&self, settling: Settling) -> Result<bool, StoreError> {
        self.writer.write(move |connection| settle(connection, &settling)).await
    }

    async fn add_slot(&self, slot: JobSlot) -> Result<bool, StoreError> {
        self.writer.write(move |connection| add(connection, &slot)).await
    }

    async fn claim_slot(&self, claim: SlotClaim) -> Result<bool, StoreError> {
        self.writer.write(move |connection| self::claim(connection, &claim)).await
    }

    async fn end_slot(&self, ending: SlotEnding) -> Result<bool, StoreError> {
        self.writer.write(move |connection| end(connection, &ending)).await
    }

    async fn open_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        self.readers.read(open).await
    }

    async fn undelivered_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        self.readers.read(undelivered).await
    }

    async fn set_delivery(
        &self,
        slot: &SlotKey,
        _by: &OwnedDuty,
        delivery: SlotDelivery,
        detail: Option<&str>,
    ) -> Result<bool, StoreError> {
        let (slot, detail) = (slot.clone(), detail.map(str::to_owned));
        let set = move |connection: &Connection| {
            let changed = connection
                .prepare_cached(
                    "UPDATE job_slots SET delivery = ?4, detail = coalesce(?5, detail)
                     WHERE person = ?1 AND job = ?2 AND scheduled_at = ?3
                       AND delivery = 'pending'",
                )?
                .execute(params![
                    slot.person.as_str(),
                    slot.job.as_str(),
                    slot.scheduled_at.as_millis(),
                    delivery.as_str(),
                    detail
                ])?;
            Ok(changed > 0)
        };
        self.writer.write(set).await
    }

    async fn slots(
        &self,
        person: &PersonId,
        job: &JobId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<JobSlot>, StoreError> {
        let (person, job) = (person.clone(), job.clone());
        self.readers.read(move |connection| page(connection, &person, &job, before, limit)).await
    }

    async fn unseen_troubles(&self, person: &PersonId) -> Result<Vec<(JobId, u64)>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| unseen(connection, &person)).await
    }

    async fn spent_by_job(
        &self,
        person: &PersonId,
        job: &JobId,
        since: Timestamp,
    ) -> Result<f64, StoreError> {
        let (person, job) = (person.clone(), job.clone());
        let sum = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(
                "SELECT total(cost) FROM job_slots
                 WHERE person = ?1 AND job = ?2 AND started_at >= ?3",
            )?;
            let asked = params![person.as_str(), job.as_str(), since.as_millis()];
            Ok(statement.query_row(asked, |row| row.get(0))?)
        };
        self.readers.read(sum).await
    }
}

fn all(connection: &Connection) -> Result<Vec<JobRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, job, accepted_hash, accepted_text, accepted_at, anchor, settled, paused,
                failures, session, seen_at
         FROM jobs ORDER BY person, job",
    )?;
    let rows = statement.query_map([], job_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn one(
    connection: &Connection,
    person: &PersonId,
    job: &JobId,
) -> Result<Option<JobRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, job, accepted_hash, accepted_text, accepted_at, anchor, settled, paused,
                failures, session, seen_at
         FROM jobs WHERE person = ?1 AND job = ?2",
    )?;
    Ok(statement.query_row(params![person.as_str(), job.as_str()], job_row).optional()?)
}

fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let seen: Option<i64> = row.get(10)?;
    Ok(JobRow {
        person: parsed(row, 0)?,
        job: parsed(row, 1)?,
        accepted_hash: hash(row, 2)?,
        accepted_text: row.get(3)?,
        accepted_at: timestamp(row, 4)?,
        anchor: timestamp(row, 5)?,
        settled: timestamp(row, 6)?,
        paused: row.get(7)?,
        failures: row.get(8)?,
        session: parsed_if_any(row, 9)?,
        seen_at: seen.map(Timestamp::from_millis),
    })
}

fn put(connection: &Connection, row: &JobRow) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO jobs
                 (person, job, accepted_hash, accepted_text, accepted_at, anchor, settled, paused,
                  failures, session, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            row.person.as_str(),
            row.job.as_str(),
            row.accepted_hash.to_string(),
            row.accepted_text,
            row.accepted_at.as_millis(),
            row.anchor.as_millis(),
            row.settled.as_millis(),
            row.paused,
            row.failures,
            row.session.map(|session| session.to_string()),
            row.seen_at.map(Timestamp::as_millis),
        ])?;
    Ok(())
}

fn change(
    connection: &Connection,
    person: &PersonId,
    job: &JobId,
    change: &JobChange,
) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE jobs SET
                 paused = iif(:sets_paused, :paused, paused),
                 failures = coalesce(:failures, failures),
                 session = coalesce(:session, session),
                 seen_at = coalesce(:seen_at, seen_at),
                 settled = coalesce(:settled, settled)
             WHERE person = :person AND job = :job",
        )?
        .execute(named_params! {
            ":person": person.as_str(),
            ":job": job.as_str(),
            ":sets_paused": change.paused.is_some(),
            ":paused": change.paused.clone().flatten(),
            ":failures": change.failures,
            ":session": change.session.map(|session| session.to_string()),
            ":seen_at": change.seen_at.map(Timestamp::as_millis),
            ":settled": change.settled.map(Timestamp::as_millis),
        })?;
    Ok(changed > 0)
}

fn remove(connection: &Connection, person: &PersonId, job: &JobId) -> Result<(), StoreError> {
    let name = params![person.as_str(), job.as_str()];
    connection.prepare_cached("DELETE FROM jobs WHERE person = ?1 AND job = ?2")?.execute(name)?;
    connection
        .prepare_cached("DELETE FROM job_slots WHERE person = ?1 AND job = ?2")?
        .execute(params![person.as_str(), job.as_str()])?;
    Ok(())
}

fn settle(connection: &Connection, settling: &Settling) -> Result<bool, StoreError> {
    let Settling { person, job, from, to, slots } = settling;
    let moved = connection
        .prepare_cached(
            "UPDATE jobs SET settled = ?4 WHERE person = ?1 AND job = ?2 AND settled = ?3",
        )?
        .execute(params![person.as_str(), job.as_str(), from.as_millis(), to.as_millis()])?;
    if moved == 0 {
        return Ok(false);
    }
    if to < from {
        reopen(connection, person, job, *to)?;
    }
    for slot in slots {
        if !add(connection, slot)? && slot.last > slot.scheduled_at {
            // The first time of the row was fired before the clock was set back. The other times
            // were not, so they get a row of their own.
            let rest = Timestamp::from_millis(slot.scheduled_at.as_millis() + 1);
            add(connection, &JobSlot { scheduled_at: rest, ..slot.clone() })?;
        }
    }
    forget_oldest(connection, person, job)?;
    Ok(true)
}

/// The most slots of a job that are kept for people to look at.
const MOST_KEPT: u32 = 2_000;

fn forget_oldest(
    connection: &Connection,
    person: &PersonId,
    job: &JobId,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM job_slots WHERE person = ?1 AND job = ?2
               AND state NOT IN ('queued', 'running')
               AND scheduled_at < (SELECT scheduled_at FROM job_slots
                                   WHERE person = ?1 AND job = ?2
                                   ORDER BY scheduled_at DESC LIMIT 1 OFFSET ?3)",
        )?
        .execute(params![person.as_str(), job.as_str(), MOST_KEPT])?;
    Ok(())
}

/// Removes skipped and missed slots after a time, because the clock was wrong and their times come
/// again.
fn reopen(
    connection: &Connection,
    person: &PersonId,
    job: &JobId,
    after: Timestamp,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM job_slots WHERE person = ?1 AND job = ?2 AND scheduled_at > ?3
               AND state IN ('skipped', 'missed')",
        )?
        .execute(params![person.as_str(), job.as_str(), after.as_millis()])?;
    connection
        .prepare_cached(
            "UPDATE job_slots SET last = ?3 WHERE person = ?1 AND job = ?2 AND last > ?3
               AND state IN ('skipped', 'missed')",
        )?
        .execute(params![person.as_str(), job.as_str(), after.as_millis()])?;
    Ok(())
}

fn add(connection: &Connection, slot: &JobSlot) -> Result<bool, StoreError> {
    let added = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO job_slots
                 (person, job, scheduled_at, last, count, state, trigger, run, session, started_at,
                  ended_at, cost, detail, delivery)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            slot.person.as_str(),
            slot.job.as_str(),
            slot.scheduled_at.as_millis(),
            slot.last.as_millis(),
            slot.count,
            slot.state.as_str(),
            slot.trigger.as_str(),
            slot.run.map(|run| run.to_string()),
            slot.session.map(|session| session.to_string()),
            slot.started_at.map(Timestamp::as_millis),
            slot.ended_at.map(Timestamp::as_millis),
            slot.cost,
            slot.detail,
            slot.delivery.map(SlotDelivery::as_str),
        ])?;
    Ok(added > 0)
}

fn claim(connection: &Connection, claim: &SlotClaim) -> Result<bool, StoreError> {
    let claimed = connection
        .prepare_cached(
            "UPDATE job_slots SET state = 'running', run = :run, started_at = :started_at
             WHERE person = :person AND job = :job AND scheduled_at = :at AND state = 'queued'
               AND NOT EXISTS (SELECT 1 FROM job_slots AS other
                               WHERE other.state = 'running' AND other.person = :person
                                 AND other.job = :job)
               AND (SELECT count(*) FROM job_slots WHERE state = 'running') < :most",
        )?
        .execute(named_params! {
            ":person": claim.slot.person.as_str(),
            ":job": claim.slot.job.as_str(),
            ":at": claim.slot.scheduled_at.as_millis(),
            ":run": claim.run.map(|run| run.to_string()),
            ":started_at": claim.started_at.as_millis(),
            ":most": integer(claim.most as u64),
        })?;
    Ok(claimed > 0)
}

fn end(connection: &Connection, ending: &SlotEnding) -> Result<bool, StoreError> {
    let ended = connection
        .prepare_cached(
            "UPDATE job_slots SET state = :state, session = coalesce(:session, session),
                                  ended_at = :ended_at, cost = coalesce(:cost, cost),
                                  detail = :detail, delivery = :delivery
             WHERE person = :person AND job = :job AND scheduled_at = :at AND state = :from",
        )?
        .execute(named_params! {
            ":person": ending.slot.person.as_str(),
            ":job": ending.slot.job.as_str(),
            ":at": ending.slot.scheduled_at.as_millis(),
            ":from": ending.from.as_str(),
            ":state": ending.state.as_str(),
            ":session": ending.session.map(|session| session.to_string()),
            ":ended_at": ending.ended_at.as_millis(),
            ":cost": ending.cost,
            ":detail": ending.detail,
            ":delivery": ending.delivery.map(SlotDelivery::as_str),
        })?;
    if ended == 0 {
        return Ok(false);
    }
    change(connection, &ending.slot.person, &ending.slot.job, &ending.job)?;
    Ok(true)
}

fn open(connection: &Connection) -> Result<Vec<JobSlot>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, job, scheduled_at, last, count, state, trigger, run, session, started_at,
                ended_at, cost, detail, delivery
         FROM job_slots WHERE state IN ('queued', 'running')
         ORDER BY scheduled_at, person, job",
    )?;
    let rows = statement.query_map([], slot_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn undelivered(connection: &Connection) -> Result<Vec<JobSlot>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, job, scheduled_at, last, count, state, trigger, run, session, started_at,
                ended_at, cost, detail, delivery
         FROM job_slots WHERE delivery = 'pending' ORDER BY scheduled_at, person, job",
    )?;
    let rows = statement.query_map([], slot_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn page(
    connection: &Connection,
    person: &PersonId,
    job: &JobId,
    before: Option<Timestamp>,
    limit: u32,
) -> Result<Vec<JobSlot>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, job, scheduled_at, last, count, state, trigger, run, session, started_at,
                ended_at, cost, detail, delivery
         FROM job_slots WHERE person = ?1 AND job = ?2 AND scheduled_at < ?3
         ORDER BY scheduled_at DESC LIMIT ?4",
    )?;
    let before = before.map_or(i64::MAX, Timestamp::as_millis);
    let rows =
        statement.query_map(params![person.as_str(), job.as_str(), before, limit], slot_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn slot_row(row: &Row<'_>) -> rusqlite::Result<JobSlot> {
    let (started, ended): (Option<i64>, Option<i64>) = (row.get(9)?, row.get(10)?);
    Ok(JobSlot {
        person: parsed(row, 0)?,
        job: parsed(row, 1)?,
        scheduled_at: timestamp(row, 2)?,
        last: timestamp(row, 3)?,
        count: row.get(4)?,
        state: named(row, 5)?,
        trigger: named(row, 6)?,
        run: parsed_if_any(row, 7)?,
        session: parsed_if_any(row, 8)?,
        started_at: started.map(Timestamp::from_millis),
        ended_at: ended.map(Timestamp::from_millis),
        cost: row.get(11)?,
        detail: row.get(12)?,
        delivery: named_if_any(row, 13)?,
    })
}

fn unseen(connection: &Connection, person: &PersonId) -> Result<Vec<(JobId, u64)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT slot.job, count(*) FROM job_slots AS slot JOIN jobs USING (person, job)
         WHERE person = ?1 AND slot.state IN ('failed', 'interrupted', 'missed')
           AND slot.ended_at > coalesce(jobs.seen_at, 0)
         GROUP BY slot.job ORDER BY slot.job",
    )?;
    let rows =
        statement.query_map([person.as_str()], |row| Ok((parsed(row, 0)?, count(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
