//! Looks up the space that a session belongs to. The space's own files decide who answers, what may
//! be searched, and what the prompt says of the space.

use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_knowledge::Retrieval;
use onyx_storage::{Channel, Channels, Files, Space, Spaces, Thread};
use onyx_types::{
    AgentId, ErrorCode, Fault, PersonId, Scope, SessionId, SessionOrigin, Tier, View, one_line,
};

use crate::agents::Roster;

/// The most agents that answer one message. Each costs a call, and nobody follows a larger crowd.
const MOST_ANSWERS: usize = 8;

/// The space that a session belongs to, and the channel and thread in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionSpace {
    Companion { space: Space, channels: Vec<Channel> },
    Thread { space: Space, channel: Box<Channel>, thread: Thread },
}

impl SessionSpace {
    fn space(&self) -> &Space {
        match self {
            Self::Companion { space, .. } | Self::Thread { space, .. } => space,
        }
    }

    /// Whether its conversations may use only models of this machine.
    pub(crate) fn is_only_local(&self) -> bool {
        self.space().local_only
    }

    /// The highest tier of agents in it.
    pub(crate) fn tier(&self) -> Tier {
        self.space().tier
    }

    /// The scopes that an agent may search in it.
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

    /// The scopes in which context for a message is searched. In a thread there are four, and each
    /// is searched separately. A space may have hundreds of threads, so a companion searches at most
    /// three groups.
    pub(crate) fn retrieval_groups<'a>(
        &self,
        agents: impl Iterator<Item = &'a AgentId>,
    ) -> Vec<Vec<Scope>> {
        let scopes: BTreeSet<Scope> = agents.flat_map(|agent| self.scopes(agent)).collect();
        match self {
            Self::Companion { .. } => retrieval_groups(scopes),
            Self::Thread { .. } => Retrieval::separately(scopes),
        }
    }

    /// What the prompt says of the space, and of what the person is looking at.
    pub(crate) fn prompt_text(&self, view: Option<&View>) -> String {
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
            // Only the name goes into the prompt. The content may be anyone's text; an agent can
            // read it with the tool `context`, which marks it.
            let (kind, id) = (plain(entity_type), plain(entity_id));
            text.push_str(&format!(
                "\nThe person is looking at: {kind} {id} (the tool `context` says more)"
            ));
        }
        text
    }

    /// The agents that answer a message: in a thread those that it mentions, else the primary
    /// coworker.
    pub(crate) fn answerers(&self, roster: &Roster, text: &str) -> Vec<AgentId> {
        let there = |agent: &&AgentId| roster.get(agent).is_some();
        let usual = || self.space().default_agent.as_ref().filter(there);
        let agents: Vec<AgentId> = match self {
            Self::Companion { .. } => usual().into_iter().cloned().collect(),
            Self::Thread { channel, .. } => {
                let coworkers = channel.card.coworkers.iter().map(|coworker| &coworker.agent);
                let assigned: Vec<&AgentId> = coworkers.filter(there).collect();
                let known: Vec<&AgentId> = if assigned.is_empty() {
                    roster.agents().map(|agent| &agent.id).collect()
                } else {
                    assigned
                };
                let named = mentioned(roster, &known, text);
                if named.is_empty() {
                    let primary = channel.card.primary().filter(there);
                    primary.or_else(usual).into_iter().cloned().collect()
                } else {
                    named
                }
            }
        };
        if agents.is_empty() { vec![roster.default_agent().id.clone()] } else { agents }
    }
}

/// Groups of scopes that are searched together for a message: a space with its channels and threads,
/// the answering agents, the person, and what all agents share.
pub(crate) fn retrieval_groups(scopes: impl IntoIterator<Item = Scope>) -> Vec<Vec<Scope>> {
    let mut groups: [Vec<Scope>; 4] = Default::default();
    for scope in scopes {
        let group = match scope {
            Scope::Space(_) | Scope::Channel(_) | Scope::Thread(_) => 0,
            Scope::Agent(_) => 1,
            Scope::Person => 2,
            Scope::Shared => 3,
        };
        groups[group].push(scope);
    }
    groups.into_iter().filter(|group| !group.is_empty()).collect()
}

/// The agents among `known` that the text mentions by `@id` or `@name`, in the order of the text.
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

/// The position of `@name` as a word of its own, neither in an address nor at the start of a longer
/// name.
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

