//! Conversations that live in a space: its companion, and the threads of its channels. Where one
//! lives is said by the space's own files, and decides who answers, what may be searched, and what
//! the prompt says of the place.

use std::time::Duration;

use onyx_storage::{
    Change, Channel, Channels, SessionMeta, SessionStatus, Space, SpaceChange, Spaces, StoreError,
    Thread, TitleSource,
};
use onyx_types::{
    AgentId, Author, ErrorCode, Fault, LaneOrder, Origin, PersonId, Scope, SessionId,
    SessionOrigin, SpaceId, View,
};

use crate::RunManager;
use crate::runs::request::StopTarget;
use crate::agents::roster::Roster;

/// More would be a crowd, and each costs a call.
const MOST_ANSWERS: usize = 8;
/// Tries at a card, or a conversation, that others change at the same time.
const TRIES: usize = 5;
/// Between two tries at a conversation.
const WAIT: Duration = Duration::from_millis(100);

/// Where a conversation lives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Home {
    Companion { space: Space, channels: Vec<Channel> },
    Thread { space: Space, channel: Box<Channel>, thread: Thread },
}

impl Home {
    fn space(&self) -> &Space {
        match self {
            Self::Companion { space, .. } | Self::Thread { space, .. } => space,
        }
    }

    /// What an agent may search in it.
    pub(crate) fn scopes(&self, agent: &AgentId) -> Vec<Scope> {
        let own = [Scope::Space(self.space().id.clone()), Scope::Agent(agent.clone())];
        match self {
            Self::Companion { channels, .. } => {
                let inside = channels.iter().flat_map(|channel| {
                    let threads = channel.card.threads.iter();
                    let threads = threads.map(|thread| Scope::Thread(thread.id.clone()));
                    threads.chain([Scope::Channel(channel.id.clone())])
                });
                own.into_iter().chain(inside).chain([Scope::Shared]).collect()
            }
            Self::Thread { channel, thread, .. } => {
                let here = [Scope::Channel(channel.id.clone()), Scope::Thread(thread.id.clone())];
                own.into_iter().chain(here).collect()
            }
        }
    }

    /// What is searched for a message without anybody asking: in a thread, its four scopes.
    pub(crate) fn retrieval<'a>(&self, agents: impl Iterator<Item = &'a AgentId>) -> Vec<Scope> {
        match self {
            Self::Companion { .. } => Vec::new(),
            Self::Thread { .. } => {
                let mut scopes: Vec<_> = agents.flat_map(|agent| self.scopes(agent)).collect();
                scopes.sort();
                scopes.dedup();
                scopes
            }
        }
    }

    /// What the prompt says of the place and of what the person looks at.
    pub(crate) fn words(&self, view: Option<&View>) -> String {
        let space = self.space();
        let mut text = format!("# Where this conversation lives\nSpace: {}", one_line(&space.name));
        if let Self::Thread { channel, thread, .. } = self {
            text.push_str(&format!("\nChannel: {}", one_line(&channel.card.name)));
            if !channel.card.purpose.is_empty() {
                text.push_str(&format!("\nPurpose: {}", channel.card.purpose.trim()));
            }
            text.push_str(&format!("\nThread: {}", one_line(&thread.title)));
        }
        if let Some(View { entity_type, entity_id }) = view {
            // A name only: what stands in it may be anybody's text, and `context` brings it marked.
            let (kind, id) = (plain(entity_type), plain(entity_id));
            text.push_str(&format!(
                "\nThe person is looking at: {kind} {id} (the tool `context` says more)"
            ));
        }
        text
    }

    /// Who answers a message: in a thread those it names, else the primary coworker.
    pub(crate) fn answerers(&self, roster: &Roster, text: &str) -> Vec<AgentId> {
        let there = |agent: &&AgentId| roster.get(agent).is_some();
        let usual = || self.space().default_agent.as_ref().filter(there);
        let agents: Vec<AgentId> = match self {
            Self::Companion { .. } => usual().into_iter().cloned().collect(),
            Self::Thread { channel, .. } => {
                let coworkers = channel.card.coworkers.iter().map(|coworker| &coworker.agent);
                let assigned: Vec<&AgentId> = coworkers.filter(there).collect();
                let known: Vec<&AgentId> = match assigned.is_empty() {
                    true => roster.agents().map(|agent| &agent.id).collect(),
                    false => assigned,
                };
                let named = mentioned(roster, &known, text);
                match named.is_empty() {
                    false => named,
                    true => {
                        let primary = channel.card.primary().filter(there);
                        primary.or_else(usual).into_iter().cloned().collect()
                    }
                }
            }
        };
        match agents.is_empty() {
            true => vec![roster.default_agent().id.clone()],
            false => agents,
        }
    }
}

