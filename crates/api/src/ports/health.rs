//! What the health page says of MCP servers and plugins, with a hint where a person can do something.

use onyx_mcp::{OfferedTool, OfferedToolState, ServerStatus, ServerView};
use onyx_plugins::{PluginState, PluginStatus, PluginView};

use super::{Dependency, DependencyKind};

impl Dependency {
    /// The health of an MCP server.
    pub fn of_mcp_server(server: ServerView) -> Self {
        let name = DependencyKind::Mcp.named(&server.name);
        let needs_look = |tool: &&OfferedTool| {
            matches!(tool.state, OfferedToolState::New | OfferedToolState::Changed)
        };
        let unaccepted = server.tools.iter().filter(needs_look).count();
        match server.status {
            ServerStatus::Failing(why) => Self::degraded(name, why)
                .with_hint("Onyx tries again. The server's log has details."),
            ServerStatus::Idle | ServerStatus::Starting | ServerStatus::Running
                if unaccepted > 0 =>
            {
                Self::degraded(name, format!("{unaccepted} tools are not accepted"))
                    .with_hint("Review and accept them, so that agents can use them.")
            }
            ServerStatus::Idle => Self::ok(name).with_detail("Starts when it is needed"),
            ServerStatus::Starting => Self::ok(name).with_detail("Starting"),
            ServerStatus::Running => Self::ok(name).with_detail("Running"),
        }
    }

    /// The health of a plugin; `None` for one that is off and does not wait for acceptance.
    pub fn of_plugin(plugin: PluginView) -> Option<Self> {
        let name = DependencyKind::Plugin.named(&plugin.name);
        let hint = "Look at it with `onyx plugins show`, and at its log.";
        let look = |why: String| Some(Self::degraded(name.clone(), why).with_hint(hint));
        match (plugin.state, plugin.enabled) {
            (PluginState::Broken(why), _) => return look(why),
            (PluginState::Changed, true) => {
                return look("It has changed since it was accepted".to_owned());
            }
            (PluginState::Missing, true) => return look("Its folder is missing".to_owned()),
            (PluginState::New, true) => return look("It is not accepted yet".to_owned()),
            (_, false) => return None,
            (PluginState::Accepted, true) => {}
        }
        match plugin.status {
            PluginStatus::Failing(why) => look(why),
            PluginStatus::Parked(why) => look(format!("It is no longer started: {why}")),
            PluginStatus::Idle | PluginStatus::Starting | PluginStatus::Running => {
                match plugin.problems.into_iter().next() {
                    Some(problem) => look(problem),
                    None => Some(Self::ok(name)),
                }
            }
        }
    }
}
