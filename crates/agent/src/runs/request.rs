use std::sync::{Arc, Mutex};

use onyx_tools::{Execution, FetchBudget};
use onyx_types::{
    AgentId, Attendance, ModelId, PersonId, RunId, SessionId, SessionOrigin, Taint, Tier, TurnId,
    UserContent, View,
};

use crate::drive::ActionName;
use crate::step::client::ClientInput;

/// Everything a surface decides about a run. The person comes from the credential.
#[derive(Clone, Debug)]
pub struct RunRequest {
    pub person: PersonId,
    pub session: SessionRef,
    pub input: RunInput,
    pub view: Option<View>,
    /// The model for this run instead of the agent's own.
    pub model: Option<ModelId>,
    pub terms: RunTerms,
    pub attendance: Attendance,
    pub dry_run: DryRun,
}

/// Settings of one run. They can narrow what the config allows and never widen it.
#[derive(Clone, Debug, Default)]
pub struct RunTerms {
    pub max_steps: Option<u32>,
    pub tier: Option<Tier>,
    /// The action that this run performs. Such a run leaves a page in the vault.
    pub action: Option<ActionName>,
    /// The run that asked for this one.
    pub delegated: Option<Delegated>,
    /// The most that the run may cost. A limit of the config that is lower still holds.
    pub max_cost: Option<f64>,
    /// The id that was promised for the run; `None` makes a new one.
    pub run: Option<RunId>,
    /// The id for the message in case a run at work takes it; `None` makes a new one.
    pub words: Option<TurnId>,
    /// The title of a new session.
    pub title: Option<String>,
    /// A short prompt that replaces the agent's own.
    pub light: Option<LightPrompt>,
    /// Who hears the answer besides the person.
    pub privacy: Privacy,
}

/// Who reads the answers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privacy {
    /// Only the person reads the answers of the run.
    #[default]
    Private,
    /// Others read them too, as in a group chat. The run gets none of the person's memory and
    /// files, and its message counts as from outside, because others may have written it.
    Shared,
}

/// The only tools of an agent while others listen. None of them reads or changes what belongs to
/// the person.
pub(super) const TOOLS_BEFORE_OTHERS: &[&str] = &["web_search", "web_fetch", "render_mermaid"];

/// The tools that a temporary chat does not get, because nothing of it may go into memory.
pub(super) const TOOLS_THAT_REMEMBER: &[&str] = &["memory_write"];

/// A short prompt and its tools, for runs where the usual prompt would cost more than it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LightPrompt {
    pub system: String,
    /// The run gets only these of the agent's tools.
    pub tools: &'static [&'static str],
}

/// What a run inherits from the run that asked for it.
#[derive(Clone, Debug)]
pub struct Delegated {
    pub by: AgentId,
    /// The run that the person's message started.
    pub root: RunId,
    /// How many runs lie between the person's message and this run; at least 1.
    pub depth: u8,
    pub taint: Taint,
    /// What is left of the money; `None` if there is no limit.
    pub cost_left: Option<f64>,
    /// Where the run writes at its end what it cost, including the runs that it asked for.
    pub spent: Arc<Mutex<f64>>,
    /// Whether the asking agent may use only models of this machine; then the asked agent may not
    /// use others either.
    pub only_local: bool,
    /// The fetches without approval that are left to the whole tree of runs.
    pub fetches: Arc<FetchBudget>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRef {
    /// The session's own agents answer.
    Existing(SessionId),
    /// These agents answer instead of the session's own. There is at least one.
    Asking { session: SessionId, agents: Vec<AgentId> },
    /// The persona editor answers. Only surfaces that have checked that the person may edit agents
    /// use this; no other variant reaches the editor.
    Editor(SessionId),
    New {
        origin: SessionOrigin,
        /// The agents that answer; if there are none, the default agent does.
        agents: Vec<AgentId>,
    },
}

impl SessionRef {
    pub fn existing(&self) -> Option<SessionId> {
        match self {
            Self::Existing(session) | Self::Editor(session) | Self::Asking { session, .. } => {
                Some(*session)
            }
            Self::New { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum RunInput {
    New(UserContent),
    /// A message that is in the log already. It is answered, or answered again after its run failed
    /// or was stopped.
    Stored(TurnId),
    /// The run gives another answer to the message that this turn belongs to, in a fork of the
    /// session.
    Regenerate(TurnId),
    /// One message of the session's inbox, together with those before it whose answer was not
    /// promised.
    Queued(TurnId),
    /// All messages of the session's inbox.
    Waiting,
    /// A conversation, or tool results, from a client of another wire format.
    Client(Box<ClientInput>),
}

/// Whether tools only show their plans and nothing is invoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    #[default]
    Off,
    On,
}

impl DryRun {
    pub(super) fn execution(self) -> Execution {
        match self {
            Self::Off => Execution::Real,
            Self::On => Execution::DryRun,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopTarget {
    Session(SessionId),
    Run(RunId),
}
