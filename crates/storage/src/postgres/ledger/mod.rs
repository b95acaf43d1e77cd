//! Sessions, runs, inboxes and spending. Data that another gateway may write is not cached between
//! calls, except for a moment when a session or run begins.

mod changes;
mod inbox;
mod run_log;
mod runs;
mod sessions;
mod spending;

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    AgentId, Clock, ModelId, PersonId, RunId, SessionId, SessionKey, Timestamp, TurnId, Usage,
};

use crate::{
    AuditEntry, AuditRow, BeginRun, ChainState, DaySpending, InboxRow, Ledger, LeftMessage,
    ModelUse, RunOutcome, RunRow, SessionChange, SessionFilter, SessionMeta, SessionMove,
    SessionSequence, StoreError, TagCount, UnusedSession, UsageRow, WorkLife,
};

use super::audit::AuditChains;
use super::connect::Database;
use super::gateway::{Gateway, LifeWriter, MayWait, PostgresLeases};
use super::query::execute;
use super::transaction::transact;

use run_log::KnownSpending;
pub(crate) use run_log::PostgresRunLog;

#[derive(Clone, Debug)]
pub(crate) struct PostgresLedger {
    database: Database,
    audit: AuditChains,
    /// Tells which day it is in a person's time zone.
    clock: Arc<dyn Clock>,
    gateway: Arc<Gateway>,
    leases: PostgresLeases,
    spent: Arc<KnownSpending>,
}

impl PostgresLedger {
    pub(crate) fn new(
        database: Database,
        audit: AuditChains,
        clock: Arc<dyn Clock>,
        gateway: Arc<Gateway>,
        leases: PostgresLeases,
    ) -> Self {
        Self { database, audit, clock, gateway, leases, spent: Arc::default() }
    }
}

#[async_trait]
impl Ledger for PostgresLedger {
    async fn begin_run(&self, begin: BeginRun) -> Result<(), StoreError> {
        let incarnation = self.gateway.alive_again().await?;
        let gateway = self.gateway.id();
        self.leases.opened(&begin.key);
        transact!(self.database, transaction => {
            runs::begin(&transaction, &begin, gateway, incarnation).await
        })
    }

