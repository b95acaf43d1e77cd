//! Reading and tidying sessions, for every surface.

use onyx_storage::{Lease, Page, Pos, SessionFilter, SessionMeta, SessionStatus, StoreError};
use onyx_types::{ErrorCode, Fault, PersonId, SessionId, SessionKey};

use crate::RunManager;
use crate::changes::ChangeKind;

/// What a person may change of a session; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPatch {
    pub title: Option<String>,
    pub status: Option<SessionStatus>,
}

impl RunManager {
    pub async fn session_meta(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<SessionMeta, Fault> {
        let found = self.inner.store.ledger.session(person, session).await?;
        found.ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, format!("There is no session {session}."))
        })
    }

    /// Some turns, oldest first; the newest page without `before`.
    pub async fn turns(
        &self,
        person: &PersonId,
        session: SessionId,
        before: Option<Pos>,
        limit: usize,
    ) -> Result<Page, Fault> {
        let meta = self.session_meta(person, session).await?;
        let key = SessionKey { person: person.clone(), agent: meta.agent, session };
        match self.inner.store.turns.tail(&key, before, limit).await {
            Ok(page) => Ok(page),
            // A session that was made and not yet written to.
            Err(StoreError::NotFound) => {
                Ok(Page { turns: Vec::new(), start: Pos(0), has_older: false, damage: Vec::new() })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub async fn sessions(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, Fault> {
        Ok(self.inner.store.ledger.sessions(person, filter).await?)
    }

    /// Renames, archives or brings back a session.
    pub async fn patch_session(
        &self,
        person: &PersonId,
        session: SessionId,
        patch: SessionPatch,
    ) -> Result<SessionMeta, Fault> {
        let lease = self.lease_of(person, session).await?;
        let patched = async {
            let mut meta = self.session_meta(person, session).await?;
            meta.title = patch.title.or(meta.title);
            meta.status = patch.status.unwrap_or(meta.status);
            self.inner.store.ledger.put_session(person, &meta).await?;
            Ok(meta)
        };
        let patched = patched.await;
        self.release(&lease).await;
        self.inner.changes.tell(person, session, ChangeKind::Changed);
        patched
    }

    /// Removes a session for good: its log first, so that nothing is left that a rebuild would
    /// bring back.
    pub async fn delete_session(&self, person: &PersonId, session: SessionId) -> Result<(), Fault> {
        let lease = self.lease_of(person, session).await?;
        let removed = async {
            self.inner.store.turns.delete(&lease).await?;
            self.inner.store.ledger.delete_session(person, session).await
        };
        let removed = removed.await;
        self.release(&lease).await;
        self.inner.changes.tell(person, session, ChangeKind::Removed);
        Ok(removed?)
    }

    async fn lease_of(&self, person: &PersonId, session: SessionId) -> Result<Lease, Fault> {
        let meta = self.session_meta(person, session).await?;
        self.lease(&SessionKey { person: person.clone(), agent: meta.agent, session }).await
    }

    /// Archives a session and makes a fresh one with the same agent.
    pub async fn clear(&self, person: &PersonId, session: SessionId) -> Result<SessionId, Fault> {
        let mut meta = self.session_meta(person, session).await?;
        let key = SessionKey { person: person.clone(), agent: meta.agent.clone(), session };
        let lease = self.lease(&key).await?;
        meta.status = SessionStatus::Archived;
        let archived = self.inner.store.ledger.put_session(person, &meta).await;
        self.release(&lease).await;
        archived?;
        let now = self.inner.clock.wall();
        let fresh = self.mint().session(now);
        let meta = SessionMeta {
            session_id: fresh,
            agent: meta.agent,
            origin: meta.origin,
            title: None,
            status: SessionStatus::Active,
            created_at: now,
            updated_at: now,
            message_count: 0,
            token_count: 0,
            preview: String::new(),
            root: fresh,
            fork_turn: None,
            last_run: None,
            last_run_status: None,
        };
        self.inner.store.ledger.put_session(person, &meta).await?;
        self.inner.changes.tell(person, session, ChangeKind::Changed);
        self.inner.changes.tell(person, fresh, ChangeKind::Changed);
        Ok(fresh)
    }
}
