//! Logs of turns. The newest lines are rows; older ones are sealed into objects. Every write
//! compares the fence of its lease in the same statement. A line is stored with the exact bytes
//! that a file would hold.

mod append;
mod once;
mod page;
mod seal;

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{PersonId, SessionKey, Turn, TurnId};
use tokio_postgres::types::ToSql;

use super::connect::Database;
use super::convert::{count, get, parsed};
use super::files::Blobs;
use super::gateway::PostgresLeases;
use super::query::{execute, row_if_any, rows};
use super::transaction::TransactionError;
use crate::local::{live_lines, put_live_together};
use crate::{Lease, LiveText, LogState, Page, Pos, StoreError, TurnLog};

use append::LogAfterAppend;
pub(super) use append::{AppendStatement, Written, added_lines, appended_columns, is_held};
use page::ReadLimits;
pub use seal::Sealing;
use seal::SegmentCache;
pub(super) use seal::{pack, unpack};

/// Turn logs in the database. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct PostgresTurnLog {
    database: Database,
    blobs: Blobs,
    leases: PostgresLeases,
    sealing: Sealing,
    segments: Arc<SegmentCache>,
}

impl PostgresTurnLog {
    pub(crate) fn new(
        database: Database,
        blobs: Blobs,
        leases: PostgresLeases,
        sealing: Sealing,
    ) -> Self {
        Self { database, blobs, leases, sealing, segments: Arc::default() }
    }
}

/// The key of a session as statements need it.
struct LogKey {
    person: String,
    agent: String,
    session: String,
}

impl LogKey {
    fn of(key: &SessionKey) -> Self {
        Self {
            person: key.person.to_string(),
            agent: key.agent.to_string(),
            session: key.session.to_string(),
        }
    }

    fn given(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.person, &self.agent, &self.session]
    }

    /// The parameters of the key, followed by more parameters.
    fn with<'a, const N: usize>(
        &'a self,
        more: [&'a (dyn ToSql + Sync); N],
    ) -> Vec<&'a (dyn ToSql + Sync)> {
        self.given().into_iter().chain(more).collect()
    }
}

#[async_trait]
impl TurnLog for PostgresTurnLog {
    async fn append(&self, lease: &Lease, batch: &[Turn]) -> Result<Pos, StoreError> {
        let lines = append::lines(batch)?;
        let appended = self.append_lines(lease, &lines).await?;
        self.seal_if_due(&lease.key, &appended).await;
        Ok(appended.end)
    }

    async fn tail(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        n: usize,
    ) -> Result<Page, StoreError> {
        self.page(key, before, ReadLimits { turns: n, bytes: u64::MAX }).await
    }

    async fn tail_within(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        bytes: u64,
    ) -> Result<Page, StoreError> {
        self.page(key, before, ReadLimits { turns: usize::MAX, bytes }).await
    }

    /// Returns a state only for a log that this gateway holds, because only then can no other
    /// gateway have written to it.
    fn state_now(&self, key: &SessionKey) -> Option<LogState> {
        self.leases.log(key)
    }

    fn is_remote(&self) -> bool {
        true
    }

    async fn copy_through(
        &self,
        from: &SessionKey,
        through: TurnId,
        to: &Lease,
    ) -> Result<Pos, StoreError> {
        let lines = self.lines_through(from, through).await?;
        Ok(self.append_first(to, &lines).await?.end)
    }

    async fn note_live(&self, lease: &Lease, pieces: &[LiveText]) -> Result<(), StoreError> {
        let (fence, pieces) = (self.leases.fence(lease)?, live_lines(pieces)?);
        let key = LogKey::of(&lease.key);
        let client = self.database.relaxed_client().await?;
        let noted = execute(
            &client,
            "INSERT INTO live_texts (person, agent, session, pieces)
             SELECT person, agent, session, $5::BYTEA FROM session_log
             WHERE person = $1 AND agent = $2 AND session = $3 AND fence = $4",
            &key.with([&fence, &pieces]),
        )
        .await?;
        if noted == 0 { Err(self.leases.lost(lease)) } else { Ok(()) }
    }

