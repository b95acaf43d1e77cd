use onyx_storage::SessionStatus;
use onyx_types::{AgentId, EntityRef, ErrorCode, Fault, LaneOrder, one_line};

use crate::agents::Roster;

/// Changes to a session; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPatch {
    pub title: Option<String>,
    pub status: Option<SessionStatus>,
    /// The agents that answer from the next message on.
    pub agents: Option<Vec<AgentId>>,
    pub mode: Option<LaneOrder>,
    pub pinned: Option<bool>,
    /// The tags that replace the present ones.
    pub tags: Option<Vec<String>>,
    /// What the session is attached to; `Some(None)` detaches it.
    pub attached: Option<Option<EntityRef>>,
}

/// A field of a patch that is refused, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFlaw {
    pub field: String,
    pub why: String,
    pub code: ErrorCode,
}

const LONGEST_TITLE: usize = 200;
/// The most agents of a session. Each costs a call, and nobody follows a larger crowd.
const MOST_AGENTS: usize = 8;
const MOST_TAGS: usize = 16;
const LONGEST_TAG: usize = 40;

impl SessionPatch {
    pub fn check(&self, roster: &Roster) -> Result<(), PatchFlaw> {
        if let Some(title) = &self.title {
            let length = plain_line(title).chars().count();
            if length == 0 {
                return Err(flaw("title", "it is empty"));
            }
            if length > LONGEST_TITLE {
                let why = format!("it has {length} characters; {LONGEST_TITLE} are allowed");
                return Err(flaw("title", why));
            }
        }
        self.tags.as_deref().map_or(Ok(()), check_tags)?;
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
            return Err(flaw(field, format!("{agent} is listed twice")));
        }
    }
    Ok(())
}

fn check_tags(tags: &[String]) -> Result<(), PatchFlaw> {
    if tags.len() > MOST_TAGS {
        return Err(flaw("tags", format!("a conversation has at most {MOST_TAGS} tags")));
    }
    for (index, tag) in tags.iter().enumerate() {
        let length = plain_line(tag).chars().count();
        let field = format!("tags[{index}]");
        if length == 0 {
            return Err(flaw(field, "it is empty"));
        }
        if length > LONGEST_TAG {
            let why = format!("it has {length} characters; {LONGEST_TAG} are allowed");
            return Err(flaw(field, why));
        }
    }
    Ok(())
}

/// Tags as they are stored: each on one line, without repeats.
pub(super) fn in_order(tags: &[String]) -> Vec<String> {
    let tags: std::collections::BTreeSet<String> = tags.iter().map(|tag| plain_line(tag)).collect();
    tags.into_iter().collect()
}

fn flaw(field: impl Into<String>, why: impl Into<String>) -> PatchFlaw {
    PatchFlaw { field: field.into(), why: why.into(), code: ErrorCode::InvalidRequest }
}

impl From<PatchFlaw> for Fault {
    fn from(flaw: PatchFlaw) -> Self {
        Self::new(flaw.code, format!("{}: {}", flaw.field, flaw.why)).with_field(flaw.field)
    }
}

/// A title or tag as it is stored: one line without control characters.
pub(crate) fn plain_line(text: &str) -> String {
    one_line(&text.replace(|c: char| c.is_control(), " "))
}