/// Those of `known` that the text calls by `@id` or `@name`, in the order it does.
fn mentioned(roster: &Roster, known: &[&AgentId], text: &str) -> Vec<AgentId> {
    let lower = text.to_lowercase();
    let mut found: Vec<(usize, &AgentId)> = Vec::new();
    for id in known {
        let name = roster.get(id).map(|agent| agent.name.to_lowercase()).unwrap_or_default();
        let calls = [id.to_string(), name.replace(' ', "-"), name];
        let calls = calls.iter().filter(|call| !call.is_empty());
        if let Some(at) = calls.filter_map(|call| called_at(&lower, call)).min() {
            found.push((at, id));
        }
    }
    found.sort();
    found.into_iter().take(MOST_ANSWERS).map(|(_, id)| id.clone()).collect()
}

/// Where `@name` stands as a word of its own: not in an address, not as the start of another name.
fn called_at(text: &str, name: &str) -> Option<usize> {
    let call = format!("@{name}");
    let joins = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    text.match_indices(&call).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let mut after = text[at + call.len()..].chars();
        let next = after.next();
        // `@scout.` ends a sentence, `@scout.example` is an address.
        let is_address = next == Some('.') && after.next().is_some_and(char::is_alphanumeric);
        !before.is_some_and(|letter| joins(letter) || letter == '.')
            && !next.is_some_and(joins)
            && !is_address
    })
}

/// A space whose card cannot be read is looked at, and not changed.
pub fn check_card(space: &Space) -> Result<(), Fault> {
    let Some(damage) = &space.damage else { return Ok(()) };
    let hint =
        "Mend `space.json` in the folder of the space; what it held before is in the history.";
    Err(Fault::new(ErrorCode::StorageFailed, damage.clone()).with_hint(hint))
}

impl RunManager {
    /// Where the conversation lives, if it lives in a space that is still there.
    pub(crate) async fn home_of(
        &self,
        person: &PersonId,
        root: SessionId,
        origin: SessionOrigin,
    ) -> Result<Option<Home>, Fault> {
        let files = &*self.inner.store.files;
        match origin {
            SessionOrigin::Companion => {
                let spaces = Spaces::new(files, person)?.list().await?;
                let found = spaces.into_iter().find(|space| space.companion == Some(root));
                let Some(space) = found else { return Ok(None) };
                let channels = Channels::new(files, person)?.list(Some(&space.id)).await?;
                Ok(Some(Home::Companion { space, channels }))
            }
            SessionOrigin::Thread => {
                let id = root.to_string().parse()?;
                let channel = Channels::new(files, person)?.with_thread(&id).await?;
                let Some(channel) = channel else { return Ok(None) };
                let space = Spaces::new(files, person)?.get(&channel.space).await?;
                let (Some(space), Some(thread)) = (space, channel.card.thread(&id).cloned()) else {
                    return Ok(None);
                };
                Ok(Some(Home::Thread { space, channel: Box::new(channel), thread }))
            }
            SessionOrigin::Chat
            | SessionOrigin::AgentEditor
            | SessionOrigin::Connector
            | SessionOrigin::Job
            | SessionOrigin::Api => Ok(None),
        }
    }

    /// The space's one conversation with its default agent, made where there is none; and who
    /// answers in it now.
    pub async fn open_companion(
        &self,
        person: &PersonId,
        space: &SpaceId,
    ) -> Result<(SessionMeta, AgentId), Fault> {
        // Two who open it at once meet in one conversation.
        let _turn = self.inner.homes.lock().await;
        let spaces = Spaces::new(&*self.inner.store.files, person)?;
        for _ in 0..TRIES {
            let there = spaces.get(space).await?;
            let there = there.ok_or_else(|| Fault::plain(ErrorCode::NotFound))?;
            // It may have one that cannot be read: none is made beside it.
            check_card(&there)?;
            let roster = self.roster();
            let agent = there.default_agent.clone().filter(|agent| roster.get(agent).is_some());
            let agent = agent.unwrap_or_else(|| roster.default_agent().id.clone());
            if let Some(meta) = self.usable(person, there.companion).await? {
                return Ok((meta, agent));
            }
            let meta = self.fresh(&agent, SessionOrigin::Companion, &there.name);
            let change = SpaceChange { companion: Some(meta.session_id), ..SpaceChange::default() };
            self.put_new(person, &meta).await?;
            match spaces.put(space, &change, there.version, self.by_us("companion")).await {
                Ok(_) => return Ok((meta, agent)),
                Err(error) => {
                    self.delete_session(person, meta.session_id).await?;
                    if !matches!(error, StoreError::Conflict) {
                        return Err(error.into());
                    }
                }
            }
        }
        Err(Fault::plain(ErrorCode::VersionConflict))
    }

