//! Skills as they appear on the wire.

use std::collections::BTreeMap;

use onyx_tools::{Skill, SkillPlace, SkillState};
use onyx_types::{AgentId, DiffLine, Hash, diff_lines};
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
    /// The agent in whose folder the skill is.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
    /// The path of its `SKILL.md`, in the vault or in the agent's folder.
    path: String,
    state: SkillStateView,
    /// Why it is not a valid skill.
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
    /// The tools that it asks for. They are only shown: nothing is allowed by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_tools: Option<String>,
    /// The hash of all its files; send it back to accept the skill.
    #[schemars(with = "String")]
    hash: Hash,
    /// The files beside its `SKILL.md`, with their sizes.
    files: BTreeMap<String, u64>,
    /// The whole `SKILL.md`; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The changes that wait for acceptance, as a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The lines of `diff`, each with its kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diff_lines: Vec<DiffLine>,
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
    /// The folder `skills` of an agent, which its owner writes.
    Agent,
    /// `agent/skills` of the vault.
    Vault,
    /// `.agents/skills` of the vault, which other programs also use.
    VaultShared,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SkillStateView {
    Ready,
    /// It has not been accepted; agents do not see it.
    New,
    /// It differs from what was accepted; agents do not see it.
    Changed,
    /// Another skill with the same name is used instead.
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
        let (head, diff) = (skill.head.as_ref(), skill.diff());
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
            diff_lines: diff.as_deref().map(diff_lines).unwrap_or_default(),
            diff,
        }
    }

    /// The view with the skill's text.
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
