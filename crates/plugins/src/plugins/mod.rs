//! Every plugin of this home: what lies in its folder, what of it the owner has accepted, and what of
//! that is on.

mod edit;
mod slots;
mod view;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use onyx_connectors::{Account, Connector};
use onyx_mcp::McpSettings;
use onyx_mcp::program::ProgramLog;
use onyx_sandbox::Sandbox;
use onyx_storage::{Acceptance, AcceptanceKind, Acceptances};
use onyx_tools::{OpenSecret, Skills, Web};
use onyx_types::{Cancel, Clock, ErrorCode, Fault, Hash, PersonId};
use tokio::sync::Notify;

use crate::PluginsSettings;
use crate::hooks::Guard;
use crate::host::Tempo;
use crate::package::{AcceptedFacts, Package, fingerprint};
use crate::process::Launcher;

use slots::Slot;
pub use view::{PluginState, PluginView};

/// Before a plugin's name among what people accepted, where it stands beside the tools of other
/// programs; no MCP server can have such a name.
const ACCEPTED_AS: &str = "plugin:";

/// What plugins are run with.
pub struct PluginsSetup {
    /// Each folder in it is a plugin.
    pub folder: PathBuf,
    /// Where accepted packages are run from.
    pub cache: PathBuf,
    /// Where folders are made that last as long as a program.
    pub scratch: PathBuf,
    pub sandbox: Sandbox,
    pub web: Web,
    pub secrets: OpenSecret,
    /// Where the skills of packages go.
    pub skills: Skills,
    pub acceptances: Arc<dyn Acceptances>,
    pub clock: Arc<dyn Clock>,
    /// Who accepts plugins: they are for everybody here.
    pub owner: PersonId,
    pub tempo: Tempo,
}

/// The plugins of this home. Cheap to clone.
#[derive(Clone)]
pub struct Plugins {
    shared: Arc<Shared>,
}

struct Shared {
    setup: PluginsSetup,
    settings: RwLock<PluginsSettings>,
    /// Those that are on.
    slots: RwLock<BTreeMap<String, Arc<Slot>>>,
    guards: RwLock<Arc<Vec<Guard>>>,
    /// They outlive the programs that wrote them.
    logs: Mutex<BTreeMap<String, ProgramLog>>,
    brought: Mutex<Brought>,
    /// One change after the other.
    following: tokio::sync::Mutex<()>,
    changed: Notify,
    is_live: AtomicBool,
}

/// What became of the MCP servers of packages beside the config's own.
#[derive(Default)]
struct Brought {
    /// By name, with the plugin of each.
    servers: BTreeMap<String, String>,
    /// What is wrong with those of a plugin.
    clashes: BTreeMap<String, Vec<String>>,
}

/// What lies in the folder, by the name of each folder in it.
type PackagesByFolder = BTreeMap<String, Result<Arc<Package>, String>>;

impl Plugins {
    pub fn new(setup: PluginsSetup) -> Self {
        let shared = Shared {
            setup,
            settings: RwLock::default(),
            slots: RwLock::default(),
            guards: RwLock::default(),
            logs: Mutex::default(),
            brought: Mutex::default(),
            following: tokio::sync::Mutex::default(),
            changed: Notify::new(),
            is_live: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes up the config, and what lies in the folder now. Plugins that are as they were go on.
    pub async fn follow(&self, settings: &PluginsSettings) -> Result<(), Fault> {
        *self.shared.settings.write().unwrap_or_else(PoisonError::into_inner) = settings.clone();
        self.look_again().await
    }

    /// Starts the programs of all plugins that are on, from now on. Before, one is started when it
    /// is needed.
    pub fn begin(&self) {
        self.shared.is_live.store(true, Ordering::Release);
        for slot in self.shared.slots() {
            slot.wake();
        }
    }

    /// Ends all programs.
    pub async fn close(&self) {
        let _one_by_one = self.shared.following.lock().await;
        for slot in self.shared.slots() {
            slot.stop().await;
        }
    }

    /// Looks for packages that change, until it is told to stop.
    pub async fn tend(&self, stop: &Cancel) {
        let clock = &self.shared.setup.clock;
        // The first look is always taken: something may have changed since they were read.
        let mut seen = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = clock.sleep(self.shared.setup.tempo.look) => {}
            }
            let now = Some(self.fingerprints().await);
            if now == seen {
                continue;
            }
            seen = now;
            match self.look_again().await {
                Ok(()) => self.shared.changed.notify_one(),
                Err(fault) => tracing::warn!(%fault, "plugins could not be looked at"),
            }
        }
    }

