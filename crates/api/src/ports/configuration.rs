//! The config file as the owner's routes read and change it. The binary implements this; the form
//! of the config is not known here.

use futures::future::BoxFuture;
use onyx_agent::{AgentSettings, ModelSetting};
use onyx_storage::Expect;
use onyx_types::{AgentId, Hash};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Problem;

pub trait Configuration: Send + Sync {
    fn view(&self) -> Result<ConfigView, Problem>;

    /// An agent's settings in the file; none for a built-in agent that the file does not name.
    fn agent(&self, id: &AgentId) -> Result<Option<ConfigPart<AgentSettings>>, Problem>;

    /// A provider as the file has it, keys shortened.
    fn provider(&self, name: &str) -> Result<Option<ConfigPart<Map<String, Value>>>, Problem>;

    /// An account of a connector as the file has it, secrets shortened.
    fn connector(
        &self,
        network: &str,
        account: &str,
    ) -> Result<Option<Map<String, Value>>, Problem>;

    /// The default model as the file has it, for agents without their own.
    fn default_model(&self) -> Result<Option<ModelSetting>, Problem>;

    /// The settings of a plugin as the file has them, secrets shortened.
    fn plugin(&self, name: &str) -> Result<Option<Map<String, Value>>, Problem>;

    /// Checks the change, writes it and applies it: all of it or nothing. `expected` is the version
    /// of what is changed, whether the file, an agent or a provider. Returns the new version.
    fn change(
        &self,
        change: ConfigChange,
        expected: Expect,
    ) -> BoxFuture<'_, Result<Option<Hash>, Problem>>;
}

/// A part of the file, and its version.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigPart<T> {
    pub value: T,
    pub hash: Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginSwitch {
    On,
    Off,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConfigChange {
    /// The whole file. A shortened key in it stands for the key in the current file.
    Text(String),
    PutAgent {
        id: AgentId,
        settings: Box<AgentSettings>,
    },
    RemoveAgent(AgentId),
    /// The settings as the file has them; a shortened key stands for the current one.
    PutProvider {
        name: String,
        settings: Map<String, Value>,
    },
    RemoveProvider(String),
    /// The settings as the file has them; a shortened value stands for the current one.
    PutMcpServer {
        name: String,
        settings: Map<String, Value>,
    },
    RemoveMcpServer(String),
    SwitchPlugin {
        name: String,
        to: PluginSwitch,
    },
    /// The settings as the file has them; a shortened value stands for the current one.
    PutPlugin {
        name: String,
        settings: Map<String, Value>,
    },
    /// Disables the plugin and removes its settings.
    RemovePlugin(String),
    /// The settings as the file has them; a shortened secret stands for the current one.
    PutConnector {
        network: String,
        account: String,
        settings: Map<String, Value>,
    },
    RemoveConnector {
        network: String,
        account: String,
    },
    /// The agent that answers this peer, or all peers of the account; none leaves the choice to the
    /// other bindings.
    BindPeer {
        network: String,
        account: String,
        peer: Option<String>,
        agent: Option<AgentId>,
    },
    /// Sets these limits and keeps the others.
    SetLimits(Map<String, Value>),
    /// The default model of agents without their own; none leaves the choice to the providers.
    SetDefaultModel(Option<ModelSetting>),
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConfigView {
    /// The file, with keys shortened; empty where there is none. `PUT` it back as it is or edited:
    /// a shortened key stands for the one in the file.
    pub text: String,
    /// For `If-Match`.
    #[serde(skip)]
    pub hash: Hash,
    /// Settings that work but are probably not what was meant.
    pub warnings: Vec<String>,
    /// Why the file is not in effect.
    pub error: Option<ConfigFlaw>,
    /// Where the file is not in effect: the config that is, with keys shortened.
    pub last_good: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConfigFlaw {
    pub message: String,
    /// The path of the key that caused the error, where it is a single one.
    pub field: Option<String>,
}
