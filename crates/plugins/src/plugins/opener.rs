//! Opens a plugin that the config enables: whether it may be used, and which of its parts run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_mcp::program::ProgramLog;
use onyx_storage::Acceptance;
use onyx_tools::OpenSecret;
use serde_json::{Map, Value};

use super::enabled::{Accepted, EnabledPlugin};
use super::folder::PluginFolder;
use crate::connector::PluginConnector;
use crate::host::{Host, HostSetup, WaitTimes};
use crate::package::{AcceptedFacts, Package, PackageFolders};
use crate::process::Launcher;

pub(super) struct PluginOpener {
    pub(super) folder: Arc<PluginFolder>,
    pub(super) launcher: Launcher,
    pub(super) secrets: OpenSecret,
    pub(super) wait_times: WaitTimes,
    pub(super) logs: ProgramLogs,
}

/// The error streams of programs. They are kept after the programs that wrote them have ended.
#[derive(Default)]
pub(super) struct ProgramLogs(Mutex<BTreeMap<String, ProgramLog>>);

impl ProgramLogs {
    pub(super) fn of(&self, plugin: &str) -> ProgramLog {
        let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logs.entry(plugin.to_owned()).or_default().clone()
    }
}

impl PluginOpener {
    /// Opens a plugin in its current state. Its program continues to run if the plugin has not
    /// changed.
    pub(super) async fn open(
        &self,
        name: &str,
        package: Option<&Result<Arc<Package>, String>>,
        row: Option<&Acceptance>,
        config: Map<String, Value>,
        before: Option<&Arc<EnabledPlugin>>,
    ) -> Arc<EnabledPlugin> {
        let facts = row.and_then(|row| AcceptedFacts::of(&row.content));
        let without = |why: String| Arc::new(EnabledPlugin::without(name, facts.clone(), why));
        let package = match package {
            None => return without("there is no such plugin in the folder of plugins".to_owned()),
            Some(Err(why)) => return without(why.clone()),
            Some(Ok(package)) => package,
        };
        match row {
            None => return without("it was not accepted".to_owned()),
            Some(row) if row.hash != package.hash => {
                return without("it has changed since it was accepted".to_owned());
            }
            Some(_) => {}
        }
        if let Some(flaw) = package.config_flaw(&config) {
            return without(flaw);
        }
        let is_same = |plugin: &&Arc<EnabledPlugin>| {
            let accepted = plugin.accepted.as_ref();
            accepted
                .is_some_and(|known| known.package.hash == package.hash && known.config == config)
        };
        if let Some(same) = before.filter(is_same) {
            return Arc::clone(same);
        }
        match self.folder.lay_out(package).await {
            Ok(folders) => Arc::new(self.opened(package, folders, config, facts)),
            Err(why) => without(why),
        }
    }

    fn opened(
        &self,
        package: &Arc<Package>,
        folders: PackageFolders,
        config: Map<String, Value>,
        facts: Option<AcceptedFacts>,
    ) -> EnabledPlugin {
        let host = package.has_program().then(|| {
            Arc::new(Host::new(HostSetup {
                package: Arc::clone(package),
                folders: folders.clone(),
                config: config.clone(),
                launcher: self.launcher.clone(),
                secrets: Arc::clone(&self.secrets),
                wait_times: self.wait_times,
                log: self.logs.of(&package.name),
            }))
        });
        let connector = |host: &Arc<Host>| {
            let all = package.onyx.connectors.iter().cloned();
            let clock = &self.launcher.clock;
            all.map(|part| Arc::new(PluginConnector::new(host, part, Arc::clone(clock)))).collect()
        };
        let connectors = host.as_ref().map(connector).unwrap_or_default();
        let accepted = Accepted { package: Arc::clone(package), folders, config, host };
        let name = package.name.clone();
        EnabledPlugin { name, facts, problem: None, accepted: Some(accepted), connectors }
    }
}
