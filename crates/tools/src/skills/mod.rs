//! Skills: instructions for certain kinds of work that an agent opens when it needs them. A skill is
//! a folder with a `SKILL.md`, or one `.md` file, in an agent's `skills` folder or in the vault.
//!
//! Prompts, the tool `skill` and surfaces come in through [`Skills`]. Those in an agent's own folder
//! are the owner's words. Any other counts only while it holds exactly what its person accepted; before
//! that it is shown to no model. Nothing here runs anything of a skill, and the permissions that a
//! skill asks for (`allowed-tools`) are shown to people and grant nothing.

mod edit;
mod find;
mod head;
mod import;
mod offer;
mod places;
mod zip;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use onyx_storage::{Acceptance, AcceptanceKind, Acceptances, Area, Files};
use onyx_types::{AgentId, Clock, ErrorCode, Fault, Hash, PersonId};

use crate::text::diff::unified_diff;

pub use head::{SkillHead, is_skill_name};
pub use import::SkillPackage;
pub use zip::{ZipLimits, files_of_zip};

/// The file of a skill that says what it is for and how it is done.
pub const SKILL_FILE: &str = "SKILL.md";

/// The skills of people and agents. Cheap to clone.
#[derive(Clone)]
pub struct Skills {
    shared: Arc<SkillsCore>,
}

struct SkillsCore {
    files: Arc<dyn Files>,
    accepted: Arc<dyn Acceptances>,
    clock: Arc<dyn Clock>,
    /// The people and agents for whom there were skills when a prompt was last made.
    offered: Mutex<BTreeSet<(PersonId, AgentId)>>,
    /// The folders outside the home that hold the skills of some agents.
    workspaces: RwLock<BTreeMap<AgentId, PathBuf>>,
}

/// The place of a skill. If several skills have one name, the first place in this order counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillPlace {
    /// `agents/<agent>/skills`, or `skills` in the workspace that the config names
    Agent(AgentId),
    /// `vault/agent/skills`
    Vault,
    /// `vault/.agents/skills`, which other programs use too.
    VaultShared,
}

impl SkillPlace {
    fn area(&self, person: &PersonId) -> Area {
        match self {
            Self::Agent(agent) => Area::Agent(agent.clone()),
            Self::Vault | Self::VaultShared => Area::Vault(person.clone()),
        }
    }

    const fn folder(&self) -> &'static str {
        match self {
            Self::Agent(_) => "skills",
            Self::Vault => "agent/skills",
            Self::VaultShared => ".agents/skills",
        }
    }
}

/// A skill as it is now.
#[derive(Clone, Debug)]
pub struct Skill {
    pub name: String,
    pub place: SkillPlace,
    /// The path of its `SKILL.md`, in the vault or in the agent's folder.
    pub path: String,
    /// The whole `SKILL.md`; empty if it cannot be read.
    pub text: String,
    pub head: Option<SkillHead>,
    /// The hash of all its files.
    pub hash: Hash,
    /// The skill's other files.
    pub files: BTreeMap<String, Vec<u8>>,
    pub state: SkillState,
    /// What the person accepted before, if the skill has changed since.
    accepted: Option<Acceptance>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillState {
    /// Agents can open it.
    Ready,
    /// No person has accepted the skill.
    New,
    /// The skill is not what was accepted.
    Changed,
    /// Another skill with this name is used instead.
    Shadowed,
    /// The skill is not valid, for this reason.
    Broken(String),
}

impl Skill {
    /// The instructions, without the front matter.
    pub fn body(&self) -> &str {
        match crate::text::front_matter::front_matter(&self.text) {
            Ok((_, body)) => body.trim_start(),
            Err(_) => &self.text,
        }
    }

    /// The changes since the acceptance; `None` if the skill does not wait for a person. Other
    /// files are only named, because only the accepted `SKILL.md` is kept to be compared with.
    pub fn diff(&self) -> Option<String> {
        let before = match (&self.state, &self.accepted) {
            (SkillState::New, _) => "",
            (SkillState::Changed, Some(accepted)) => accepted.content.as_str(),
            (SkillState::Changed, None)
            | (SkillState::Ready | SkillState::Shadowed | SkillState::Broken(_), _) => return None,
        };
        let mut diff = unified_diff(SKILL_FILE, before, &self.text);
        for (name, bytes) in &self.files {
            diff.push_str(&format!("(with the file {name}, {} bytes)\n", bytes.len()));
        }
        Some(diff)
    }
}

impl Skills {
    pub fn new(
        files: Arc<dyn Files>,
        accepted: Arc<dyn Acceptances>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (offered, workspaces) = (Mutex::default(), RwLock::default());
        let shared = SkillsCore { files, accepted, clock, offered, workspaces };
        Self { shared: Arc::new(shared) }
    }

    /// Lists all skills of the person's vault and of these agents, broken ones too.
    pub async fn list(&self, person: &PersonId, agents: &[AgentId]) -> Result<Vec<Skill>, Fault> {
        let places = agents.iter().cloned().map(SkillPlace::Agent);
        let places: Vec<_> = places.chain([SkillPlace::Vault, SkillPlace::VaultShared]).collect();
        self.shared.all(person, &places).await
    }

    /// The skill of this name that is used. If an agent is given, its own skills take precedence.
    pub async fn get(
        &self,
        person: &PersonId,
        agent: Option<&AgentId>,
        name: &str,
    ) -> Result<Skill, Fault> {
        let own = agent.cloned().map(SkillPlace::Agent);
        let places = own.into_iter().chain([SkillPlace::Vault, SkillPlace::VaultShared]);
        for place in places {
            if let Some(skill) = self.shared.one(person, &place, name).await? {
                return Ok(skill);
            }
        }
        let message = format!("There is no skill {name}.");
        Err(Fault::new(ErrorCode::NotFound, message).with_hint("`onyx skills list` shows them."))
    }

    /// Whether the agent's prompt for this person listed skills when it was last made.
    pub(crate) fn is_offered(&self, person: &PersonId, agent: &AgentId) -> bool {
        let offered = self.shared.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.contains(&(person.clone(), agent.clone()))
    }
}

impl SkillsCore {
    async fn acceptances(&self, person: &PersonId) -> Result<Vec<Acceptance>, Fault> {
        Ok(self.accepted.accepted(person, AcceptanceKind::Skill).await?)
    }
}
