//! Opening and closing the conversations of a space: its companion and the threads of its channels.

use std::time::Duration;

use onyx_storage::{
    Change, Channel, Channels, SessionMeta, SessionStatus, SpaceChange, Spaces, StoreError, Thread,
};
use onyx_types::{
    AgentId, Author, ErrorCode, Fault, LaneOrder, Origin, PersonId, Scope, SessionId,
    SessionOrigin, SpaceId,
};

use super::Conversations;
use super::promises::ClosedSession;
use crate::runs::StopTarget;
use crate::sessions::{NewSession, check_card};

/// How often a change of a card or a conversation is tried when others change it at the same time.
const TRIES: usize = 5;
/// How long to wait between two tries to delete a conversation.
const WAIT: Duration = Duration::from_millis(100);

impl Conversations {
    /// The space's one conversation with its default agent, created if there is none, and the agent
    /// that answers in it now.
    pub async fn open_companion(
        &self,
        person: &PersonId,
        space: &SpaceId,
    ) -> Result<(SessionMeta, AgentId), Fault> {
        let _opening = self.shared.opening.lock().await;
        let spaces = Spaces::new(&*self.shared.files, person)?;
        for _ in 0..TRIES {
            let there = spaces.get(space).await?;
            let there = there.ok_or_else(|| Fault::plain(ErrorCode::NotFound))?;
            // The space may have a companion that cannot be read; no second one is made then.
            check_card(&there)?;
            let roster = self.shared.roster.get();
            let agent = there.default_agent.clone().filter(|agent| roster.get(agent).is_some());
            let agent = agent.unwrap_or_else(|| roster.default_agent().id.clone());
            if let Some(meta) = self.active(person, there.companion).await? {
                return Ok((meta, agent));
            }
            let new = new_session(&agent, SessionOrigin::Companion, there.name);
            let meta = self.shared.sessions.create(person, new).await?;
            let change = SpaceChange { companion: Some(meta.session_id), ..SpaceChange::default() };
            match spaces.put(space, &change, there.version, self.by_system("companion")).await {
                Ok(_) => return Ok((meta, agent)),
                Err(error) => {
                    self.shared.sessions.delete(person, meta.session_id).await?;
                    if !matches!(error, StoreError::Conflict) {
                        return Err(error.into());
                    }
                }
            }
        }
        Err(Fault::plain(ErrorCode::VersionConflict))
    }

    async fn active(
        &self,
        person: &PersonId,
        companion: Option<SessionId>,
    ) -> Result<Option<SessionMeta>, Fault> {
        let Some(session) = companion else { return Ok(None) };
        let meta = self.shared.sessions.find(person, session).await?;
        Ok(meta.filter(|meta| meta.status == SessionStatus::Active))
    }

    /// Makes a new thread of a channel.
    pub async fn open_thread(
        &self,
        person: &PersonId,
        channel: &Channel,
        title: String,
    ) -> Result<(Channel, Thread), Fault> {
        let roster = self.shared.roster.get();
        let agent = channel.card.primary().filter(|agent| roster.get(agent).is_some());
        let agent = agent.unwrap_or(&roster.default_agent().id);
        let new = new_session(agent, SessionOrigin::Thread, title.clone());
        let meta = self.shared.sessions.create(person, new).await?;
        let id = meta.session_id.to_string().parse()?;
        let thread = Thread { id, title, created: meta.created_at };
        let channels = Channels::new(&*self.shared.files, person)?;
        let listed = channels
            .change(&channel.id, None, self.by_system("threads"), |card| {
                card.threads.push(thread.clone());
            })
            .await;
        match listed {
            Ok(channel) => Ok((channel, thread)),
            Err(error) => {
                self.shared.sessions.delete(person, meta.session_id).await?;
                Err(error.into())
            }
        }
    }

    /// Stops and deletes a conversation with its forks and its waiting messages. A conversation
    /// that no longer exists is not an error.
    pub async fn close(&self, person: &PersonId, session: SessionId) -> Result<(), Fault> {
        let sessions = &self.shared.sessions;
        let Some(meta) = sessions.find(person, session).await? else { return Ok(()) };
        for member in sessions.family(person, &meta).await? {
            self.close_session(person, member.session_id).await?;
        }
        Ok(())
    }

    async fn close_session(&self, person: &PersonId, session: SessionId) -> Result<(), Fault> {
        let _closed = ClosedSession::close(&self.shared.promises, session);
        let mut tries = 0;
        loop {
            self.shared.runs.stop(person, StopTarget::Session(session)).await?;
            match self.shared.sessions.delete(person, session).await {
                Err(fault) if fault.code == ErrorCode::NotFound => return Ok(()),
                // A run began after the stop, so the conversation is stopped and deleted again.
                Err(fault) if fault.code == ErrorCode::SessionBusy && tries < TRIES => {
                    tries += 1;
                    self.shared.clock.sleep(WAIT).await;
                }
                deleted => return deleted,
            }
        }
    }

    /// The agents that would answer this message.
    pub async fn answerers(
        &self,
        person: &PersonId,
        session: &SessionMeta,
        text: &str,
    ) -> Result<Vec<AgentId>, Fault> {
        let space = self.shared.spaces.of(person, session.root, session.origin).await?;
        let roster = self.shared.roster.get();
        Ok(space.map_or_else(|| session.agents.clone(), |space| space.answerers(&roster, text)))
    }

    /// The scopes in which context for a message of a space is searched, in groups for `Retrieval`.
    pub async fn retrieval_groups(
        &self,
        person: &PersonId,
        session: &SessionMeta,
        text: &str,
    ) -> Result<Vec<Vec<Scope>>, Fault> {
        let space = self.shared.spaces.of(person, session.root, session.origin).await?;
        let Some(space) = space else { return Ok(Vec::new()) };
        let answerers = space.answerers(&self.shared.roster.get(), text);
        Ok(space.retrieval_groups(answerers.iter()))
    }

    fn by_system(&self, tool: &str) -> Change {
        Change {
            ts: self.shared.clock.wall(),
            author: Author::System,
            origin: Origin::Person,
            run: None,
            tool: tool.to_owned(),
        }
    }
}

/// A new session of a space. The space gives it a title, so no model has to.
fn new_session(agent: &AgentId, origin: SessionOrigin, title: String) -> NewSession {
    let agents = vec![agent.clone()];
    let mode = LaneOrder::default();
    NewSession { agent: agent.clone(), agents, origin, mode, title: Some(title) }
}
