//! Our manifest in a package: its program, what the program offers and which grants it asks for.

use std::path::PathBuf;

use onyx_connectors::NETWORKS;
use onyx_egress::HostPort;
use onyx_mcp::parse_hosts;
use onyx_types::PersonId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const MOST_HOOKS: usize = 20;
const MOST_CONNECTORS: usize = 10;
/// How long a hook may take by default, in milliseconds.
const USUAL_DEADLINE: u64 = 2_000;
const SHORTEST_DEADLINE: u64 = 50;
const LONGEST_DEADLINE: u64 = 30_000;

/// The content of `onyx.json`, or the same facts from a `manifest.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OnyxManifest {
    /// The program and its arguments. The program is a name, or a path in the package that begins
    /// with `./`.
    pub(crate) command: Vec<String>,
    pub(crate) connectors: Vec<ConnectorPart>,
    pub(crate) hooks: Vec<Hook>,
    /// A JSON schema of the plugin's settings in the config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config_schema: Option<Value>,
    pub(crate) grants: Grants,
}

/// A network that a plugin provides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectorPart {
    /// The network's name.
    pub name: String,
    /// The longest message that the network accepts, in characters.
    #[serde(default = "usual_length")]
    pub length: usize,
}

const fn usual_length() -> usize {
    4_000
}

/// An event that a plugin subscribes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    pub event: HookEvent,
    /// Whether the hook may veto. A call that such a hook does not answer in time does not happen.
    #[serde(default)]
    pub veto: bool,
    /// Whether the hook may add a note. The call waits for it.
    #[serde(default)]
    pub annotate: bool,
    /// The tools whose calls the hook receives, by name or as `prefix*`; if empty, all tools.
    #[serde(default)]
    pub tools: Vec<String>,
    #[serde(default = "usual_deadline")]
    pub deadline_ms: u64,
}

const fn usual_deadline() -> u64 {
    USUAL_DEADLINE
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    OnStart,
    OnMessage,
    BeforeRun,
    BeforeTool,
    AfterTool,
    AfterRun,
    OnStop,
}

impl HookEvent {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnStart => "on_start",
            Self::OnMessage => "on_message",
            Self::BeforeRun => "before_run",
            Self::BeforeTool => "before_tool",
            Self::AfterTool => "after_tool",
            Self::AfterRun => "after_run",
            Self::OnStop => "on_stop",
        }
    }

    /// Whether the event can still be stopped.
    const fn can_be_stopped(self) -> bool {
        matches!(self, Self::BeforeRun | Self::BeforeTool)
    }

    /// Whether the event is about a person.
    const fn is_of_a_person(self) -> bool {
        !matches!(self, Self::OnStart | Self::OnStop)
    }
}

/// The grants that a plugin asks for. Once the owner has accepted it, the plugin has exactly these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    /// The servers that the plugin may reach, as `host` or `host:port`.
    pub network: Vec<String>,
    pub folders: GrantedFolders,
    /// The names of the secrets that the program gets when it starts.
    pub secrets: Vec<String>,
    /// The events that its hooks receive.
    pub events: Vec<HookEvent>,
    /// The people whose events the plugin gets: their ids, or `*` for all.
    pub people: Vec<String>,
    /// Whether events contain words, arguments and results, or only names.
    pub content: bool,
}

/// The folders of this machine that the plugin may use beside the package's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrantedFolders {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

impl OnyxManifest {
    /// Checks that the manifest is valid.
    pub(super) fn check(&self, contains: &dyn Fn(&str) -> bool) -> Result<(), String> {
        let offers = !self.connectors.is_empty() || !self.hooks.is_empty();
        match self.command.first() {
            None if offers => return Err("command is missing".to_owned()),
            Some(program) => check_program(program, contains)?,
            None => {}
        }
        self.check_hooks()?;
        self.check_connectors()?;
        self.grants.check()?;
        if let Some(schema) = &self.config_schema {
            jsonschema::validator_for(schema).map_err(|error| format!("config_schema: {error}"))?;
        }
        Ok(())
    }

    fn check_hooks(&self) -> Result<(), String> {
        if self.hooks.len() > MOST_HOOKS {
            return Err(format!("more than {MOST_HOOKS} hooks"));
        }
        for hook in &self.hooks {
            let event = hook.event.as_str();
            if !self.grants.events.contains(&hook.event) {
                return Err(format!("grants.events does not name {event}, which a hook is for"));
            }
            if hook.event.is_of_a_person() && self.grants.people.is_empty() {
                let why = "grants.people is empty; [\"*\"] means everyone";
                return Err(format!("the hook {event}: {why}"));
            }
            if hook.veto && !hook.event.can_be_stopped() {
                return Err(format!("{event} cannot be stopped: only before_run and before_tool"));
            }
            let can_annotate = hook.event.can_be_stopped() || hook.event == HookEvent::AfterTool;
            if hook.annotate && !can_annotate {
                return Err(format!("notes on {event} are not read"));
            }
            if !(SHORTEST_DEADLINE..=LONGEST_DEADLINE).contains(&hook.deadline_ms) {
                let between = format!("{SHORTEST_DEADLINE} to {LONGEST_DEADLINE}");
                return Err(format!("the hook {event}: deadline_ms is {between}"));
            }
        }
        Ok(())
    }

    fn check_connectors(&self) -> Result<(), String> {
        if self.connectors.len() > MOST_CONNECTORS {
            return Err(format!("more than {MOST_CONNECTORS} connectors"));
        }
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        for (at, connector) in self.connectors.iter().enumerate() {
            let name = &connector.name;
            if name.is_empty() || name.len() > 32 || !name.bytes().all(fits) {
                return Err("a connector's name is 1 to 32 of a-z, 0-9 and `-`".to_owned());
            }
            if NETWORKS.contains(&name.as_str()) {
                return Err(format!("the connector {name} has the name of one of Onyx's own"));
            }
            if self.connectors[..at].iter().any(|other| other.name == *name) {
                return Err(format!("two connectors are named {name}"));
            }
            if !(100..=200_000).contains(&connector.length) {
                return Err(format!("the connector {name}: length is 100 to 200000"));
            }
        }
        Ok(())
    }
}

impl Hook {
    pub(crate) fn hears_of(&self, tool: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => tool.starts_with(prefix),
            None => tool == pattern,
        };
        self.tools.is_empty() || self.tools.iter().any(fits)
    }
}

impl Grants {
    fn check(&self) -> Result<(), String> {
        self.hosts().map_err(|why| format!("grants.network: {why}"))?;
        let folders = self.folders.read.iter().chain(&self.folders.write);
        if let Some(folder) = folders.into_iter().find(|folder| !folder.is_absolute()) {
            return Err(format!("grants.folders: {} is not an absolute path", folder.display()));
        }
        Ok(())
    }

    /// The servers that the plugin may reach; the port is that of https unless another is given.
    pub(crate) fn hosts(&self) -> Result<Vec<HostPort>, String> {
        parse_hosts(&self.network)
    }

    pub(crate) fn is_for(&self, person: &PersonId) -> bool {
        self.people.iter().any(|named| named == "*" || named == person.as_str())
    }
}

/// Checks that `program` is a single word, which names a program of the system or one of the
/// package.
pub(super) fn check_program(program: &str, contains: &dyn Fn(&str) -> bool) -> Result<(), String> {
    let is_bare = |name: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
    };
    match program.strip_prefix("./") {
        Some(path) if contains(path) => Ok(()),
        Some(path) => Err(format!("command: there is no file {path} in the package")),
        None if is_bare(program) => Ok(()),
        None => Err("command must be a program's name, or begin with ./".to_owned()),
    }
}
