//! Skills as the wire shows them.

use std::collections::BTreeMap;

use onyx_tools::{Skill, SkillPlace, SkillState};
use onyx_types::{AgentId, Hash};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub(crate) struct SkillViews {
    pub(super) skills: Vec<SkillView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SkillView {
    name: String,
    place: SkillPlaceView,
    /// The agent in whose folder it lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
    /// Where its `SKILL.md` lies, in the vault or in the agent's folder.
    path: String,
    state: SkillStateView,
    /// Why it is no skill, where it is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(serialize_with = "onyx_types::serialize_visible")]
    #[schemars(with = "String")]
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compatibility: Option<String>,
    metadata: BTreeMap<String, String>,
    /// What it asks to be allowed. It is only shown: nothing is allowed by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_tools: Option<String>,
    /// Of all its files; say it when you accept it.
    #[schemars(with = "String")]
    hash: Hash,
    /// Beside its `SKILL.md`, with their sizes.
    files: BTreeMap<String, u64>,
    /// The whole `SKILL.md`; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// What waits to be accepted, as a difference to what was.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SkillFileView {
    path: String,
    size: u64,
    /// Absent where it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SkillPlaceView {
    /// The folder `skills` of an agent: its owner's words.
    Agent,
    /// `agent/skills` of the vault.
    Vault,
    /// `.agents/skills` of the vault, which other programs use too.
    VaultShared,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SkillStateView {
    Ready,
    /// Nobody has accepted it; no agent is told of it.
    New,
    /// It is not what was accepted any more; no agent is told of it.
    Changed,
    /// Another one with its name counts.
    Shadowed,
    Broken,
}

impl SkillView {
    pub(super) fn of(skill: &Skill) -> Self {
        let (state, problem) = match &skill.state {
            SkillState::Ready => (SkillStateView::Ready, None),
            SkillState::New => (SkillStateView::New, None),
            SkillState::Changed => (SkillStateView::Changed, None),
            SkillState::Shadowed => (SkillStateView::Shadowed, None),
            SkillState::Broken(why) => (SkillStateView::Broken, Some(why.clone())),
        };
        let (place, agent) = match &skill.place {
            SkillPlace::Agent(agent) => (SkillPlaceView::Agent, Some(agent.clone())),
            SkillPlace::Vault => (SkillPlaceView::Vault, None),
            SkillPlace::VaultShared => (SkillPlaceView::VaultShared, None),
        };
        let head = skill.head.as_ref();
        Self {
            name: skill.name.clone(),
            place,
            agent,
            path: skill.path.clone(),
            state,
            problem,
            description: head.map(|head| head.description.clone()).unwrap_or_default(),
            license: head.and_then(|head| head.license.clone()),
            compatibility: head.and_then(|head| head.compatibility.clone()),
            metadata: head.map(|head| head.metadata.iter().cloned().collect()).unwrap_or_default(),
            allowed_tools: head.and_then(|head| head.allowed_tools.clone()),
            hash: skill.hash,
            files: skill.files.iter().map(|(name, it)| (name.clone(), it.len() as u64)).collect(),
            text: None,
            diff: skill.diff(),
        }
    }

    /// With its text.
    pub(super) fn whole(skill: Skill) -> Self {
        let view = Self::of(&skill);
        Self { text: Some(skill.text), ..view }
    }
}

impl SkillFileView {
    pub(super) fn of(path: &str, bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
        Self { path: path.to_owned(), size: bytes.len() as u64, text }
    }
}
