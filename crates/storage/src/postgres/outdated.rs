//! Removes rows that nobody needs any more, a bounded number at a time: leases of gateways that are
//! gone, protections of copies whose time is over, and what is left of sessions that were deleted long
//! ago. Logs, runs, drafts and the audit chains are the history of a home and are not removed here.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio_postgres::Row;

use super::connect::Database;
use super::convert::get;
use super::query::{execute, read_all, rows};
use crate::StoreError;

/// How long after its deletion what is left of a session is kept. Until then, followers of changes
/// that were away need not look at all sessions, and a message that is sent again is recognised.
const KEPT_DELETED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How many changes of sessions are looked at in one call.
const CHANGES_AT_ONCE: i64 = 2_000;
const LEASES_AT_ONCE: i64 = 1_000;

#[derive(Debug)]
pub(crate) struct OutdatedRows {
    database: Database,
    /// The change of a session after which the next call continues.
    looked_through: AtomicI64,
}

/// Changes of sessions that were deleted long ago, as they were found.
#[derive(Default)]
struct FoundChanges {
    people: Vec<String>,
    sessions: Vec<String>,
    numbers: Vec<i64>,
}

impl OutdatedRows {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, looked_through: AtomicI64::new(0) }
    }

    /// Removes some of each kind. Of the changes of sessions, each call looks at a few thousand, so
    /// that it takes several calls to look at all of them.
    pub(crate) async fn remove_some(&self) -> Result<(), StoreError> {
        self.remove_leases().await?;
        self.remove_protections().await?;
        self.remove_deleted_sessions().await
    }

    /// Removes the leases of gateways that are gone. Leases of drafts that are not settled stay until
    /// another gateway settles them, because a gateway that was frozen may still record that an
    /// approved call did not begin as long as nobody has taken its lease.
    async fn remove_leases(&self) -> Result<(), StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT name, fence FROM owners
             WHERE NOT EXISTS (SELECT 1 FROM gateways
                               WHERE gateways.id = owners.gateway
                                 AND gateways.incarnation = owners.incarnation
                                 AND gateways.until > clock_timestamp())
               AND NOT EXISTS (SELECT 1 FROM drafts
                               WHERE drafts.state IN ('pending', 'stale', 'applying')
                                 AND 'draft ' || drafts.draft = owners.name)
             LIMIT $1",
            &[&LEASES_AT_ONCE],
        )
        .await?;
        if found.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = read_all(&found, |row| get(row, 0))?;
        let fences: Vec<i64> = read_all(&found, |row| get(row, 1))?;
        // Whoever took such a lease meanwhile has another fence.
        let remove =
            "DELETE FROM owners USING unnest($1::TEXT[], $2::BIGINT[]) AS gone (name, fence)
                      WHERE owners.name = gone.name AND owners.fence = gone.fence";
        execute(&client, remove, &[&names, &fences]).await?;
        Ok(())
    }

    /// Removes the protections of copies that were cut off. After their time they protect nothing.
    async fn remove_protections(&self) -> Result<(), StoreError> {
        let client = self.database.client().await?;
        let remove = "DELETE FROM agreed
                      WHERE CASE WHEN starts_with(name, 'copy:')
                                 THEN value::BIGINT <= extract(epoch FROM clock_timestamp())
                                 ELSE FALSE END";
        execute(&client, remove, &[]).await?;
        Ok(())
    }

    /// Removes the changes and the inputs of sessions that were deleted long ago. After the last
    /// change the next call begins with the first one again.
    async fn remove_deleted_sessions(&self) -> Result<(), StoreError> {
        let after = self.looked_through.load(Ordering::Acquire);
        let client = self.database.client().await?;
        let looked_at = rows(
            &client,
            "SELECT person, session, seq,
                    noted < clock_timestamp() - $2::DOUBLE PRECISION * INTERVAL '1 second'
                    AND NOT EXISTS (SELECT 1 FROM sessions
                                    WHERE sessions.person = session_changes.person
                                      AND sessions.session = session_changes.session)
             FROM session_changes WHERE seq > $1 ORDER BY seq LIMIT $3",
            &[&after, &KEPT_DELETED.as_secs_f64(), &CHANGES_AT_ONCE],
        )
        .await?;
        drop(client);
        let last = looked_at.last().map(|row| get(row, 2)).transpose()?;
        let found = found_changes(&looked_at)?;
        if !found.numbers.is_empty() {
            self.remove_changes(&found).await?;
        }
        self.looked_through.store(last.unwrap_or_default(), Ordering::Release);
        Ok(())
    }

    /// Removes changes that are still as they were found, and notes for followers up to where changes
    /// may be missing now.
    async fn remove_changes(&self, found: &FoundChanges) -> Result<(), StoreError> {
        let client = self.database.client().await?;
        execute(
            &client,
            "WITH gone AS (
                 DELETE FROM session_changes
                 USING unnest($1::TEXT[], $2::TEXT[], $3::BIGINT[]) AS found (person, session, seq)
                 WHERE session_changes.person = found.person
                   AND session_changes.session = found.session
                   AND session_changes.seq = found.seq
                 RETURNING session_changes.person, session_changes.session, session_changes.seq),
             inputs_gone AS (
                 DELETE FROM run_inputs USING gone
                 WHERE run_inputs.person = gone.person AND run_inputs.session = gone.session
                   AND NOT EXISTS (SELECT 1 FROM runs
                                   WHERE runs.run = run_inputs.run AND runs.status IS NULL))
             UPDATE counters SET value = greatest(value, (SELECT coalesce(max(seq), 0) FROM gone))
             WHERE name = 'removed-sessions'",
            &[&found.people, &found.sessions, &found.numbers],
        )
        .await?;
        Ok(())
    }
}

fn found_changes(looked_at: &[Row]) -> Result<FoundChanges, StoreError> {
    let mut found = FoundChanges::default();
    for row in looked_at {
        if get(row, 3)? {
            found.people.push(get(row, 0)?);
            found.sessions.push(get(row, 1)?);
            found.numbers.push(get(row, 2)?);
        }
    }
    Ok(found)
}
