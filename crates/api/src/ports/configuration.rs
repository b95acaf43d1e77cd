//! The config file as the owner's routes see and change it. What stands behind is the binary's to
//! wire: its form is not known here.

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

    /// An agent as the file has it; none for one that is there without being written.
    fn agent(&self, id: &AgentId) -> Result<Option<Written<AgentSettings>>, Problem>;

    /// A provider as the file has it, keys shortened.
    fn provider(&self, name: &str) -> Result<Option<Written<Map<String, Value>>>, Problem>;

    /// An account of a connector as the file has it, secrets shortened.
    fn connector(
        &self,
        network: &str,
        account: &str,
    ) -> Result<Option<Map<String, Value>>, Problem>;

    /// What agents without a model of their own answer with, as the file has it.
    fn default_model(&self) -> Result<Option<ModelSetting>, Problem>;

    /// The settings of a plugin as the file has them, secrets shortened.
    fn plugin(&self, name: &str) -> Result<Option<Map<String, Value>>, Problem>;

    /// Checks the change, writes it and takes it up: all of it or nothing. `expected` is said of
    /// what is changed, be it the file, an agent or a provider. Returns what that is now.
    fn change(
        &self,
        change: ConfigChange,
        expected: Expect,
    ) -> BoxFuture<'_, Result<Option<Hash>, Problem>>;
}

/// Something in the file, and the version of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
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
    /// The whole file. A shortened key in it stands for the one that the file has.
    Text(String),
    PutAgent {
        id: AgentId,
        settings: Box<AgentSettings>,
    },
    RemoveAgent(AgentId),
    /// As the file says it; a shortened key in it stands for the one that is there.
    PutProvider {
        name: String,
        settings: Map<String, Value>,
    },
    RemoveProvider(String),
    /// As the file says it; a shortened value in it stands for the one that is there.
    PutMcpServer {
        name: String,
        settings: Map<String, Value>,
    },
    RemoveMcpServer(String),
    SwitchPlugin {
        name: String,
        to: PluginSwitch,
    },
    /// As the file says it; a shortened value in it stands for the one that is there.
    PutPlugin {
        name: String,
        settings: Map<String, Value>,
    },
    /// Off, and without settings.
    RemovePlugin(String),
    /// As the file says it; a shortened secret in it stands for the one that is there.
    PutConnector {
        network: String,
        account: String,
        settings: Map<String, Value>,
    },
    RemoveConnector {
        network: String,
        account: String,
    },
    /// This agent answers this peer, or whoever writes to the account; none leaves it to the other
    /// bindings.
    BindPeer {
        network: String,
        account: String,
        peer: Option<String>,
        agent: Option<AgentId>,
    },
    /// These, beside what else there is.
    SetLimits(Map<String, Value>),
    /// What agents without a model of their own answer with; none leaves it to the providers.
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
    /// What works but is probably not what was meant.
    pub warnings: Vec<String>,
    /// Why the file is not the config that counts.
    pub error: Option<ConfigFlaw>,
    /// Where it is not: the one that counts instead, with keys shortened.
    pub last_good: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConfigFlaw {
    pub message: String,
    /// The path of the key that is to blame, where it is one.
    pub field: Option<String>,
}
