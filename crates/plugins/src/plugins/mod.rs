//! Every plugin of this home: the packages in its folder, which of them the owner has accepted, and
//! which are enabled.

mod acceptances;
mod edit;
mod enabled;
mod folder;
mod opener;
mod replacement;
mod view;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use onyx_connectors::{Account, Connector};
use onyx_mcp::McpSettings;
use onyx_sandbox::Sandbox;
use onyx_storage::Acceptances;
use onyx_tools::{OpenSecret, Skills, Web};
use onyx_types::{Cancel, Clock, Fault, PersonId};
use tokio::sync::Notify;

use crate::PluginsSettings;
use crate::hooks::Guard;
use crate::host::WaitTimes;
use crate::process::Launcher;

use acceptances::{PluginAcceptances, row_of};
use enabled::{EnabledPlugin, EnabledPlugins};
use folder::PluginFolder;
use opener::{PluginOpener, ProgramLogs};
pub use view::{PluginState, PluginView};

/// The settings and services that are needed to run plugins.
pub struct PluginsSetup {
    /// The folder of plugins, in which each folder is a plugin.
    pub folder: PathBuf,
    /// The folder from which accepted packages are run.
    pub cache: PathBuf,
    /// The place for folders that exist as long as a program runs.
    pub scratch: PathBuf,
    pub sandbox: Sandbox,
    pub web: Web,
    pub secrets: OpenSecret,
    /// The store for the skills of packages.
    pub skills: Skills,
    pub acceptances: Arc<dyn Acceptances>,
    pub clock: Arc<dyn Clock>,
    /// The owner, who accepts plugins because all people here use them.
    pub owner: PersonId,
    pub wait_times: WaitTimes,
}

/// The plugins of this home. Cheap to clone.
#[derive(Clone)]
pub struct Plugins {
    parts: Arc<Parts>,
}

struct Parts {
    folder: Arc<PluginFolder>,
    acceptances: PluginAcceptances,
    skills: Skills,
    opener: PluginOpener,
    settings: RwLock<PluginsSettings>,
    enabled: EnabledPlugins,
    package_servers: Mutex<PackageServers>,
    /// Locked while the enabled plugins are updated, so that changes happen one after the other.
    one_at_a_time: tokio::sync::Mutex<()>,
    changed: Notify,
    is_live: AtomicBool,
}

/// The MCP servers of packages, which are added to the config's own.
#[derive(Default)]
struct PackageServers {
    /// The servers by name, with the plugin of each.
    servers: BTreeMap<String, String>,
    /// The problems of each plugin's servers, such as names that are taken.
    clashes: BTreeMap<String, Vec<String>>,
}

impl Plugins {
    pub fn new(setup: PluginsSetup) -> Self {
        let PluginsSetup {
            folder,
            cache,
            scratch,
            sandbox,
            web,
            secrets,
            skills,
            acceptances,
            clock,
            owner,
            wait_times,
        } = setup;
        let folder = Arc::new(PluginFolder::new(folder, cache));
        let opener = PluginOpener {
            folder: Arc::clone(&folder),
            launcher: Launcher { sandbox, scratch, web, clock: Arc::clone(&clock) },
            secrets,
            wait_times,
            logs: ProgramLogs::default(),
        };
        let parts = Parts {
            folder,
            acceptances: PluginAcceptances { acceptances, owner, clock },
            skills,
            opener,
            settings: RwLock::default(),
            enabled: EnabledPlugins::default(),
            package_servers: Mutex::default(),
            one_at_a_time: tokio::sync::Mutex::default(),
            changed: Notify::new(),
            is_live: AtomicBool::new(false),
        };
        Self { parts: Arc::new(parts) }
    }

    /// Applies the config and the current content of the folder. Unchanged plugins continue to run.
    pub async fn follow(&self, settings: &PluginsSettings) -> Result<(), Fault> {
        *self.parts.settings.write().unwrap_or_else(PoisonError::into_inner) = settings.clone();
        self.look_again().await
    }

    /// Starts the programs of all enabled plugins, and of those enabled later. Before this call, a
    /// program is started only when it is needed.
    pub fn begin(&self) {
        self.parts.is_live.store(true, Ordering::Release);
        for plugin in self.parts.enabled.all() {
            plugin.wake();
        }
    }

