use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Files, StoreError};
use onyx_types::{AgentId, Author, Cancel, Clock, RunId, ScopeSet, SessionKey, Taint, View};

use super::{LiveOutput, Pending, Standing};
use crate::ToolError;
use crate::gate::Granted;
use crate::paths::PathRules;
use crate::ports::Audience;
use crate::web::Addresses;

const LIFE_LOST: &str =
    "this gateway was silent for too long, and others may have taken over; nothing was done";

/// Says for whom and within which limits a call works. It is made by the driver, never from a
/// model's words.
#[derive(Clone)]
pub struct ToolCx {
    pub key: SessionKey,
    /// The agent that answers; a session's key names the one it was created with.
    pub agent: AgentId,
    pub run: RunId,
    pub view: Option<View>,
    /// What searches may see: by the person, the agent and where the session lives.
    pub scopes: ScopeSet,
    /// Other agents whose memory this one may read.
    pub memories: Arc<[AgentId]>,
    pub cancel: Cancel,
    pub taint: Taint,
    pub clock: Arc<dyn Clock>,
    pub files: Arc<dyn Files>,
    pub paths: Arc<PathRules>,
    /// What the run may fetch without asking; one book for all its lanes.
    pub addresses: Arc<Addresses>,
    pub live: LiveOutput,
    /// What the session's open drafts make of files; the toolbox sets it for each call.
    pub pending: Arc<Pending>,
    pub decisions: Decisions,
    /// `None`: no run is at work, a person approved the call.
    pub standing: Option<Standing>,
    /// Who hears what the agent says.
    pub audience: Audience,
    /// The driver sets it for each call.
    pub offered: Offered,
}

/// One registration of a tool. A tool that goes and comes back has another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Registration(pub(crate) u64);

/// Whether the request that a call answers showed its tool to the model. What a model was not shown
/// it cannot call, and what it was shown must not have become something else meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    No,
    /// It showed the tool of this registration.
    As(Registration),
    /// The tool that has the name now: no model asked.
    Now,
}

/// What a person has decided that bears on a call, and how long they can decide more.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// What a person allowed for the rest of this run.
    pub granted: Granted,
    /// How long what needs a person can be decided.
    pub draft_time: Duration,
    /// What the person said when they approved the call.
    pub answer: Option<String>,
}

impl Decisions {
    /// Nothing is decided yet.
    pub fn none(draft_time: Duration) -> Self {
        Self { granted: Granted::default(), draft_time, answer: None }
    }
}

impl ToolCx {
    pub fn author(&self) -> Author {
        Author::Agent(self.agent.clone())
    }

    /// The same for work that begins now and that another gateway takes over when this one dies: once this gateway has
    /// lost what it holds, nothing is written, and `check_life` refuses every effect.
    pub fn of_this_life(mut self) -> Self {
        if let Some(files) = self.files.of_this_life() {
            self.files = files;
        }
        self
    }

    /// Must be called immediately before each effect outside, because a gateway can be frozen at any moment. Costs
    /// nothing.
    pub(crate) fn check_life(&self) -> Result<(), ToolError> {
        self.files.incarnation().map(drop).map_err(|error| match error {
            StoreError::LeaseLost => ToolError::Failed(LIFE_LOST.to_owned()),
            error => error.into(),
        })
    }
}
