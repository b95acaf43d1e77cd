//! Where a run happens, who answers, and what: decided before anything is written.

use std::sync::Arc;

use onyx_storage::{SessionMeta, TitleSource};
use onyx_types::{
    AgentId, ErrorCode, Fault, LaneOrder, SessionId, SessionKey, SessionOrigin, UserContent,
};

use crate::RunManager;
use crate::step::client::ClientTurn;
use crate::personas::is_editor;
use crate::sessions::forks::ForkPoint;
use crate::runs::request::{RunInput, RunRequest, SessionRef};
use crate::agents::roster::{AgentProfile, Roster};

/// Where a run happens and who answers.
pub(crate) struct Place {
    pub(crate) key: SessionKey,
    pub(crate) agents: Vec<Arc<AgentProfile>>,
    pub(crate) order: LaneOrder,
    /// Nothing better than its first words names the session yet.
    pub(crate) nameless: bool,
    pub(crate) origin: SessionOrigin,
    pub(crate) is_new: bool,
    /// The first of its family of forks.
    pub(crate) root: SessionId,
}

impl RunManager {
    /// Asking for another answer is a fork that answers the same message.
    pub(crate) async fn resolve_input(&self, mut request: RunRequest) -> Result<RunRequest, Fault> {
        let (turn, again) = match request.input {
            RunInput::New(_) | RunInput::Queued(_) | RunInput::Waiting | RunInput::Client(_) => {
                return Ok(request);
            }
            RunInput::Stored(turn) => (turn, false),
            RunInput::Regenerate(turn) => (turn, true),
        };
        let Some(session) = request.session.existing() else {
            let message = "A stored message is answered in its own session.";
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        };
        let meta = self.session_meta(&request.person, session).await?;
        let key = SessionKey { person: request.person.clone(), agent: meta.agent, session };
        let question = self.question_of(&key, turn).await?.id;
        if again {
            let fork = self.fork(&request.person, session, ForkPoint::Through(question)).await?;
            request.session = match request.session {
                SessionRef::Asking { agents, .. } => SessionRef::Asking { session: fork, agents },
                SessionRef::Editor(_) => SessionRef::Editor(fork),
                SessionRef::Existing(_) | SessionRef::New { .. } => SessionRef::Existing(fork),
            };
        }
        request.input = RunInput::Stored(question);
        Ok(request)
    }

    pub(crate) async fn place(
        &self,
        request: &RunRequest,
        roster: &Roster,
    ) -> Result<Place, Fault> {
        let mut place = self.whole_place(request, roster).await?;
        if let Some(tier) = request.terms.tier {
            for agent in &mut place.agents {
                let policy = Arc::new(agent.policy.at_most(tier));
                Arc::make_mut(agent).policy = policy;
            }
        }
        Ok(place)
    }

    async fn whole_place(&self, request: &RunRequest, roster: &Roster) -> Result<Place, Fault> {
        match &request.session {
            SessionRef::Existing(session) => {
                let meta = self.session_meta(&request.person, *session).await?;
                let agents = profiles(roster, &meta.agents)?;
                Ok(existing(request, meta, agents))
            }
            SessionRef::Asking { session, agents } => {
                let meta = self.session_meta(&request.person, *session).await?;
                let agents = profiles(roster, agents)?;
                Ok(existing(request, meta, agents))
            }
            SessionRef::Editor(session) => {
                let meta = self.session_meta(&request.person, *session).await?;
                Ok(existing(request, meta, vec![roster.editor().clone()]))
            }
            SessionRef::New { origin, agents } => {
                let agents = match agents.as_slice() {
                    [] => vec![roster.default_agent().clone()],
                    agents => profiles(roster, agents)?,
                };
                let session = self.mint().session(self.inner.clock.wall());
                let key = SessionKey {
                    person: request.person.clone(),
                    agent: agents[0].id.clone(),
                    session,
                };
                Ok(Place {
                    key,
                    agents,
                    order: LaneOrder::default(),
                    nameless: true,
                    origin: *origin,
                    is_new: true,
                    root: session,
                })
            }
        }
    }
}

/// A name that could not be had for so many messages is not asked for again.
const NAMED_WITHIN: u64 = 8;

fn existing(request: &RunRequest, meta: SessionMeta, agents: Vec<Arc<AgentProfile>>) -> Place {
    Place {
        agents,
        order: meta.mode,
        nameless: meta.titled_by == TitleSource::Words && meta.message_count < NAMED_WITHIN,
        origin: meta.origin,
        is_new: false,
        root: meta.root,
        key: SessionKey {
            person: request.person.clone(),
            agent: meta.agent,
            session: meta.session_id,
        },
    }
}

fn profiles(roster: &Roster, agents: &[AgentId]) -> Result<Vec<Arc<AgentProfile>>, Fault> {
    agents.iter().map(|id| profile(roster, id).cloned()).collect()
}

fn profile<'r>(roster: &'r Roster, id: &AgentId) -> Result<&'r Arc<AgentProfile>, Fault> {
    if is_editor(id) {
        let message = "The persona editor answers in the persona editor only.";
        return Err(Fault::new(ErrorCode::Forbidden, message)
            .with_hint("Send it to /api/persona-agent/chat."));
    }
    roster.get(id).ok_or_else(|| {
        let known: Vec<_> = roster.agents().map(|agent| agent.id.as_str()).collect();
        Fault::new(ErrorCode::NotFound, format!("There is no agent {id}."))
            .with_hint(format!("Agents: {}.", known.join(", ")))
    })
}

pub(crate) fn check_input(input: &RunInput, max_bytes: usize) -> Result<(), Fault> {
    match input {
        RunInput::New(content) => check_content(content, max_bytes),
        RunInput::Client(client) => client.turns.iter().try_for_each(|turn| match turn {
            ClientTurn::User(content) => check_content(content, max_bytes),
            ClientTurn::Assistant(_) | ClientTurn::ToolCall(_) | ClientTurn::ToolResult { .. } => {
                Ok(())
            }
        }),
        RunInput::Stored(_) | RunInput::Regenerate(_) | RunInput::Queued(_) | RunInput::Waiting => {
            Ok(())
        }
    }
}

pub(crate) fn check_content(content: &UserContent, max_bytes: usize) -> Result<(), Fault> {
    let size = content.byte_len();
    if size > max_bytes {
        let message = format!("The message has {size} bytes; {max_bytes} are allowed.");
        return Err(Fault::new(ErrorCode::LimitPrompt, message));
    }
    if size == 0 || matches!(content, UserContent::Text(text) if text.trim().is_empty()) {
        return Err(Fault::new(ErrorCode::InvalidRequest, "message: must not be empty"));
    }
    Ok(())
}