    async fn end_run(&self, outcome: RunOutcome) -> Result<(), StoreError> {
        let person = transact!(self.database, transaction => {
            runs::end(&transaction, &*self.clock, &outcome).await
        })?;
        person.inspect(|person| self.spent.forget(person));
        Ok(())
    }

    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        runs::active(&self.database.client().await?).await
    }

    async fn left_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        runs::left(&self.database.client().await?).await
    }

    async fn open_runs(&self, key: &SessionKey) -> Result<Vec<RunRow>, StoreError> {
        if self.leases.has_none(key, MayWait::OpenRuns) {
            return Ok(Vec::new());
        }
        runs::of_session(&self.database.client().await?, key).await
    }

    async fn run(&self, person: &PersonId, run: RunId) -> Result<Option<RunRow>, StoreError> {
        runs::one(&self.database.client().await?, person, run).await
    }

    async fn session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<SessionMeta>, StoreError> {
        sessions::one(&self.database.client().await?, person, session).await
    }

    async fn session_sequence(&self) -> Result<Option<SessionSequence>, StoreError> {
        changes::number(&self.database).await?;
        changes::sequence(&self.database.client().await?).await.map(Some)
    }

    async fn moved_sessions(&self, after: u64, limit: u32) -> Result<Vec<SessionMove>, StoreError> {
        changes::number(&self.database).await?;
        changes::after(&self.database.client().await?, after, limit).await
    }

    async fn sessions(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        sessions::page(&self.database.client().await?, person, filter).await
    }

    async fn unused_sessions(
        &self,
        until: Timestamp,
        after: Option<&UnusedSession>,
        limit: u32,
    ) -> Result<Vec<UnusedSession>, StoreError> {
        sessions::unused(&self.database.client().await?, until, after, limit).await
    }

    async fn family(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        sessions::family(&self.database.client().await?, person, root).await
    }

    async fn change_session(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, StoreError> {
        transact!(self.database, transaction => {
            sessions::change(&transaction, person, session, change).await
        })
    }

    async fn session_tags(&self, person: &PersonId) -> Result<Vec<TagCount>, StoreError> {
        sessions::all_tags(&self.database.client().await?, person).await
    }

    async fn mark_read(&self, person: &PersonId, session: SessionId) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        let read = "DELETE FROM unread WHERE person = $1 AND session = $2";
        Ok(execute(&client, read, &[&person.as_str(), &session.to_string()]).await? > 0)
    }

    async fn book(
        &self,
        key: &SessionKey,
        model: &ModelId,
        usage: Usage,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let used = ModelUse { agent: key.agent.clone(), model: model.clone(), usage };
        self.spent.forget(&key.person);
        transact!(self.database, transaction => {
            runs::book(&transaction, &*self.clock, key, &used, at).await
        })
    }

    async fn put_session(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            sessions::put(&transaction, person, meta).await
        })
    }

    async fn delete_session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            sessions::delete(&transaction, person, session).await
        })
    }

    async fn put_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<(), StoreError> {
        self.leases.came(key, MayWait::Words);
        inbox::put(&self.database.client().await?, key, &row).await
    }

    async fn inbox(&self, key: &SessionKey) -> Result<Vec<InboxRow>, StoreError> {
        if self.leases.has_none(key, MayWait::Words) {
            return Ok(Vec::new());
        }
        inbox::all(&self.database.client().await?, key).await
    }

    async fn change_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<bool, StoreError> {
        inbox::change(&self.database.client().await?, key, &row).await
    }

    async fn clear_inbox(&self, key: &SessionKey, turns: &[TurnId]) -> Result<(), StoreError> {
        inbox::remove(&self.database.client().await?, key, turns).await
    }

    async fn spoken_to(&self) -> Result<Vec<(PersonId, SessionId)>, StoreError> {
        inbox::sessions(&self.database.client().await?).await
    }

    async fn left_messages(&self) -> Result<Vec<LeftMessage>, StoreError> {
        // A gateway that is being drained takes nothing over.
        if self.gateway.is_draining() {
            return Ok(Vec::new());
        }
        inbox::left(&self.database.client().await?).await
    }

    async fn spent(&self, person: &PersonId, day: &str) -> Result<f64, StoreError> {
        if let Some(cost) = self.spent.take(person, day, self.clock.now().mono) {
            return Ok(cost);
        }
        spending::of_person(&self.database.client().await?, person, day).await
    }

    async fn spent_by_agent(&self, agent: &AgentId, day: &str) -> Result<f64, StoreError> {
        spending::of_agent(&self.database.client().await?, agent, day).await
    }

    async fn spending(&self, day: &str) -> Result<DaySpending, StoreError> {
        spending::of_day(&self.database.client().await?, day).await
    }

    async fn usage(&self, first: &str, last: &str) -> Result<Vec<UsageRow>, StoreError> {
        spending::between(&self.database.client().await?, first, last).await
    }

    async fn append_audit(&self, entry: AuditEntry) -> Result<AuditRow, StoreError> {
        self.audit.append(entry, None).await
    }

    async fn append_audit_of(
        &self,
        life: WorkLife,
        entry: AuditEntry,
    ) -> Result<AuditRow, StoreError> {
        if life == WorkLife::Current {
            return self.append_audit(entry).await;
        }
        let fence = LifeWriter::of(Arc::clone(&self.gateway), life).begin().await?;
        self.audit.append(entry, Some(&fence)).await
    }

    async fn audit(
        &self,
        person: &PersonId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        self.audit.page(person, before, limit).await
    }

    async fn verify_audit(&self, person: &PersonId) -> Result<ChainState, StoreError> {
        self.audit.verify(person).await
    }
}
