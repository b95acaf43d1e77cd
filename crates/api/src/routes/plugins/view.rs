//! Plugins as they appear on the wire.

use onyx_plugins::{Grants, Hook, PluginState, PluginStatus, PluginView};
use onyx_types::{DiffLine, Hash, diff_lines};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize, JsonSchema)]
pub(crate) struct PluginWires {
    pub(super) plugins: Vec<PluginWire>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PluginWire {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(serialize_with = "onyx_types::serialize_visible")]
    #[schemars(with = "String")]
    description: String,
    state: PluginStateView,
    enabled: bool,
    status: PluginStatusView,
    /// Why it does not work fully.
    problems: Vec<String>,
    /// The access that it has once it is accepted, and no more.
    grants: GrantsView,
    hooks: Vec<HookView>,
    /// The networks that it adds.
    connectors: Vec<String>,
    /// The MCP servers that it adds; their tools wait for acceptance.
    mcp_servers: Vec<String>,
    /// The skills that it adds; they wait for acceptance.
    skills: Vec<String>,
    /// A JSON schema of its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_schema: Option<Value>,
    /// Its settings in the config, secrets shortened.
    config: Map<String, Value>,
    /// Send it back to accept the plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    hash: Option<Hash>,
    /// The changes that wait for acceptance, as a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The lines of `diff`, each with its kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diff_lines: Vec<DiffLine>,
    /// The last lines of its program's error stream.
    log: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PluginStateView {
    /// It has not been accepted; nothing of it is active.
    New,
    /// It differs from what was accepted; nothing of it runs.
    Changed,
    Accepted,
    /// It is enabled, but its folder is gone.
    Missing,
    Broken,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PluginStatusView {
    Idle,
    Starting,
    Running,
    /// It failed and is restarted, after a longer wait with each failure.
    Failing,
    /// It failed too often, or is not what it claims to be; it is not restarted automatically.
    Parked,
}

#[derive(Serialize, JsonSchema)]
struct GrantsView {
    /// Hosts that it may reach.
    network: Vec<String>,
    /// Folders that it may read.
    read: Vec<String>,
    /// Folders that it may change.
    write: Vec<String>,
    /// The names of the secrets that it gets.
    secrets: Vec<String>,
    events: Vec<String>,
    /// The people whose events it gets; `*` is all people.
    people: Vec<String>,
    /// It sees texts, arguments and results.
    content: bool,
}

#[derive(Serialize, JsonSchema)]
struct HookView {
    event: String,
    /// It can veto calls; without its answer the call does not happen.
    veto: bool,
    annotate: bool,
    /// The tools whose calls it hears of; empty: all tools.
    tools: Vec<String>,
    deadline_ms: u64,
}

impl PluginWire {
    pub(super) fn of(view: PluginView, config: Option<Map<String, Value>>) -> Self {
        let mut problems = view.problems;
        let state = match view.state {
            PluginState::New => PluginStateView::New,
            PluginState::Changed => PluginStateView::Changed,
            PluginState::Accepted => PluginStateView::Accepted,
            PluginState::Missing => PluginStateView::Missing,
            PluginState::Broken(why) => {
                problems.push(why);
                PluginStateView::Broken
            }
        };
        let status = match view.status {
            PluginStatus::Idle => PluginStatusView::Idle,
            PluginStatus::Starting => PluginStatusView::Starting,
            PluginStatus::Running => PluginStatusView::Running,
            PluginStatus::Failing(why) => {
                problems.push(why);
                PluginStatusView::Failing
            }
            PluginStatus::Parked(why) => {
                problems.push(why);
                PluginStatusView::Parked
            }
        };
        Self {
            name: view.name,
            version: view.version,
            description: view.description,
            state,
            enabled: view.enabled,
            status,
            problems,
            grants: GrantsView::of(view.grants),
            hooks: view.hooks.into_iter().map(HookView::of).collect(),
            connectors: view.connectors.into_iter().map(|connector| connector.name).collect(),
            mcp_servers: view.servers.into_iter().map(|server| server.name).collect(),
            skills: view.skills,
            config_schema: view.config_schema,
            config: config.unwrap_or_default(),
            hash: view.hash,
            diff_lines: view.diff.as_deref().map(diff_lines).unwrap_or_default(),
            diff: view.diff,
            log: view.log,
        }
    }

    /// The view of a plugin that was only a name in the config.
    pub(super) fn gone(name: String) -> Self {
        Self {
            name,
            version: None,
            description: String::new(),
            state: PluginStateView::Missing,
            enabled: false,
            status: PluginStatusView::Idle,
            problems: Vec::new(),
            grants: GrantsView::of(Grants::default()),
            hooks: Vec::new(),
            connectors: Vec::new(),
            mcp_servers: Vec::new(),
            skills: Vec::new(),
            config_schema: None,
            config: Map::new(),
            hash: None,
            diff: None,
            diff_lines: Vec::new(),
            log: Vec::new(),
        }
    }
}

impl GrantsView {
    fn of(grants: Grants) -> Self {
        let shown = |paths: Vec<std::path::PathBuf>| {
            paths.iter().map(|path| path.display().to_string()).collect()
        };
        Self {
            network: grants.network,
            read: shown(grants.folders.read),
            write: shown(grants.folders.write),
            secrets: grants.secrets,
            events: grants.events.iter().map(|event| event.as_str().to_owned()).collect(),
            people: grants.people,
            content: grants.content,
        }
    }
}

impl HookView {
    fn of(hook: Hook) -> Self {
        Self {
            event: hook.event.as_str().to_owned(),
            veto: hook.veto,
            annotate: hook.annotate,
            tools: hook.tools,
            deadline_ms: hook.deadline_ms,
        }
    }
}
