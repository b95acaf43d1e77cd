//! Sessions: their metadata, leases, forks, titles, the space they belong to, and the replay of
//! what their runs said.
//!
//! `runs` and every room above it come in. Nothing here starts a run or calls a tool. A writer to a
//! session's log must hold the session's lease, which is taken here.

mod expiry;
mod forks;
mod ids;
mod lease;
mod log;
mod patch;
mod replay;
mod space;
mod titles;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_storage::{
    Files, Leases, Ledger, SessionChange, SessionFilter, SessionMarks, SessionMeta, SessionStatus,
    Store, StoreError, TagCount, TitleSource, TurnLog, forget_details, keep_details,
};
use onyx_types::{
    AgentId, ErrorCode, Fault, LaneOrder, PersonId, RunId, SessionId, SessionKey, SessionOrigin,
};

use crate::agents::CurrentRoster;
use crate::notices::{NoticeKind, Notifier};
use patch::{in_order, plain_line};

pub use forks::ForkPoint;
pub(crate) use ids::Ids;
pub(crate) use lease::LeaseGuard;
pub use patch::{PatchFlaw, SessionPatch};
pub use replay::RunReplay;
pub use space::check_card;
pub(crate) use space::{SessionSpace, SessionSpaces, retrieval_groups};
pub(crate) use titles::{SessionNamer, SessionToName};

/// How long a session's lease lives without renewal.
pub(crate) const LEASE_LIFE: Duration = Duration::from_secs(30);

/// Everything about sessions but the runs in them. Cheap to clone.
#[derive(Clone)]
pub struct Sessions {
    shared: Arc<SessionsCore>,
}

struct SessionsCore {
    turns: Arc<dyn TurnLog>,
    ledger: Arc<dyn Ledger>,
    files: Arc<dyn Files>,
    leases: Arc<dyn Leases>,
    roster: Arc<CurrentRoster>,
    notices: Arc<Notifier>,
    ids: Ids,
    /// This lock is held while a session's row and file change. Without it the earlier of two
    /// changes could be the last to write the file.
    changing: tokio::sync::Mutex<()>,
    /// People who are known to have more than one session.
    with_several: Mutex<BTreeSet<PersonId>>,
}

/// A session to be created.
pub(crate) struct NewSession {
    pub(crate) agent: AgentId,
    /// The agents that answer in it.
    pub(crate) agents: Vec<AgentId>,
    pub(crate) origin: SessionOrigin,
    pub(crate) mode: LaneOrder,
    /// The title. `None`: the first words stand for it until a model gives one.
    pub(crate) title: Option<String>,
}