    async fn live(&self, key: &SessionKey) -> Result<Vec<LiveText>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT pieces FROM live_texts
                      WHERE person = $1 AND agent = $2 AND session = $3 ORDER BY id";
        let found = rows(&client, select, &LogKey::of(key).given()).await?;
        let mut pieces = Vec::new();
        for row in &found {
            pieces.extend_from_slice(get(row, 0)?);
        }
        Ok(put_live_together(&pieces))
    }

    async fn clear_live(&self, lease: &Lease) -> Result<(), StoreError> {
        let (fence, key) = (self.leases.fence(lease)?, LogKey::of(&lease.key));
        let client = self.database.client().await?;
        let held = row_if_any(
            &client,
            "WITH held AS (
                 SELECT person, agent, session FROM session_log
                 WHERE person = $1 AND agent = $2 AND session = $3 AND fence = $4 FOR SHARE),
             cleared AS (
                 DELETE FROM live_texts USING held
                 WHERE live_texts.person = held.person AND live_texts.agent = held.agent
                   AND live_texts.session = held.session)
             SELECT 1 FROM held",
            &key.with([&fence]),
        )
        .await?;
        held.map(drop).ok_or_else(|| self.leases.lost(lease))
    }

    /// Deletes the lines. The row of the log stays, because its fence must not start again. Objects
    /// that are no longer referred to are swept later.
    async fn delete(&self, lease: &Lease) -> Result<(), StoreError> {
        let (fence, key) = (self.leases.fence(lease)?, LogKey::of(&lease.key));
        let client = self.database.client().await?;
        let held = row_if_any(
            &client,
            "WITH held AS (
                 UPDATE session_log SET next_seq = 0, next_pos = 0, sealed_seq = 0,
                                        sealed_pos = 0, generation = generation + 1
                 WHERE person = $1 AND agent = $2 AND session = $3 AND fence = $4
                 RETURNING person, agent, session, generation),
             rows_gone AS (
                 DELETE FROM turns USING held
                 WHERE turns.person = held.person AND turns.agent = held.agent
                   AND turns.session = held.session),
             segments_gone AS (
                 DELETE FROM segments USING held
                 WHERE segments.person = held.person AND segments.agent = held.agent
                   AND segments.session = held.session),
             live_gone AS (
                 DELETE FROM live_texts USING held
                 WHERE live_texts.person = held.person AND live_texts.agent = held.agent
                   AND live_texts.session = held.session)
             SELECT generation FROM held",
            &key.with([&fence]),
        )
        .await?
        .ok_or_else(|| self.leases.lost(lease))?;
        let stamp = get::<i64>(&held, 0)?.into();
        self.leases.wrote(lease, LogState { len: 0, stamp });
        Ok(())
    }

    async fn sessions(&self, person: &PersonId) -> Result<Vec<SessionKey>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT agent, session FROM session_log WHERE person = $1 AND next_pos > 0";
        let found = rows(&client, select, &[&person.as_str()]).await?;
        let mut keys = Vec::with_capacity(found.len());
        for row in &found {
            let (agent, session) = (parsed(row, 0)?, parsed(row, 1)?);
            keys.push(SessionKey { person: person.clone(), agent, session });
        }
        keys.sort();
        Ok(keys)
    }
}

impl PostgresTurnLog {
    /// Appends turns by a statement that also does other things.
    pub(super) async fn append_by(
        &self,
        lease: &Lease,
        batch: &[Turn],
        statement: &AppendStatement<'_>,
    ) -> Result<Written, TransactionError> {
        let written = self.write(lease, &append::lines(batch)?, statement).await?;
        self.seal_if_due(&lease.key, &written.appended).await;
        Ok(written)
    }

    async fn seal_if_due(&self, key: &SessionKey, appended: &LogAfterAppend) {
        if self.sealing.is_due(appended) {
            self.seal_now_or_beside(key).await;
        }
    }

    /// The length and stamp of the log; `None` if there is no log.
    async fn state(&self, key: &LogKey) -> Result<Option<LogState>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT next_pos, generation FROM session_log
                      WHERE person = $1 AND agent = $2 AND session = $3";
        let found = row_if_any(&client, select, &key.given()).await?;
        let state = |row| Ok(LogState { len: count(&row, 0)?, stamp: get::<i64>(&row, 1)?.into() });
        found.map(state).transpose()
    }
}
