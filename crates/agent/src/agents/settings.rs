use std::collections::BTreeMap;

use onyx_tools::ToolSettings;
use onyx_types::Tier;
use serde::{Deserialize, Serialize};

/// The `agents` section of `onyx.json` as written, before values are checked and filled in.
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
    /// Whether agents use only models of this machine, where their own settings do not say.
    pub local_only: Option<bool>,
    /// Where titles of sessions come from.
    pub titles: Option<Titles>,
}

/// Where titles of sessions come from: the first words, which is the default and costs no call, or
/// a model.
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
    /// Whether the agent uses only models of this machine.
    pub local_only: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentMemorySettings {
    /// Other agents whose memory this agent may search.
    pub read: Vec<String>,
    /// Whether context is searched for each message of the agent's chats, as it always is in spaces.
    /// The default is not to, because that costs an embedding for each message, the prompt of a chat
    /// contains MEMORY.md and the daily logs anyway, and a text from outside that is found makes the
    /// run tainted.
    pub retrieval: Option<bool>,
}

/// One model by name, or a first choice and its fallbacks.
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
    /// All models of the setting, the first choice first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let (first, rest) = match self {
            Self::One(name) => (name, &[][..]),
            Self::Chain { primary, fallbacks } => (primary, &fallbacks[..]),
        };
        std::iter::once(first).chain(rest).map(String::as_str)
    }
}
