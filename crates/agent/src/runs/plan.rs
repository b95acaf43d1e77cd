//! Phase 1 of a start, resolve input: a request becomes a plan. The plan says in which session the
//! run happens, which agents answer, and within which limits. Nothing is written except the fork
//! that another answer needs.

use std::sync::Arc;

use onyx_storage::{SessionMeta, TitleSource};
use onyx_types::{
    AgentId, ErrorCode, Event, Fault, LaneOrder, Limits, Scope, SessionId, SessionKey,
    SessionOrigin, Tier, UserContent,
};

use super::RunsCore;
use super::request::{
    Privacy, RunInput, RunRequest, RunTerms, SessionRef, TOOLS_BEFORE_OTHERS, TOOLS_THAT_REMEMBER,
};
use super::subscription;
use crate::agents::{AgentProfile, Roster, is_editor};
use crate::drive::RunSlot;
use crate::sessions::{ForkPoint, SessionSpace};
use crate::step::client::ClientTurn;

/// A session that got no title within this many messages is not given one later.
const NAMED_WITHIN: u64 = 8;

/// What is decided about a run before its session is opened.
pub(super) struct RunPlan {
    /// The request as it was made, with its input resolved.
    pub(super) request: RunRequest,
    pub(super) session: SessionAddress,
    /// The space that the session belongs to, if there is one.
    pub(super) space: Option<SessionSpace>,
    pub(super) agents: Vec<Arc<AgentProfile>>,
    pub(super) order: LaneOrder,
    pub(super) limits: Limits,
    /// The scopes in which context is searched, if the caller names any.
    pub(super) scopes: Vec<Scope>,
    /// A warning that is sent right after the start.
    pub(super) notice: Option<Event>,
    /// The run's slot, which limits how many runs are at work at once.
    pub(super) slot: RunSlot,
}

/// The session of a run.
pub(super) struct SessionAddress {
    pub(super) key: SessionKey,
    pub(super) origin: SessionOrigin,
    pub(super) is_new: bool,
    /// The first session of the family of forks.
    pub(super) root: SessionId,
    /// Whether the session has no title but its first words.
    pub(super) unnamed: bool,
}

/// The session and the agents that answer in it.
struct Answerers {
    session: SessionAddress,
    agents: Vec<Arc<AgentProfile>>,
    order: LaneOrder,
}

pub(super) async fn resolve_input(
    runs: &RunsCore,
    request: RunRequest,
    scopes: Vec<Scope>,
) -> Result<RunPlan, Fault> {
    let roster = runs.roster.get();
    let mut request = resolve_question(runs, request).await?;
    check_input(&request.input, roster.limits().max_prompt_bytes)?;
    let slot = runs.table.take_slot().ok_or_else(|| Fault::plain(ErrorCode::Overloaded))?;
    let Answerers { session, mut agents, order } = answerers(runs, &request, &roster).await?;
    let space = runs.spaces.of(&request.person, session.root, session.origin).await?;
    let space_tier = space.as_ref().map(SessionSpace::tier);
    narrow_policies(&mut agents, &request.terms, session.origin, space_tier);
    let notice = subscription::choose(runs, &mut request, &mut agents).await?;
    let limits = bounded(roster.limits(), &request.terms);
    Ok(RunPlan { request, session, space, agents, order, limits, scopes, notice, slot })
}

/// Narrows what the agents may do in this run, by the run's terms, its session and its space.
fn narrow_policies(
    agents: &mut [Arc<AgentProfile>],
    terms: &RunTerms,
    origin: SessionOrigin,
    space_tier: Option<Tier>,
) {
    let tier = [terms.tier, space_tier].into_iter().flatten().min();
    for agent in agents {
        let mut policy = Arc::clone(&agent.policy);
        if let Some(tier) = tier {
            policy = Arc::new(policy.at_most(tier));
        }
        if let Some(light) = &terms.light {
            policy = Arc::new(policy.only(light.tools));
        }
        if origin == SessionOrigin::Temporary {
            policy = Arc::new(policy.without(TOOLS_THAT_REMEMBER));
        }
        if terms.privacy == Privacy::Shared {
            policy = Arc::new(policy.at_most(Tier::Suggest).only(TOOLS_BEFORE_OTHERS));
        }
        // A profile is shared by all runs, so it is copied only where something changed.
        if !Arc::ptr_eq(&policy, &agent.policy) {
            Arc::make_mut(agent).policy = policy;
        }
    }
}

