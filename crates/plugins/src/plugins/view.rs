//! Plugins as the owner sees them.

use onyx_storage::Acceptance;
use onyx_tools::unified_diff;
use onyx_types::{ErrorCode, Fault, Hash};
use serde_json::Value;

use super::Plugins;
use super::acceptances::row_of;
use crate::host::PluginStatus;
use crate::package::{ConnectorPart, Grants, Hook, Package, ServerPart};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginState {
    /// The plugin was never accepted.
    New,
    /// The plugin differs from the accepted one.
    Changed,
    Accepted,
    /// The plugin is enabled and was accepted, but its folder is gone.
    Missing,
    /// The reason why the folder is not a valid plugin.
    Broken(String),
}

/// A plugin, whether or not it is enabled.
#[derive(Clone, Debug)]
pub struct PluginView {
    pub name: String,
    pub version: Option<String>,
    pub description: String,
    pub state: PluginState,
    pub enabled: bool,
    pub status: PluginStatus,
    /// The problems of the plugin.
    pub problems: Vec<String>,
    pub grants: Grants,
    pub hooks: Vec<Hook>,
    pub connectors: Vec<ConnectorPart>,
    pub servers: Vec<ServerPart>,
    pub skills: Vec<String>,
    pub config_schema: Option<Value>,
    /// The hash of all files of the plugin.
    pub hash: Option<Hash>,
    /// The changes since the plugin was accepted, if it waits for acceptance.
    pub diff: Option<String>,
    /// The last lines of the error stream of its program.
    pub log: Vec<String>,
}

impl Plugins {
    pub async fn list(&self) -> Result<Vec<PluginView>, Fault> {
        let found = self.parts.folder.packages().await?;
        let accepted = self.parts.acceptances.list().await?;
        let enabled = self.parts.settings().enabled;
        let absent = enabled.iter().filter(|name| !found.contains_key(*name));
        let absent = absent.map(|name| self.view_of_absent(name));
        let mut all: Vec<PluginView> = absent.collect();
        for (name, package) in &found {
            all.push(match package {
                Ok(package) => self.view(package, row_of(&accepted, name)),
                Err(why) => self.view_of_broken(name, why),
            });
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    pub async fn get(&self, name: &str) -> Result<PluginView, Fault> {
        let all = self.list().await?;
        all.into_iter().find(|plugin| plugin.name == name).ok_or_else(|| no_such(name))
    }
    fn view(&self, package: &Package, row: Option<&Acceptance>) -> PluginView {
        let state = match row {
            Some(row) if row.hash == package.hash => PluginState::Accepted,
            Some(_) => PluginState::Changed,
            None => PluginState::New,
        };
        let before = row.map_or("", |row| row.content.as_str());
        let waits = state != PluginState::Accepted;
        let empty = self.empty(&package.name, state);
        let mut problems = package.problems.clone();
        problems.extend(self.problems(&package.name));
        PluginView {
            version: package.version.clone(),
            description: package.description.clone(),
            problems,
            grants: package.onyx.grants.clone(),
            hooks: package.onyx.hooks.clone(),
            connectors: package.onyx.connectors.clone(),
            servers: package.servers.clone(),
            skills: package.skills.clone(),
            config_schema: package.onyx.config_schema.clone(),
            hash: Some(package.hash),
            diff: waits.then(|| unified_diff(&package.name, before, &package.content)),
            ..empty
        }
    }

    fn view_of_broken(&self, name: &str, why: &str) -> PluginView {
        self.empty(name, PluginState::Broken(why.to_owned()))
    }

    fn view_of_absent(&self, name: &str) -> PluginView {
        let view = self.empty(name, PluginState::Missing);
        PluginView { problems: self.problems(name), ..view }
    }

    /// The view of a plugin of which only the name is known.
    fn empty(&self, name: &str, state: PluginState) -> PluginView {
        let settings = self.parts.settings();
        PluginView {
            name: name.to_owned(),
            version: None,
            description: String::new(),
            state,
            enabled: settings.is_enabled(name),
            status: self.parts.enabled.get(name).map(|plugin| plugin.status()).unwrap_or_default(),
            problems: Vec::new(),
            grants: Grants::default(),
            hooks: Vec::new(),
            connectors: Vec::new(),
            servers: Vec::new(),
            skills: Vec::new(),
            config_schema: None,
            hash: None,
            diff: None,
            log: self.parts.opener.logs.of(name).lines(),
        }
    }

    /// The reasons why the plugin does not work although it is enabled.
    fn problems(&self, name: &str) -> Vec<String> {
        let own = self.parts.enabled.get(name).and_then(|plugin| plugin.problem.clone());
        let clashes = self.parts.package_servers().clashes.get(name).cloned().unwrap_or_default();
        own.into_iter().chain(clashes).collect()
    }
}

pub(super) fn no_such(name: &str) -> Fault {
    let message = format!("There is no plugin named {name}.");
    Fault::new(ErrorCode::NotFound, message).with_hint("`onyx plugins list` shows the plugins.")
}
