//! Reading and tidying sessions, for every surface.

mod expiry;
pub(crate) mod forks;
pub(crate) mod lease;
mod replay;
pub(crate) mod titles;

use onyx_storage::{
    Page, Pos, SessionChange, SessionFilter, SessionMeta, SessionStatus, StoreError, TitleSource,
    forget_facts, keep_facts,
};
use onyx_types::{
    AgentId, ErrorCode, Fault, LaneOrder, PersonId, SessionId, SessionKey, SessionOrigin,
};

use crate::sessions::lease::HeldLease;
use crate::notices::Happened;
use crate::{Roster, RunManager};

/// What a person may change of a session; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPatch {
    pub title: Option<String>,
    pub status: Option<SessionStatus>,
    /// Who answers from the next message on.
    pub agents: Option<Vec<AgentId>>,
    pub mode: Option<LaneOrder>,
}

/// A field of a patch that cannot be taken, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFlaw {
    pub field: String,
    pub why: String,
    pub code: ErrorCode,
}

const LONGEST_TITLE: usize = 200;
/// More would be a crowd, and each costs a call.
const MOST_AGENTS: usize = 8;

impl SessionPatch {
    pub fn check(&self, roster: &Roster) -> Result<(), PatchFlaw> {
        if let Some(title) = &self.title {
            let length = one_line(title).chars().count();
            if length == 0 {
                return Err(flaw("title", "it is empty"));
            }
            if length > LONGEST_TITLE {
                let why = format!("it has {length} characters; {LONGEST_TITLE} are allowed");
                return Err(flaw("title", why));
            }
        }
        self.agents.as_deref().map_or(Ok(()), |agents| check_agents(agents, roster))
    }
}

fn check_agents(agents: &[AgentId], roster: &Roster) -> Result<(), PatchFlaw> {
    if agents.is_empty() || agents.len() > MOST_AGENTS {
        return Err(flaw("agents", format!("1 to {MOST_AGENTS} agents answer in a session")));
    }
    for (index, agent) in agents.iter().enumerate() {
        let field = format!("agents[{index}]");
        if roster.get(agent).is_none() {
            let known: Vec<_> = roster.agents().map(|agent| agent.id.as_str()).collect();
            let why = format!("there is no agent {agent}; agents: {}", known.join(", "));
            return Err(PatchFlaw { field, why, code: ErrorCode::NotFound });
        }
        if agents[..index].contains(agent) {
            return Err(flaw(field, format!("{agent} is there twice")));
        }
    }
    Ok(())
}

fn flaw(field: impl Into<String>, why: impl Into<String>) -> PatchFlaw {
    PatchFlaw { field: field.into(), why: why.into(), code: ErrorCode::InvalidRequest }
}

impl From<PatchFlaw> for Fault {
    fn from(flaw: PatchFlaw) -> Self {
        Self::new(flaw.code, format!("{}: {}", flaw.field, flaw.why)).with_field(flaw.field)
    }
}

pub(crate) fn one_line(text: &str) -> String {
    let plain = text.replace(|c: char| c.is_control(), " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl RunManager {
    pub async fn session_meta(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<SessionMeta, Fault> {
        let found = self.inner.store.ledger.session(person, session).await?;
        found.ok_or_else(|| no_such_session(session))
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

    /// The session and its forks, itself among them, in the order they were made.
    pub async fn family(
        &self,
        person: &PersonId,
        session: &SessionMeta,
    ) -> Result<Vec<SessionMeta>, Fault> {
        Ok(self.inner.store.ledger.family(person, session.root).await?)
    }

    /// Renames, archives or brings back a session, or changes who answers in it. A run at work
    /// goes on as it began.
    pub async fn patch_session(
        &self,
        person: &PersonId,
        session: SessionId,
        patch: SessionPatch,
    ) -> Result<SessionMeta, Fault> {
        patch.check(&self.roster())?;
        let change = SessionChange {
            title: patch.title.map(|title| (one_line(&title), TitleSource::Person)),
            status: patch.status,
            agents: patch.agents,
            mode: patch.mode,
        };
        self.change_session(person, session, &change).await
    }

    /// Changes the row, and keeps what the log does not say on disk.
    pub(crate) async fn change_session(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, Fault> {
        // Row and file change together: the later of two changes must not leave the earlier file.
        let _turn = self.inner.settings.lock().await;
        let store = &self.inner.store;
        let changed = store.ledger.change_session(person, session, change).await;
        let meta = changed.map_err(|error| match error {
            StoreError::NotFound => no_such_session(session),
            other => other.into(),
        })?;
        keep_facts(&*store.files, &key_of(person, &meta), &meta).await?;
        self.tell(person, session, Happened::Changed);
        Ok(meta)
    }

    /// A new session's row, and on disk what its log will not say.
    pub(crate) async fn put_new(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), Fault> {
        self.inner.store.ledger.put_session(person, meta).await?;
        let said_by_the_log = meta.origin == SessionOrigin::Chat
            && meta.root == meta.session_id
            && meta.agents == [meta.agent.clone()];
        if !said_by_the_log {
            keep_facts(&*self.inner.store.files, &key_of(person, meta), meta).await?;
        }
        self.tell(person, meta.session_id, Happened::Changed);
        Ok(())
    }

    /// Removes a session for good: its log first, so that nothing is left that a rebuild would
    /// bring back.
    pub async fn delete_session(&self, person: &PersonId, session: SessionId) -> Result<(), Fault> {
        let lease = self.lease_of(person, session).await?;
        let removed = async {
            self.inner.store.turns.delete(&lease).await?;
            forget_facts(&*self.inner.store.files, &lease.key).await?;
            self.inner.store.ledger.delete_session(person, session).await
        };
        let removed = removed.await;
        lease.release().await;
        removed?;
        self.tell(person, session, Happened::Deleted);
        Ok(())
    }

    async fn lease_of(&self, person: &PersonId, session: SessionId) -> Result<HeldLease, Fault> {
        let meta = self.session_meta(person, session).await?;
        self.lease(&SessionKey { person: person.clone(), agent: meta.agent, session }).await
    }

    /// Archives a session and makes a fresh one with the same agent.
    pub async fn clear(&self, person: &PersonId, session: SessionId) -> Result<SessionId, Fault> {
        let lease = self.lease_of(person, session).await?;
        let archive =
            SessionChange { status: Some(SessionStatus::Archived), ..SessionChange::default() };
        let archived = self.change_session(person, session, &archive).await;
        lease.release().await;
        let meta = archived?;
        let now = self.inner.clock.wall();
        let fresh = self.mint().session(now);
        let meta = SessionMeta {
            session_id: fresh,
            agent: meta.agent,
            origin: meta.origin,
            agents: meta.agents,
            mode: meta.mode,
            title: None,
            titled_by: TitleSource::Words,
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
        self.put_new(person, &meta).await?;
        Ok(fresh)
    }
}

fn key_of(person: &PersonId, meta: &SessionMeta) -> SessionKey {
    SessionKey { person: person.clone(), agent: meta.agent.clone(), session: meta.session_id }
}

pub(crate) fn no_such_session(session: SessionId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no session {session}."))
}
