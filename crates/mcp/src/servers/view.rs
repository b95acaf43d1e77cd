//! Servers and their tools as the owner sees them.

use onyx_storage::Acceptance;
use onyx_tools::unified_diff;
use onyx_types::{Hash, ToolEffect};
use serde_json::Value;

use super::{Server, Shared};
use crate::ServerSettings;
use crate::pins::ToolPin;

/// The state of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerStatus {
    /// Idle; the next call starts it.
    #[default]
    Idle,
    Starting,
    Running,
    /// The reason of the failure. The server is tried again, later with each failure.
    Failing(String),
}

#[derive(Clone, Debug)]
pub struct ServerView {
    pub name: String,
    pub settings: ServerSettings,
    pub status: ServerStatus,
    /// The negotiated version of the protocol; empty before the negotiation.
    pub version: String,
    pub signed_in: bool,
    pub tools: Vec<OfferedTool>,
    /// The last lines of the server's error stream.
    pub log: Vec<String>,
}

/// A tool of a server, whether or not it can be used.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    pub name: String,
    pub description: String,
    pub schema: Value,
    /// The server's own statement about the tool's effect. It is only shown and gives no right.
    pub hints: Value,
    pub effect: ToolEffect,
    pub state: OfferedToolState,
    /// The hash of the tool's current description.
    pub hash: Option<Hash>,
    /// The changes of the description since it was accepted.
    pub diff: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferedToolState {
    /// Agents can use it.
    Ready,
    /// The tool was never accepted.
    New,
    /// The tool's description differs from the accepted one.
    Changed,
    /// The tool was accepted, but its server no longer offers it.
    Missing,
    /// The config does not allow the tool.
    Off,
    /// The reason why the tool cannot be used here.
    Unusable(String),
}

impl Shared {
    pub(super) fn view(&self, server: &Server, accepted: &[Acceptance]) -> ServerView {
        let host = &server.host;
        let prefix = format!("{}/", host.name());
        let of_tool =
            |tool: &str| accepted.iter().find(|row| row.name.strip_prefix(&prefix) == Some(tool));
        let seen = host.seen();
        let mut tools: Vec<OfferedTool> = Vec::new();
        for pin in seen.iter().flatten() {
            tools.push(tool_view(host.settings(), pin, of_tool(&pin.name)));
        }
        for row in accepted {
            let Some(name) = row.name.strip_prefix(&prefix) else { continue };
            if tools.iter().any(|tool| tool.name == name) {
                continue;
            }
            let Some(pin) = ToolPin::accepted(&row.content) else { continue };
            let mut view = tool_view(host.settings(), &pin, Some(row));
            if seen.is_some() {
                view.state = OfferedToolState::Missing;
            }
            tools.push(view);
        }
        tools.extend(host.unusable().into_iter().map(|(name, why)| unusable(&name, why)));
        let (status, version) = host.status();
        ServerView {
            name: host.name().to_owned(),
            settings: host.settings().clone(),
            status,
            version,
            signed_in: host.is_signed_in(),
            tools,
            log: host.log(),
        }
    }
}

fn tool_view(
    settings: &ServerSettings,
    pin: &ToolPin,
    accepted: Option<&Acceptance>,
) -> OfferedTool {
    let state = match accepted {
        _ if !settings.tools.allows(&pin.name) => OfferedToolState::Off,
        Some(row) if row.hash == pin.hash => OfferedToolState::Ready,
        Some(_) => OfferedToolState::Changed,
        None => OfferedToolState::New,
    };
    let before = accepted.map_or("", |row| row.content.as_str());
    let waits = matches!(state, OfferedToolState::New | OfferedToolState::Changed);
    OfferedTool {
        name: pin.name.clone(),
        description: pin.description.clone(),
        schema: pin.input_schema.clone(),
        hints: pin.hints.clone(),
        effect: settings.effects.get(&pin.name).copied().unwrap_or(ToolEffect::Reach),
        state,
        hash: Some(pin.hash),
        diff: waits.then(|| unified_diff(&pin.name, before, &pin.content)),
    }
}

fn unusable(name: &str, why: String) -> OfferedTool {
    OfferedTool {
        name: onyx_types::visible_line(name).to_string(),
        description: String::new(),
        schema: Value::Null,
        hints: Value::Null,
        effect: ToolEffect::Reach,
        state: OfferedToolState::Unusable(why),
        hash: None,
        diff: None,
    }
}