/// Refuses to change a space whose card cannot be read.
pub fn check_card(space: &Space) -> Result<(), Fault> {
    let Some(damage) = &space.damage else { return Ok(()) };
    let hint =
        "Fix `space.json` in the folder of the space; its earlier versions are in the history.";
    Err(Fault::new(ErrorCode::StorageFailed, damage.clone()).with_hint(hint))
}

/// Looks up which space a session belongs to.
#[derive(Clone)]
pub(crate) struct SessionSpaces(Arc<dyn Files>);

impl SessionSpaces {
    pub(crate) fn new(files: Arc<dyn Files>) -> Self {
        Self(files)
    }

    /// The space of the family of sessions that begins with `root`. `None` if the session belongs
    /// to no space, or the space is gone.
    pub(crate) async fn of(
        &self,
        person: &PersonId,
        root: SessionId,
        origin: SessionOrigin,
    ) -> Result<Option<SessionSpace>, Fault> {
        match origin {
            SessionOrigin::Companion => self.of_companion(person, root).await,
            SessionOrigin::Thread => self.of_thread(person, root).await,
            SessionOrigin::Chat
            | SessionOrigin::AgentEditor
            | SessionOrigin::Connector
            | SessionOrigin::Job
            | SessionOrigin::Api
            | SessionOrigin::Temporary => Ok(None),
        }
    }

    async fn of_companion(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Option<SessionSpace>, Fault> {
        let spaces = Spaces::new(&*self.0, person)?.list().await?;
        let found = spaces.into_iter().find(|space| space.companion == Some(root));
        let Some(space) = found else { return Ok(None) };
        let channels = Channels::new(&*self.0, person)?.list(Some(&space.id)).await?;
        Ok(Some(SessionSpace::Companion { space, channels }))
    }

    async fn of_thread(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Option<SessionSpace>, Fault> {
        let id = root.to_string().parse()?;
        let channel = Channels::new(&*self.0, person)?.with_thread(&id).await?;
        let Some(channel) = channel else { return Ok(None) };
        let space = Spaces::new(&*self.0, person)?.get(&channel.space).await?;
        let (Some(space), Some(thread)) = (space, channel.card.thread(&id).cloned()) else {
            return Ok(None);
        };
        Ok(Some(SessionSpace::Thread { space, channel: Box::new(channel), thread }))
    }
}

/// Keeps only letters, digits, `-`, `_` and `.`, so that a name cannot contain instructions.
fn plain(name: &str) -> String {
    const LONGEST: usize = 80;
    let plain = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    name.chars().filter(plain).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use onyx_storage::ChannelCard;
    use onyx_types::{Hash, Timestamp};

    use super::*;

    fn space() -> Space {
        Space {
            id: "home".parse().unwrap(),
            name: "Home".to_owned(),
            default_agent: None,
            companion: None,
            local_only: false,
            created: None,
            tier: Tier::Act,
            version: None,
            damage: None,
        }
    }

    fn channel(threads: usize) -> Channel {
        let created = Timestamp::from_millis(1);
        let thread = |number: usize| Thread {
            id: format!("thread-{number}").parse().unwrap(),
            title: String::new(),
            created,
        };
        let mut card = ChannelCard::new("Launch".to_owned(), String::new(), created);
        card.threads = (0..threads).map(thread).collect();
        let (id, space) = ("launch".parse().unwrap(), "home".parse().unwrap());
        Channel { id, space, card, version: Hash::of(b"") }
    }

    #[test]
    fn a_companion_searches_three_groups_however_many_threads_its_space_has() {
        let companion = SessionSpace::Companion { space: space(), channels: vec![channel(200)] };
        let agents: [AgentId; 2] = ["ada".parse().unwrap(), "bob".parse().unwrap()];
        let groups = companion.retrieval_groups(agents.iter());
        let sizes: Vec<_> = groups.iter().map(Vec::len).collect();
        assert_eq!(sizes, [1 + 1 + 200, 2, 1]);
        let searched: BTreeSet<_> = groups.into_iter().flatten().collect();
        let allowed: BTreeSet<_> =
            agents.iter().flat_map(|agent| companion.scopes(agent)).collect();
        assert_eq!(searched, allowed);
    }

    #[test]
    fn a_thread_searches_each_of_its_four_scopes() {
        let channel = channel(2);
        let thread = channel.card.threads[0].clone();
        let thread = SessionSpace::Thread { space: space(), channel: Box::new(channel), thread };
        let groups = thread.retrieval_groups(["ada".parse().unwrap()].iter());
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [1; 4]);
    }

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
