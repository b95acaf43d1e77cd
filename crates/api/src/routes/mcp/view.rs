//! MCP servers as the wire shows them.

use onyx_mcp::{OfferedTool, OfferedToolState, ServerStatus, ServerView};
use onyx_types::{AgentId, Hash, ToolEffect};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize, JsonSchema)]
pub(crate) struct McpServerViews {
    pub(super) servers: Vec<McpServerView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct McpServerView {
    name: String,
    /// The command line, or the address.
    place: String,
    enabled: bool,
    status: McpStatusView,
    /// Why it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The version of the protocol that was agreed on; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    /// Somebody has signed in there.
    signed_in: bool,
    /// Servers that its command may reach.
    network: Vec<String>,
    /// The only agents that have its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<AgentId>>,
    tools: Vec<McpToolView>,
    /// The last lines of its error stream.
    log: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpStatusView {
    /// Nobody needs it now; the next call starts it.
    Idle,
    Starting,
    Running,
    Failing,
}

#[derive(Serialize, JsonSchema)]
struct McpToolView {
    name: String,
    #[serde(serialize_with = "onyx_types::serialize_visible")]
    #[schemars(with = "String")]
    description: String,
    schema: Value,
    /// What its server says of its effect. Only shown: it is no right.
    #[serde(skip_serializing_if = "Value::is_null")]
    hints: Value,
    /// What the owner says that it does.
    effect: ToolEffect,
    state: McpToolStateView,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Say it when you accept the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    hash: Option<Hash>,
    /// What waits to be accepted, as a difference to what was.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpToolStateView {
    Ready,
    /// Nobody has accepted it; no agent has it.
    New,
    /// It describes itself otherwise than what was accepted; no agent has it.
    Changed,
    /// It was accepted, and its server does not have it any more.
    Missing,
    /// Switched off.
    Off,
    Unusable,
}

impl McpServerView {
    pub(super) fn of(view: ServerView) -> Self {
        let ServerView { name, settings, status, version, signed_in, tools, log } = view;
        let (status, problem) = match status {
            ServerStatus::Idle => (McpStatusView::Idle, None),
            ServerStatus::Starting => (McpStatusView::Starting, None),
            ServerStatus::Running => (McpStatusView::Running, None),
            ServerStatus::Failing(why) => (McpStatusView::Failing, Some(why)),
        };
        let command = settings.command.iter().chain(&settings.args).cloned();
        let command = command.collect::<Vec<_>>().join(" ");
        Self {
            name,
            place: settings.url.unwrap_or(command),
            enabled: settings.enabled,
            status,
            problem,
            protocol: Some(version).filter(|version| !version.is_empty()),
            signed_in,
            network: settings.network,
            agents: settings.agents,
            tools: tools.into_iter().map(McpToolView::of).collect(),
            log,
        }
    }
}

impl McpToolView {
    fn of(tool: OfferedTool) -> Self {
        let (state, problem) = match tool.state {
            OfferedToolState::Ready => (McpToolStateView::Ready, None),
            OfferedToolState::New => (McpToolStateView::New, None),
            OfferedToolState::Changed => (McpToolStateView::Changed, None),
            OfferedToolState::Missing => (McpToolStateView::Missing, None),
            OfferedToolState::Off => (McpToolStateView::Off, None),
            OfferedToolState::Unusable(why) => (McpToolStateView::Unusable, Some(why)),
        };
        Self {
            name: tool.name,
            description: tool.description,
            schema: tool.schema,
            hints: tool.hints,
            effect: tool.effect,
            state,
            problem,
            hash: tool.hash,
            diff: tool.diff,
        }
    }
}