impl Sessions {
    pub(crate) fn new(
        store: &Store,
        roster: Arc<CurrentRoster>,
        notices: Arc<Notifier>,
        ids: Ids,
    ) -> Self {
        let shared = SessionsCore {
            turns: Arc::clone(&store.turns),
            ledger: Arc::clone(&store.ledger),
            files: Arc::clone(&store.files),
            leases: Arc::clone(&store.leases),
            roster,
            notices,
            ids,
            changing: tokio::sync::Mutex::default(),
            with_several: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub async fn meta(&self, person: &PersonId, session: SessionId) -> Result<SessionMeta, Fault> {
        self.find(person, session).await?.ok_or_else(|| no_such_session(session))
    }

    pub(crate) async fn find(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<SessionMeta>, Fault> {
        Ok(self.shared.ledger.session(person, session).await?)
    }

    pub(crate) async fn key(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<SessionKey, Fault> {
        let meta = self.meta(person, session).await?;
        Ok(SessionKey { person: person.clone(), agent: meta.agent, session })
    }

    pub async fn list(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, Fault> {
        Ok(self.shared.ledger.sessions(person, filter).await?)
    }

    /// The session's family of forks, including the session itself, in the order of their creation.
    pub async fn family(
        &self,
        person: &PersonId,
        session: &SessionMeta,
    ) -> Result<Vec<SessionMeta>, Fault> {
        Ok(self.shared.ledger.family(person, session.root).await?)
    }

    /// The session of a run, if the run is this person's.
    pub async fn of_run(&self, person: &PersonId, run: RunId) -> Result<Option<SessionId>, Fault> {
        let row = self.shared.ledger.run(person, run).await?;
        Ok(row.map(|row| row.key.session))
    }

    /// `NotFound` unless the run is one of this person's.
    pub async fn check_run(&self, person: &PersonId, run: RunId) -> Result<(), Fault> {
        let known = self.of_run(person, run).await?.is_some();
        let no_such = || Fault::new(ErrorCode::NotFound, format!("There is no run {run}."));
        if known { Ok(()) } else { Err(no_such()) }
    }

    /// Renames, archives or restores a session, or changes who answers in it. A run at work is not
    /// affected.
    pub async fn patch(
        &self,
        person: &PersonId,
        session: SessionId,
        patch: SessionPatch,
    ) -> Result<SessionMeta, Fault> {
        patch.check(&self.shared.roster.get())?;
        let change = SessionChange {
            title: patch.title.map(|title| (plain_line(&title), TitleSource::Person)),
            status: patch.status,
            agents: patch.agents,
            mode: patch.mode,
            pinned: patch.pinned,
            tags: patch.tags.map(|tags| in_order(&tags)),
            attached: patch.attached,
        };
        self.change(person, session, &change).await
    }

    /// Changes the row, and stores on disk what the log does not say.
    pub(crate) async fn change(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, Fault> {
        let _changing = self.shared.changing.lock().await;
        let changed = self.shared.ledger.change_session(person, session, change).await;
        let meta = changed.map_err(|error| match error {
            StoreError::NotFound => no_such_session(session),
            other => other.into(),
        })?;
        keep_details(&*self.shared.files, &key_of(person, &meta), &meta).await?;
        self.shared.notices.tell(person, session, NoticeKind::SessionChanged);
        Ok(meta)
    }

    /// The tags of a person's conversations, in order.
    pub async fn tags(&self, person: &PersonId) -> Result<Vec<TagCount>, Fault> {
        Ok(self.shared.ledger.session_tags(person).await?)
    }

    /// Marks the session as read and notifies the person's other devices.
    pub async fn mark_read(&self, person: &PersonId, session: SessionId) -> Result<(), Fault> {
        if self.shared.ledger.mark_read(person, session).await? {
            self.shared.notices.tell(person, session, NoticeKind::SessionChanged);
        }
        Ok(())
    }

    /// Makes a session that has no turns yet.
    pub(crate) async fn create(
        &self,
        person: &PersonId,
        new: NewSession,
    ) -> Result<SessionMeta, Fault> {
        let (session_id, now) = (self.shared.ids.session(), self.shared.ids.now());
        let titled_by = if new.title.is_some() { TitleSource::Person } else { TitleSource::Words };
        let meta = SessionMeta {
            session_id,
            agent: new.agent,
            origin: new.origin,
            agents: new.agents,
            mode: new.mode,
            title: new.title,
            titled_by,
            status: SessionStatus::Active,
            created_at: now,
            updated_at: now,
            message_count: 0,
            token_count: 0,
            preview: String::new(),
            root: session_id,
            fork_turn: None,
            last_run: None,
            last_run_status: None,
            marks: SessionMarks::default(),
        };
        self.put_new(person, &meta).await?;
        Ok(meta)
    }

    /// Writes a new session's row, and stores on disk what its log will not say.
    async fn put_new(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), Fault> {
        self.shared.ledger.put_session(person, meta).await?;
        let said_by_the_log = meta.origin == SessionOrigin::Chat
            && meta.root == meta.session_id
            && meta.agents == [meta.agent.clone()];
        if !said_by_the_log {
            keep_details(&*self.shared.files, &key_of(person, meta), meta).await?;
        }
        self.shared.notices.tell(person, meta.session_id, NoticeKind::SessionChanged);
        Ok(())
    }

    /// Deletes a session permanently: its log first, so that a rebuild cannot bring it back.
    pub async fn delete(&self, person: &PersonId, session: SessionId) -> Result<(), Fault> {
        let lease = self.acquire_lease(&self.key(person, session).await?).await?;
        let removed = async {
            self.shared.turns.delete(&lease).await?;
            forget_details(&*self.shared.files, &lease.key).await?;
            self.shared.ledger.delete_session(person, session).await
        };
        let removed = removed.await;
        lease.release().await;
        removed?;
        self.shared.notices.tell(person, session, NoticeKind::SessionDeleted);
        Ok(())
    }

    /// Archives a session and makes a fresh one with the same agent.
    pub async fn clear(&self, person: &PersonId, session: SessionId) -> Result<SessionId, Fault> {
        let lease = self.acquire_lease(&self.key(person, session).await?).await?;
        let archive =
            SessionChange { status: Some(SessionStatus::Archived), ..SessionChange::default() };
        let archived = self.change(person, session, &archive).await;
        lease.release().await;
        let SessionMeta { agent, agents, origin, mode, .. } = archived?;
        let fresh = NewSession { agent, agents, origin, mode, title: None };
        Ok(self.create(person, fresh).await?.session_id)
    }

    /// Takes the session's lease, without which nobody may write to its log. `SessionBusy` if a run
    /// holds it.
    pub(crate) async fn acquire_lease(&self, key: &SessionKey) -> Result<LeaseGuard, Fault> {
        let acquired = self.shared.leases.acquire(key, LEASE_LIFE).await;
        let lease = acquired.map_err(|error| match error {
            StoreError::Busy => Fault::plain(ErrorCode::SessionBusy),
            other => other.into(),
        })?;
        Ok(LeaseGuard::new(Arc::clone(&self.shared.leases), lease))
    }

    /// Whether the person is known to have more than one session.
    pub(crate) fn has_several(&self, person: &PersonId) -> bool {
        let known = self.shared.with_several.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(person)
    }

    /// Finds out whether the person has more than one session, because only then tools that reach
    /// other sessions are offered. Once that is so it is not asked again. A session that is about
    /// to begin (`is_new`) is not in the ledger yet, so it is added to the count.
    pub(crate) async fn note_several(&self, person: &PersonId, is_new: bool) -> Result<(), Fault> {
        if self.has_several(person) {
            return Ok(());
        }
        let known = self.shared.ledger.count_sessions(person, 2).await?;
        if known + u32::from(is_new) > 1 {
            let mut known = self.shared.with_several.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(person.clone());
        }
        Ok(())
    }
}

fn key_of(person: &PersonId, meta: &SessionMeta) -> SessionKey {
    SessionKey { person: person.clone(), agent: meta.agent.clone(), session: meta.session_id }
}

pub(crate) fn no_such_session(session: SessionId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no session {session}."))
}
