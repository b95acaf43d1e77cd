//! An enabled plugin with its running parts.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use onyx_mcp::ServerSettings;
use serde_json::{Map, Value};

use crate::connector::PluginConnector;
use crate::hooks::Guard;
use crate::host::{Host, PluginStatus};
use crate::package::{AcceptedFacts, Package, PackageFolders};

/// The enabled plugins.
#[derive(Default)]
pub(super) struct EnabledPlugins {
    by_name: RwLock<BTreeMap<String, Arc<EnabledPlugin>>>,
    /// The hooks of the plugins, with the programs that answer for them.
    guards: RwLock<Arc<Vec<Guard>>>,
}

impl EnabledPlugins {
    pub(super) fn all(&self) -> Vec<Arc<EnabledPlugin>> {
        let by_name = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        by_name.values().cloned().collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<EnabledPlugin>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(super) fn guards(&self) -> Arc<Vec<Guard>> {
        Arc::clone(&self.guards.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the enabled plugins. Returns the previous ones.
    pub(super) fn replace(
        &self,
        by_name: BTreeMap<String, Arc<EnabledPlugin>>,
    ) -> BTreeMap<String, Arc<EnabledPlugin>> {
        let gone = {
            let mut current = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, by_name)
        };
        let guards = self.all().into_iter().filter_map(|plugin| plugin.guard()).collect();
        *self.guards.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(guards);
        gone
    }
}

/// One plugin that the config enables.
pub(super) struct EnabledPlugin {
    pub(super) name: String,
    /// The facts of the package that the owner accepted last, even if the files have changed since.
    pub(super) facts: Option<AcceptedFacts>,
    /// The reason why nothing of the plugin is used now; `None` if the plugin is used.
    pub(super) problem: Option<String>,
    pub(super) accepted: Option<Accepted>,
    pub(super) connectors: Vec<Arc<PluginConnector>>,
}

/// A package that is exactly the accepted one.
pub(super) struct Accepted {
    pub(super) package: Arc<Package>,
    pub(super) folders: PackageFolders,
    pub(super) config: Map<String, Value>,
    /// The plugin's program; `None` if it has none.
    pub(super) host: Option<Arc<Host>>,
}

impl EnabledPlugin {
    pub(super) fn without(name: &str, facts: Option<AcceptedFacts>, problem: String) -> Self {
        let name = name.to_owned();
        Self { name, facts, problem: Some(problem), accepted: None, connectors: Vec::new() }
    }

    fn host(&self) -> Option<&Arc<Host>> {
        self.accepted.as_ref()?.host.as_ref()
    }

    pub(super) fn status(&self) -> PluginStatus {
        self.host().map(|host| host.status()).unwrap_or_default()
    }

    pub(super) fn wake(&self) {
        if let Some(host) = self.host() {
            host.wake();
        }
    }

    pub(super) fn start_anew(&self) {
        if let Some(host) = self.host() {
            host.start_anew();
        }
    }

    pub(super) async fn stop(&self) {
        if let Some(host) = self.host() {
            host.stop().await;
        }
    }

    pub(super) fn has_host_of(&self, other: &Self) -> bool {
        match (self.host(), other.host()) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The plugin's hooks with the program that answers for them, if it has hooks.
    fn guard(&self) -> Option<Guard> {
        let facts = self.facts.clone().filter(|facts| !facts.hooks.is_empty())?;
        let host = match (self.host(), &self.problem) {
            (Some(host), _) => Ok(Arc::clone(host)),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => Err("it has no program".to_owned()),
        };
        Some(Guard { plugin: self.name.clone(), facts, host })
    }

    /// The MCP servers of the package, by the names that they have here.
    pub(super) fn servers(&self) -> Vec<(String, ServerSettings)> {
        let Some(Accepted { package, folders, .. }) = &self.accepted else { return Vec::new() };
        let grants = &package.onyx.grants;
        let named = |name: &str| format!("{}-{name}", self.name).replace('.', "-");
        let all = package.servers.iter();
        all.map(|server| (named(&server.name), server.settings(grants, folders))).collect()
    }
}
