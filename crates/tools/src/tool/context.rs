use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Files, StoreError};
use onyx_types::{AgentId, Author, Cancel, Clock, RunId, ScopeSet, SessionKey, Taint, View};

use super::{LiveOutput, Pending, RunPosition};
use crate::ToolError;
use crate::gate::GrantedSites;
use crate::paths::PathRules;
use crate::ports::Audience;
use crate::web::Addresses;

const LIFE_LOST: &str =
    "this gateway was silent for too long, and others may have taken over; nothing was done";

/// The context of a call: for whom and within which limits it works. The driver makes it, and
/// nothing in it comes from a model's words.
#[derive(Clone)]
pub struct ToolCx {
    pub key: SessionKey,
    /// The agent that answers. It may differ from the session's own agent in `key`.
    pub agent: AgentId,
    pub run: RunId,
    pub view: Option<View>,
    /// The scopes that searches may see.
    pub scopes: ScopeSet,
    /// Other agents whose memory this agent may search.
    pub memories: Arc<[AgentId]>,
    pub cancel: Cancel,
    pub taint: Taint,
    pub clock: Arc<dyn Clock>,
    pub files: Arc<dyn Files>,
    pub paths: Arc<PathRules>,
    /// The addresses that the run may fetch without approval. All lanes share them.
    pub addresses: Arc<Addresses>,
    pub live: LiveOutput,
    /// What the session's open drafts would make of files. The toolbox sets it for each call.
    pub pending: Arc<Pending>,
    pub decisions: Decisions,
    /// The run's place in the tree of runs; `None` if no run is at work because a person approved
    /// the call later.
    pub standing: Option<RunPosition>,
    /// The provider that has the conversation.
    pub audience: Audience,
    /// Whether the model was shown the tool. The driver sets it for each call.
    pub offered: OfferState,
}

/// Identifies one registration of a tool. A tool that is removed and added again gets another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Registration(pub(crate) u64);

/// Whether the model's request offered the tool. A model can call only tools that were offered to
/// it, and only if they are still the same tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferState {
    No,
    /// The request offered the tool with this registration.
    As(Registration),
    /// No model asked, so the tool that has the name now is called.
    Now,
}

/// A person's decisions that apply to a call, and how long a person may decide.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// What a person allowed for the rest of the run.
    pub granted: GrantedSites,
    /// How long a person may decide on a draft.
    pub draft_time: Duration,
    /// The text that the person gave with the approval.
    pub answer: Option<String>,
}

impl Decisions {
    /// No decisions.
    pub fn none(draft_time: Duration) -> Self {
        Self { granted: GrantedSites::default(), draft_time, answer: None }
    }
}

impl ToolCx {
    pub fn author(&self) -> Author {
        Author::Agent(self.agent.clone())
    }

    /// Binds the context to this incarnation of the gateway, for work that another gateway takes
    /// over if this one dies. Once this gateway has lost its leases, nothing is written, and
    /// `check_life` refuses every effect.
    pub fn of_this_life(mut self) -> Self {
        if let Some(files) = self.files.of_this_life() {
            self.files = files;
        }
        self
    }

    /// Fails if this gateway has lost its leases. It must be called immediately before each effect
    /// outside, because a gateway can be frozen at any moment. It is cheap.
    pub(crate) fn check_life(&self) -> Result<(), ToolError> {
        self.files.incarnation().map(drop).map_err(|error| match error {
            StoreError::LeaseLost => ToolError::Failed(LIFE_LOST.to_owned()),
            error => error.into(),
        })
    }
}