    /// Returns when what plugins bring may be something else: servers and connectors are to be
    /// followed again.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// The config's MCP servers with those of plugins. The config's own come first.
    pub fn with_servers(&self, config: &McpSettings) -> McpSettings {
        let mut all = config.clone();
        let mut brought = Brought::default();
        for slot in self.shared.slots() {
            for (name, settings) in slot.servers() {
                let flaw = match settings.check(&name) {
                    Ok(()) if all.servers.contains_key(&name) => {
                        format!("there is another MCP server {name}")
                    }
                    Ok(()) => {
                        brought.servers.insert(name.clone(), slot.name.clone());
                        all.servers.insert(name, settings);
                        continue;
                    }
                    Err(error) => error.to_string(),
                };
                brought.clashes.entry(slot.name.clone()).or_default().push(flaw);
            }
        }
        *self.shared.brought() = brought;
        all
    }

    /// The plugin that an MCP server came with.
    pub fn plugin_of_server(&self, server: &str) -> Option<String> {
        self.shared.brought().servers.get(server).cloned()
    }

    /// The accounts on networks that plugins bring.
    pub fn accounts(&self) -> Vec<Account> {
        let of = |slot: Arc<Slot>| {
            let account = slot.name.replace('.', "-");
            let one = |connector: &Arc<crate::connector::PluginConnector>| {
                let network = connector.network().to_owned();
                let connector = Arc::clone(connector) as Arc<dyn Connector>;
                Account::provided(network, account.clone(), connector)
            };
            slot.connectors.iter().map(one).collect::<Vec<_>>()
        };
        self.shared.slots().into_iter().flat_map(of).collect()
    }

    pub(crate) fn guards(&self) -> Arc<Vec<Guard>> {
        Arc::clone(&self.shared.guards.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn fingerprints(&self) -> BTreeMap<String, Hash> {
        let root = self.shared.setup.folder.clone();
        let look = move || {
            let folders = folders(&root).into_iter();
            folders.map(|(name, path)| (name, fingerprint(&path))).collect()
        };
        // A folder that cannot be looked at now is looked at the next time.
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Brings what runs in step with what is accepted, on, and still what it was.
    async fn look_again(&self) -> Result<(), Fault> {
        let shared = &self.shared;
        let _one_by_one = shared.following.lock().await;
        let (found, accepted) = (shared.found().await?, shared.accepted().await?);
        let settings = shared.settings();
        let mut slots = BTreeMap::new();
        for name in &settings.enabled {
            let before = shared.slot(name);
            let row = accepted.iter().find(|row| row.name == accepted_as(name));
            let slot = shared.next_slot(name, found.get(name), row, before.as_ref()).await;
            slots.insert(name.clone(), slot);
        }
        let gone = {
            let mut current = shared.slots.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, slots)
        };
        shared.guard_anew();
        for (name, old) in gone {
            let stays = shared.slot(&name).is_some_and(|new| new.has_host_of(&old));
            if !stays {
                old.stop().await;
            }
        }
        if shared.is_live.load(Ordering::Acquire) {
            self.begin();
        }
        Ok(())
    }
}

impl Shared {
    fn settings(&self) -> PluginsSettings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn slots(&self) -> Vec<Arc<Slot>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.values().cloned().collect()
    }

    fn slot(&self, name: &str) -> Option<Arc<Slot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn log(&self, name: &str) -> ProgramLog {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.entry(name.to_owned()).or_default().clone()
    }

    fn launcher(&self) -> Launcher {
        Launcher {
            sandbox: self.setup.sandbox.clone(),
            scratch: self.setup.scratch.clone(),
            web: self.setup.web.clone(),
            clock: Arc::clone(&self.setup.clock),
        }
    }

    fn brought(&self) -> MutexGuard<'_, Brought> {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn guard_anew(&self) {
        let guards = self.slots().into_iter().filter_map(|slot| slot.guard()).collect();
        *self.guards.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(guards);
    }

    async fn accepted(&self) -> Result<Vec<Acceptance>, Fault> {
        let kind = AcceptanceKind::McpTool;
        let mut rows = self.setup.acceptances.accepted(&self.setup.owner, kind).await?;
        rows.retain(|row| row.name.starts_with(ACCEPTED_AS));
        Ok(rows)
    }

    async fn found(&self) -> Result<PackagesByFolder, Fault> {
        let root = self.setup.folder.clone();
        let read = move || {
            let all = folders(&root).into_iter();
            let package = |(name, path): (String, PathBuf)| {
                let package = Package::of_folder(&path).and_then(|package| {
                    if package.name == name {
                        return Ok(Arc::new(package));
                    }
                    Err(format!("its folder must be called {}", package.name))
                });
                (name, package)
            };
            all.map(package).collect()
        };
        let found = tokio::task::spawn_blocking(read).await;
        found.map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))
    }
}

fn accepted_as(name: &str) -> String {
    format!("{ACCEPTED_AS}{name}")
}

/// The folders that may be plugins. A home without any has no such folder.
fn folders(root: &std::path::Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        (is_folder && !name.starts_with('.')).then(|| (name, entry.path()))
    });
    named.collect()
}

/// What of an acceptance still says something; `None` where it cannot be read.
fn facts(row: Option<&Acceptance>) -> Option<AcceptedFacts> {
    row.and_then(|row| AcceptedFacts::of(&row.content))
}