/// Finds the question that a stored message or an answer belongs to. For another answer, the
/// session is forked and the fork answers the same question.
async fn resolve_question(runs: &RunsCore, mut request: RunRequest) -> Result<RunRequest, Fault> {
    let (turn, in_fork) = match request.input {
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
    let key = runs.sessions.key(&request.person, session).await?;
    let question = runs.sessions.question_of(&key, turn).await?.id;
    if in_fork {
        let point = ForkPoint::Through(question);
        let fork = runs.sessions.fork(&request.person, session, point).await?;
        request.session = match request.session {
            SessionRef::Asking { agents, .. } => SessionRef::Asking { session: fork, agents },
            SessionRef::Editor(_) => SessionRef::Editor(fork),
            SessionRef::Existing(_) | SessionRef::New { .. } => SessionRef::Existing(fork),
        };
    }
    request.input = RunInput::Stored(question);
    Ok(request)
}

async fn answerers(
    runs: &RunsCore,
    request: &RunRequest,
    roster: &Roster,
) -> Result<Answerers, Fault> {
    let person = &request.person;
    match &request.session {
        SessionRef::Existing(session) => {
            let meta = runs.sessions.meta(person, *session).await?;
            let agents = profiles(roster, &meta.agents)?;
            Ok(existing(request, meta, agents))
        }
        SessionRef::Asking { session, agents } => {
            let meta = runs.sessions.meta(person, *session).await?;
            let agents = profiles(roster, agents)?;
            Ok(existing(request, meta, agents))
        }
        SessionRef::Editor(session) => {
            let meta = runs.sessions.meta(person, *session).await?;
            Ok(existing(request, meta, vec![roster.editor().clone()]))
        }
        SessionRef::New { origin, agents } => {
            let agents = match agents.as_slice() {
                [] => vec![roster.default_agent().clone()],
                agents => profiles(roster, agents)?,
            };
            Ok(new_session(request, *origin, agents, runs.ids.session()))
        }
    }
}

fn new_session(
    request: &RunRequest,
    origin: SessionOrigin,
    agents: Vec<Arc<AgentProfile>>,
    session: SessionId,
) -> Answerers {
    let agent = agents[0].id.clone();
    let key = SessionKey { person: request.person.clone(), agent, session };
    let session = SessionAddress { key, origin, is_new: true, root: session, unnamed: true };
    Answerers { session, agents, order: LaneOrder::default() }
}

fn existing(request: &RunRequest, meta: SessionMeta, agents: Vec<Arc<AgentProfile>>) -> Answerers {
    let unnamed = meta.titled_by == TitleSource::Words && meta.message_count < NAMED_WITHIN;
    let person = request.person.clone();
    let key = SessionKey { person, agent: meta.agent, session: meta.session_id };
    let session =
        SessionAddress { key, origin: meta.origin, is_new: false, root: meta.root, unnamed };
    Answerers { session, agents, order: meta.mode }
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

/// A run's terms can narrow the limits of the config and never widen them.
fn bounded(limits: &Limits, terms: &RunTerms) -> Limits {
    let mut limits = limits.clone();
    limits.max_steps = terms.max_steps.unwrap_or(u32::MAX).min(limits.max_steps);
    let left = terms.delegated.as_ref().and_then(|parent| parent.cost_left);
    for most in left.into_iter().chain(terms.max_cost) {
        limits.max_cost = if limits.max_cost > 0.0 { most.min(limits.max_cost) } else { most };
    }
    limits
}

fn check_input(input: &RunInput, max_bytes: usize) -> Result<(), Fault> {
    match input {
        RunInput::New(content) => check_content(content, max_bytes),
        RunInput::Client(client) => client.turns.iter().try_for_each(|turn| match turn {
            ClientTurn::User(content) => check_content(content, max_bytes),
            ClientTurn::Assistant(_)
            | ClientTurn::OwnAnswer(..)
            | ClientTurn::ToolCall(_)
            | ClientTurn::ToolResult { .. } => Ok(()),
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
