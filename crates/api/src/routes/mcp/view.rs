//! MCP servers as they appear on the wire.

use onyx_mcp::{OfferedTool, OfferedToolState, ServerStatus, ServerView};
use onyx_types::{AgentId, DiffLine, Hash, ToolEffect, diff_lines};
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
    /// The negotiated version of the protocol; absent before a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    /// Whether a sign-in at the server exists.
    signed_in: bool,
    /// Hosts that its command may reach.
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
    /// It is not in use; the next call starts it.
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
    /// The effect that the server claims. It is only shown and grants nothing.
    #[serde(skip_serializing_if = "Value::is_null")]
    hints: Value,
    /// The effect that the owner set.
    effect: ToolEffect,
    state: McpToolStateView,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Send it back to accept the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    hash: Option<Hash>,
    /// The changes that wait for acceptance, as a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The lines of `diff`, each with its kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diff_lines: Vec<DiffLine>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpToolStateView {
    Ready,
    /// It has not been accepted; agents cannot use it.
    New,
    /// Its description differs from the accepted one; agents cannot use it.
    Changed,
    /// It was accepted, but its server does not offer it any more.
    Missing,
    /// It is switched off.
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
            diff_lines: tool.diff.as_deref().map(diff_lines).unwrap_or_default(),
            diff: tool.diff,
        }
    }
}
