use std::collections::BTreeMap;

use onyx_tools::ToolSettings;
use onyx_types::Tier;
use serde::{Deserialize, Serialize};

/// `agents` of `onyx.json` as written: nothing checked, nothing filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentsSettings {
    pub defaults: AgentDefaults,
    pub list: Vec<AgentSettings>,
    /// The newer form of `list`, keyed by id.
    pub entries: BTreeMap<String, AgentSettings>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentDefaults {
    pub model: Option<ModelSetting>,
    pub tier: Option<Tier>,
    pub tools: Option<ToolSettings>,
    pub temperature: Option<f32>,
    pub max_tokens: Option<u32>,
    /// Agents use models of this machine and no others, where they do not say otherwise.
    pub local_only: Option<bool>,
    /// What titles sessions get; their first words by default, which costs no call.
    pub titles: Option<Titles>,
}

/// Where titles of sessions come from: a model, or only their first words, which is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Titles {
    #[default]
    Words,
    Model,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSettings {
    pub id: Option<String>,
    pub name: Option<String>,
    #[serde(rename = "default")]
    pub is_default: bool,
    pub enabled: Option<bool>,
    pub workspace: Option<String>,
    pub model: Option<ModelSetting>,
    pub tier: Option<Tier>,
    pub tools: Option<ToolSettings>,
    pub temperature: Option<f32>,
    pub max_tokens: Option<u32>,
    pub memory: Option<AgentMemorySettings>,
    /// It uses models of this machine and no others.
    pub local_only: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentMemorySettings {
    /// Other agents whose memory it may search.
    pub read: Vec<String>,
}

/// A model by name, or a first choice with what to try after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ModelSetting {
    One(String),
    Chain {
        primary: String,
        #[serde(default)]
        fallbacks: Vec<String>,
    },
}

impl ModelSetting {
    /// Every model it names, the first choice first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let (first, rest) = match self {
            Self::One(name) => (name, &[][..]),
            Self::Chain { primary, fallbacks } => (primary, &fallbacks[..]),
        };
        std::iter::once(first).chain(rest).map(String::as_str)
    }
}
