//! The section `mcp` of the config, and the same section in the formats of other clients.

use std::collections::BTreeMap;
use std::path::PathBuf;

use onyx_egress::{Address, HostPort};
use onyx_types::{AgentId, ErrorCode, Fault, ToolEffect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::oauth::OauthSettings;

const LONGEST_NAME: usize = 32;

/// The section `mcp` of the config.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct McpSettings {
    pub servers: BTreeMap<String, ServerSettings>,
}

/// One server: a command, or an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServerSettings {
    /// A program that is run in the sandbox.
    pub command: Option<String>,
    pub args: Vec<String>,
    /// The environment of the command. Values may be `secret:<name>`.
    pub env: BTreeMap<String, String>,
    /// The address of a server that answers over HTTP.
    pub url: Option<String>,
    /// The headers of each request. Values may be `secret:<name>`.
    pub headers: BTreeMap<String, String>,
    /// The settings for signing in to the server, for values that the server does not provide
    /// itself.
    pub oauth: OauthSettings,
    pub tools: ToolChoice,
    /// The effects of tools that the owner knows; every other tool has the effect `reach`.
    pub effects: BTreeMap<String, ToolEffect>,
    /// The only agents that have the server's tools; without this setting all agents do.
    pub agents: Option<Vec<AgentId>>,
    /// Servers that the command may reach, as `host` or `host:port`.
    pub network: Vec<String>,
    pub folders: Folders,
    pub enabled: bool,
    /// The time for one call, in seconds.
    pub timeout: u64,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            url: None,
            headers: BTreeMap::new(),
            oauth: OauthSettings::default(),
            tools: ToolChoice::default(),
            effects: BTreeMap::new(),
            agents: None,
            network: Vec::new(),
            folders: Folders::default(),
            enabled: true,
            timeout: 60,
        }
    }
}

/// Which of the server's tools may be used. `deny` takes precedence over `allow`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolChoice {
    /// The allowed tools; `None` allows all that are accepted.
    pub allow: Option<Vec<String>>,
    pub deny: Vec<String>,
}

impl ToolChoice {
    pub(crate) fn allows(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == tool);
        self.allow.as_ref().is_none_or(|allow| named(allow)) && !named(&self.deny)
    }
}

/// Folders of this machine that a command may use, beside the system's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Folders {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

/// Parses the servers that a program may reach. Without a port, that of https is used.
pub fn parse_hosts(names: &[String]) -> Result<Vec<HostPort>, String> {
    let host = |text: &String| {
        let has_port = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let whole = if has_port { text.clone() } else { format!("{text}:443") };
        whole.parse::<HostPort>().map_err(|error| format!("{text}: {error}"))
    };
    names.iter().map(host).collect()
}

/// An invalid value in `mcp`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mcp.servers.{server}{field}: {why}")]
pub struct BadMcpSettings {
    server: String,
    field: &'static str,
    why: String,
}

impl McpSettings {
    /// Checks all servers before any of them is used.
    pub fn check(&self) -> Result<(), BadMcpSettings> {
        for (name, server) in &self.servers {
            server.check(name)?;
        }
        Ok(())
    }
}

impl ServerSettings {
    pub fn check(&self, name: &str) -> Result<(), BadMcpSettings> {
        let bad = |field, why: String| BadMcpSettings { server: name.to_owned(), field, why };
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(fits) {
            let why = format!("a name is 1 to {LONGEST_NAME} of a-z, 0-9, `-` and `_`");
            return Err(bad("", why));
        }
        match (&self.command, &self.url) {
            (Some(command), None) if command.trim().is_empty() => {
                return Err(bad(".command", "it is empty".to_owned()));
            }
            (Some(_), None) => {}
            (None, Some(url)) => {
                let address: Result<Address, _> = url.parse();
                address.map_err(|error| bad(".url", error.to_string()))?;
                let document = self.oauth.client_metadata_url.as_deref();
                if document.is_some_and(|url| !url.starts_with("https://")) {
                    let why = "it must begin with https://".to_owned();
                    return Err(bad(".oauth.clientMetadataUrl", why));
                }
                if !self.network.is_empty() || self.folders != Folders::default() {
                    let why = "only a command is given folders and network".to_owned();
                    return Err(bad(".url", why));
                }
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(bad("", "either `command` or `url` is needed".to_owned()));
            }
        }
        self.hosts().map_err(|why| bad(".network", why))?;
        let folders = self.folders.read.iter().chain(&self.folders.write);
        if let Some(folder) = folders.into_iter().find(|folder| !folder.is_absolute()) {
            let why = format!("{} is not an absolute path", folder.display());
            return Err(bad(".folders", why));
        }
        if !(1..=600).contains(&self.timeout) {
            return Err(bad(".timeout", "1 to 600 seconds".to_owned()));
        }
        Ok(())
    }

    /// The servers that the command may reach; the port is that of https unless another is given.
    pub(crate) fn hosts(&self) -> Result<Vec<HostPort>, String> {
        parse_hosts(&self.network)
    }

    /// Whether the server could pass data on to the network.
    pub(crate) fn has_network(&self) -> bool {
        self.url.is_some() || !self.network.is_empty()
    }
}

/// Reads servers in other clients' formats: `mcpServers` or `servers` by name, or a single server.
/// Fields without a counterpart here are left out; each server is checked.
pub fn from_others(pasted: &Value) -> Result<BTreeMap<String, ServerSettings>, Fault> {
    let wrong = |message: String| {
        Fault::new(ErrorCode::InvalidRequest, message).with_hint(
            "For example: {\"mcpServers\": {\"files\": {\"command\": \"…\", \"args\": []}}}.",
        )
    };
    let by_name = ["mcpServers", "servers", "mcp_servers"].iter().find_map(|key| pasted.get(key));
    let by_name = by_name.or_else(|| pasted.get("mcp")?.get("servers")).unwrap_or(pasted);
    let Some(by_name) = by_name.as_object().filter(|servers| !servers.is_empty()) else {
        return Err(wrong("The file names no MCP server.".to_owned()));
    };
    let mut servers = BTreeMap::new();
    for (name, written) in by_name {
        let Some(written) = written.as_object() else {
            return Err(wrong(format!("{name} is not the description of a server.")));
        };
        let name = name.to_lowercase().replace([' ', '.', '/'], "-");
        let settings = of_other(written).map_err(|why| wrong(format!("{name}: {why}")))?;
        settings.check(&name).map_err(|error| wrong(error.to_string()))?;
        servers.insert(name, settings);
    }
    Ok(servers)
}

fn of_other(written: &Map<String, Value>) -> Result<ServerSettings, String> {
    let known = [
        "command", "args", "env", "headers", "oauth", "tools", "effects", "agents", "network",
        "folders", "timeout",
    ];
    let mut fields: Map<String, Value> = Map::new();
    for key in known {
        if let Some(value) = written.get(key).filter(|value| !value.is_null()) {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    for key in ["url", "serverUrl", "httpUrl"] {
        if let Some(url) = written.get(key).filter(|value| value.is_string()) {
            fields.insert("url".to_owned(), url.clone());
        }
    }
    // Some clients write the command and its arguments as one list.
    if let Some(Value::Array(words)) = fields.get("command").cloned() {
        fields.insert("command".to_owned(), words.first().cloned().unwrap_or(Value::Null));
        fields.insert("args".to_owned(), words.into_iter().skip(1).collect());
    }
    if written.get("disabled") == Some(&json!(true)) {
        fields.insert("enabled".to_owned(), json!(false));
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}
