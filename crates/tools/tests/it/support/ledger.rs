use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{
    AuditEntry, AuditRow, BeginRun, ChainState, DaySpending, InboxRow, Ledger, RunOutcome, RunRow,
    SessionChange, SessionFilter, SessionMeta, StoreError, TagCount, UnusedSession, UsageRow,
};
use onyx_types::{
    AgentId, ModelId, PersonId, RunId, SessionId, SessionKey, Timestamp, TurnId, Usage,
};

/// A ledger that fails to write audit rows from the given one on.
pub(crate) struct BrokenAudit {
    pub(crate) inner: Arc<dyn Ledger>,
    pub(crate) good_rows: u64,
}

#[async_trait]
impl Ledger for BrokenAudit {
    async fn begin_run(&self, begin: BeginRun) -> Result<(), StoreError> {
        self.inner.begin_run(begin).await
    }

    async fn end_run(&self, outcome: RunOutcome) -> Result<(), StoreError> {
        self.inner.end_run(outcome).await
    }

    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.inner.active_runs().await
    }

    async fn open_runs(&self, key: &SessionKey) -> Result<Vec<RunRow>, StoreError> {
        self.inner.open_runs(key).await
    }

    async fn run(&self, person: &PersonId, run: RunId) -> Result<Option<RunRow>, StoreError> {
        self.inner.run(person, run).await
    }

    async fn session_tags(&self, person: &PersonId) -> Result<Vec<TagCount>, StoreError> {
        self.inner.session_tags(person).await
    }

    async fn mark_read(&self, person: &PersonId, session: SessionId) -> Result<bool, StoreError> {
        self.inner.mark_read(person, session).await
    }

    async fn session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<SessionMeta>, StoreError> {
        self.inner.session(person, session).await
    }

    async fn sessions(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        self.inner.sessions(person, filter).await
    }

    async fn unused_sessions(
        &self,
        until: Timestamp,
        after: Option<&UnusedSession>,
        limit: u32,
    ) -> Result<Vec<UnusedSession>, StoreError> {
        self.inner.unused_sessions(until, after, limit).await
    }

    async fn family(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        self.inner.family(person, root).await
    }

    async fn change_session(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, StoreError> {
        self.inner.change_session(person, session, change).await
    }

    async fn book(
        &self,
        key: &SessionKey,
        model: &ModelId,
        usage: Usage,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.inner.book(key, model, usage, at).await
    }

    async fn put_session(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), StoreError> {
        self.inner.put_session(person, meta).await
    }

    async fn delete_session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), StoreError> {
        self.inner.delete_session(person, session).await
    }

    async fn put_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<(), StoreError> {
        self.inner.put_inbox(key, row).await
    }

    async fn inbox(&self, key: &SessionKey) -> Result<Vec<InboxRow>, StoreError> {
        self.inner.inbox(key).await
    }

    async fn change_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<bool, StoreError> {
        self.inner.change_inbox(key, row).await
    }

    async fn spoken_to(&self) -> Result<Vec<(PersonId, SessionId)>, StoreError> {
        self.inner.spoken_to().await
    }

    async fn clear_inbox(&self, key: &SessionKey, turns: &[TurnId]) -> Result<(), StoreError> {
        self.inner.clear_inbox(key, turns).await
    }

    async fn spent(&self, person: &PersonId, day: &str) -> Result<f64, StoreError> {
        self.inner.spent(person, day).await
    }

    async fn spent_by_agent(&self, agent: &AgentId, day: &str) -> Result<f64, StoreError> {
        self.inner.spent_by_agent(agent, day).await
    }

    async fn spending(&self, day: &str) -> Result<DaySpending, StoreError> {
        self.inner.spending(day).await
    }

    async fn usage(&self, first: &str, last: &str) -> Result<Vec<UsageRow>, StoreError> {
        self.inner.usage(first, last).await
    }

    async fn append_audit(&self, entry: AuditEntry) -> Result<AuditRow, StoreError> {
        let rows = self.inner.audit(&entry.person, None, 1_000).await?.len() as u64;
        if rows < self.good_rows {
            self.inner.append_audit(entry).await
        } else {
            Err(StoreError::Full)
        }
    }

    async fn audit(
        &self,
        person: &PersonId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        self.inner.audit(person, before, limit).await
    }

    async fn verify_audit(&self, person: &PersonId) -> Result<ChainState, StoreError> {
        self.inner.verify_audit(person).await
    }
}
