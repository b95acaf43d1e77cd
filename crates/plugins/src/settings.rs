//! The section `plugins` of the config: which plugins are enabled, and the settings of each.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::package::is_plugin_name;

/// The section `plugins` of the config.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PluginsSettings {
    /// The names of the enabled plugins.
    pub enabled: Vec<String>,
    /// The settings of each plugin, by name. They are checked against its `config_schema`.
    #[serde(flatten)]
    pub settings: BTreeMap<String, Value>,
}

/// An invalid value in `plugins`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugins.{at}: {why}")]
pub struct BadPluginSettings {
    at: String,
    why: &'static str,
}

impl PluginsSettings {
    /// Checks the form of the settings. A plugin that does not exist is reported in the list of
    /// plugins: a removed folder must not keep a server from starting.
    pub fn check(&self) -> Result<(), BadPluginSettings> {
        let bad = |at: &str, why| BadPluginSettings { at: at.to_owned(), why };
        if self.enabled.iter().any(|name| !is_plugin_name(name)) {
            return Err(bad("enabled", "it must be a list of plugins' names"));
        }
        for (name, settings) in &self.settings {
            if !is_plugin_name(name) {
                return Err(bad(name, "this name is not allowed for a plugin"));
            }
            if !settings.is_object() {
                return Err(bad(name, "it must be an object: { … }"));
            }
        }
        Ok(())
    }

    pub(crate) fn is_enabled(&self, name: &str) -> bool {
        self.enabled.iter().any(|enabled| enabled == name)
    }

    pub(crate) fn of(&self, name: &str) -> Map<String, Value> {
        self.settings.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
    }
}