    /// Ends all programs.
    pub async fn close(&self) {
        let _one_at_a_time = self.parts.one_at_a_time.lock().await;
        for plugin in self.parts.enabled.all() {
            plugin.stop().await;
        }
    }

    /// Watches for packages that change, until `stop` is cancelled.
    pub async fn tend(&self, stop: &Cancel) {
        let PluginOpener { launcher, wait_times, .. } = &self.parts.opener;
        // The first check always reads all files, because they may have changed since they were
        // read.
        let mut seen = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = launcher.clock.sleep(wait_times.look) => {}
            }
            let now = Some(self.parts.folder.fingerprints().await);
            if now == seen {
                continue;
            }
            seen = now;
            match self.look_again().await {
                Ok(()) => self.parts.changed.notify_one(),
                Err(fault) => tracing::warn!(%fault, "plugins could not be read"),
            }
        }
    }

    /// Returns when the plugins' servers or connectors may have changed and must be applied again.
    pub async fn changed(&self) {
        self.parts.changed.notified().await;
    }

    /// The config's MCP servers together with those of plugins. The config's own take precedence.
    pub fn with_servers(&self, config: &McpSettings) -> McpSettings {
        let mut all = config.clone();
        let mut package_servers = PackageServers::default();
        for plugin in self.parts.enabled.all() {
            for (name, settings) in plugin.servers() {
                let flaw = match settings.check(&name) {
                    Ok(()) if all.servers.contains_key(&name) => {
                        format!("there is another MCP server named {name}")
                    }
                    Ok(()) => {
                        package_servers.servers.insert(name.clone(), plugin.name.clone());
                        all.servers.insert(name, settings);
                        continue;
                    }
                    Err(error) => error.to_string(),
                };
                package_servers.clashes.entry(plugin.name.clone()).or_default().push(flaw);
            }
        }
        *self.parts.package_servers() = package_servers;
        all
    }

    /// The plugin that an MCP server came with.
    pub fn plugin_of_server(&self, server: &str) -> Option<String> {
        self.parts.package_servers().servers.get(server).cloned()
    }

    /// The accounts on networks that plugins provide.
    pub fn accounts(&self) -> Vec<Account> {
        let of = |plugin: Arc<EnabledPlugin>| {
            let account = plugin.name.replace('.', "-");
            let one = |connector: &Arc<crate::connector::PluginConnector>| {
                let network = connector.network().to_owned();
                let connector = Arc::clone(connector) as Arc<dyn Connector>;
                Account::provided(network, account.clone(), connector)
            };
            plugin.connectors.iter().map(one).collect::<Vec<_>>()
        };
        self.parts.enabled.all().into_iter().flat_map(of).collect()
    }

    pub(crate) fn guards(&self) -> Arc<Vec<Guard>> {
        self.parts.enabled.guards()
    }

    /// Updates what runs: only plugins that are accepted, enabled and unchanged.
    async fn look_again(&self) -> Result<(), Fault> {
        let parts = &self.parts;
        let _one_at_a_time = parts.one_at_a_time.lock().await;
        let (found, accepted) = (parts.folder.packages().await?, parts.acceptances.list().await?);
        let settings = parts.settings();
        let mut enabled = BTreeMap::new();
        for name in &settings.enabled {
            let (package, row) = (found.get(name), row_of(&accepted, name));
            let before = parts.enabled.get(name);
            let config = settings.of(name);
            let plugin = parts.opener.open(name, package, row, config, before.as_ref()).await;
            enabled.insert(name.clone(), plugin);
        }
        for (name, old) in parts.enabled.replace(enabled) {
            let stays = parts.enabled.get(&name).is_some_and(|new| new.has_host_of(&old));
            if !stays {
                old.stop().await;
            }
        }
        if parts.is_live.load(Ordering::Acquire) {
            self.begin();
        }
        Ok(())
    }
}

impl Parts {
    fn settings(&self) -> PluginsSettings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn package_servers(&self) -> MutexGuard<'_, PackageServers> {
        self.package_servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