    async fn usable(
        &self,
        person: &PersonId,
        companion: Option<SessionId>,
    ) -> Result<Option<SessionMeta>, Fault> {
        let Some(session) = companion else { return Ok(None) };
        let meta = self.inner.store.ledger.session(person, session).await?;
        Ok(meta.filter(|meta| meta.status == SessionStatus::Active))
    }

    /// A new thread of a channel.
    pub async fn open_thread(
        &self,
        person: &PersonId,
        channel: &Channel,
        title: String,
    ) -> Result<(Channel, Thread), Fault> {
        let roster = self.roster();
        let agent = channel.card.primary().filter(|agent| roster.get(agent).is_some());
        let agent = agent.unwrap_or(&roster.default_agent().id);
        let meta = self.fresh(agent, SessionOrigin::Thread, &title);
        let id = meta.session_id.to_string().parse()?;
        let thread = Thread { id, title, created: meta.created_at };
        self.put_new(person, &meta).await?;
        let channels = Channels::new(&*self.inner.store.files, person)?;
        let listed = channels
            .change(&channel.id, None, self.by_us("threads"), |card| {
                card.threads.push(thread.clone());
            })
            .await;
        match listed {
            Ok(channel) => Ok((channel, thread)),
            Err(error) => {
                self.delete_session(person, meta.session_id).await?;
                Err(error.into())
            }
        }
    }

    /// Stops and removes a conversation with its forks and what waits in it; one that is gone is
    /// fine.
    pub async fn close_conversation(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), Fault> {
        let Some(meta) = self.inner.store.ledger.session(person, session).await? else {
            return Ok(());
        };
        for member in self.family(person, &meta).await? {
            self.close_session(person, member.session_id).await?;
        }
        Ok(())
    }

    async fn close_session(&self, person: &PersonId, session: SessionId) -> Result<(), Fault> {
        let _closing = self.inner.promised.close(session);
        let mut tries = 0;
        loop {
            self.stop(person, StopTarget::Session(session)).await?;
            match self.delete_session(person, session).await {
                Err(fault) if fault.code == ErrorCode::NotFound => return Ok(()),
                // One that was about to begin has begun.
                Err(fault) if fault.code == ErrorCode::SessionBusy && tries < TRIES => {
                    tries += 1;
                    self.inner.clock.sleep(WAIT).await;
                }
                deleted => return deleted,
            }
        }
    }

    /// Who would answer this message of a conversation in a space.
    pub async fn answerers(
        &self,
        person: &PersonId,
        session: &SessionMeta,
        text: &str,
    ) -> Result<Vec<AgentId>, Fault> {
        let home = self.home_of(person, session.root, session.origin).await?;
        Ok(home.map_or_else(|| session.agents.clone(), |home| home.answerers(&self.roster(), text)))
    }

    /// What is searched for a message of a conversation in a space.
    pub async fn retrieval_scopes(
        &self,
        person: &PersonId,
        session: &SessionMeta,
        text: &str,
    ) -> Result<Vec<Scope>, Fault> {
        let home = self.home_of(person, session.root, session.origin).await?;
        let roster = self.roster();
        Ok(home.map_or_else(Vec::new, |home| home.retrieval(home.answerers(&roster, text).iter())))
    }

    fn fresh(&self, agent: &AgentId, origin: SessionOrigin, title: &str) -> SessionMeta {
        let now = self.inner.clock.wall();
        let session_id = self.mint().session(now);
        SessionMeta {
            session_id,
            agent: agent.clone(),
            origin,
            agents: vec![agent.clone()],
            mode: LaneOrder::default(),
            title: Some(title.to_owned()),
            // The place names it; no model need.
            titled_by: TitleSource::Person,
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
        }
    }

    fn by_us(&self, what: &str) -> Change {
        Change {
            ts: self.inner.clock.wall(),
            author: Author::System,
            origin: Origin::Person,
            run: None,
            tool: what.to_owned(),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The letters of a name and nothing that could be more than one.
fn plain(name: &str) -> String {
    const LONGEST: usize = 80;
    let plain = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    name.chars().filter(plain).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::called_at;

    #[test]
    fn a_call_is_a_word_of_its_own() {
        for (text, is_called) in [
            ("@scout look", true),
            ("ask @scout.", true),
            ("(@scout)", true),
            ("@scout, @main", true),
            ("mail a@scout.example", false),
            ("@scouting", false),
            ("@scout-two", false),
            ("scout", false),
            ("@scout.example", false),
        ] {
            assert_eq!(called_at(text, "scout").is_some(), is_called, "{text}");
        }
    }
}
