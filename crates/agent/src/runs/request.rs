use std::sync::{Arc, Mutex};

use onyx_tools::FetchBudget;
use onyx_types::{
    AgentId, Attendance, PersonId, RunId, SessionId, SessionOrigin, Taint, Tier, TurnId,
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
    /// `<provider>/<model>` for this run instead of the agent's own.
    pub model: Option<String>,
    pub terms: RunTerms,
    pub attendance: Attendance,
    pub dry_run: DryRun,
}

/// What is particular to a run. It can narrow what the config allows and never widen it.
#[derive(Clone, Debug, Default)]
pub struct RunTerms {
    pub max_steps: Option<u32>,
    pub tier: Option<Tier>,
    /// The action whose run this is: it leaves a page in the vault.
    pub action: Option<ActionName>,
    /// The run that asked for this one.
    pub delegated: Option<Delegated>,
    /// What it may cost, where that is less than the config allows.
    pub max_cost: Option<f64>,
    /// The id that it was promised by; `None` makes one.
    pub run: Option<RunId>,
    /// The id that its words get where a run that is at work takes them; `None` makes one.
    pub words: Option<TurnId>,
    /// What a new session is called.
    pub title: Option<String>,
    /// A prompt of its own in the place of the agent's.
    pub light: Option<LightPrompt>,
    /// Who hears the answer beside the person.
    pub privacy: Privacy,
}

/// Who reads what a run says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privacy {
    /// The person alone.
    #[default]
    Private,
    /// Others too, as in a group chat: the run gets none of the person's memory and files, and the
    /// words it answers count as from outside, because others may have said them.
    Shared,
}

/// What an agent may use where others listen: nothing that reads or changes what is the person's.
pub(super) const TOOLS_BEFORE_OTHERS: &[&str] = &["web_search", "web_fetch", "render_mermaid"];

/// What a temporary chat does without: nothing of it goes into memory.
pub(super) const TOOLS_THAT_REMEMBER: &[&str] = &["memory_write"];

/// A short prompt and its tools, for runs where the usual prompt would cost more than it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LightPrompt {
    pub system: String,
    /// The run gets only these of the agent's tools.
    pub tools: &'static [&'static str],
}

/// What a run inherits from the one that asked for it.
#[derive(Clone, Debug)]
pub struct Delegated {
    pub by: AgentId,
    /// The run that the person's message set off.
    pub root: RunId,
    /// How many runs asked for another on the way to this one: 1 or more.
    pub depth: u8,
    pub taint: Taint,
    /// `None`: there is no limit.
    pub cost_left: Option<f64>,
    /// Where the run writes at its end what it and those that it asked have cost.
    pub spent: Arc<Mutex<f64>>,
    /// The asking agent is pinned to models of this machine, so the agent that it asks is pinned to
    /// them too.
    pub only_local: bool,
    /// The free fetches of the whole tree.
    pub fetches: Arc<FetchBudget>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRef {
    /// The session's own agents answer.
    Existing(SessionId),
    /// These agents answer instead; there is at least one.
    Asking { session: SessionId, agents: Vec<AgentId> },
    /// The persona editor answers. This is only for surfaces that have checked that the person may
    /// edit agents: no other reference leads to it.
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
    /// A message that is in the log already: to be answered, or answered again after its run
    /// failed or was stopped.
    Stored(TurnId),
    /// The run gives another answer to the message that this turn belongs to, in a fork of the
    /// session.
    Regenerate(TurnId),
    /// One message that waits in the session's inbox, with those before it whose answer was not
    /// promised.
    Queued(TurnId),
    /// The words that wait in the session's inbox.
    Waiting,
    /// A conversation, or the results of tools, from a client that speaks another wire.
    Client(Box<ClientInput>),
}

/// Show plans, invoke nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    #[default]
    Off,
    On,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopTarget {
    Session(SessionId),
    Run(RunId),
}
