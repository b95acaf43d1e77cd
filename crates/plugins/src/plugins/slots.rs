//! A plugin that is on, and what runs of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_mcp::ServerSettings;
use onyx_storage::Acceptance;
use onyx_types::Hash;
use serde_json::{Map, Value};

use super::{Shared, facts};
use crate::connector::PluginConnector;
use crate::hooks::Guard;
use crate::host::{Host, HostSetup, PluginStatus};
use crate::package::{AcceptedFacts, Package, PackageFiles, PackageFolders};

/// One plugin that the config switches on.
pub(super) struct Slot {
    pub(super) name: String,
    /// What the owner agreed to last, whatever lies there now.
    facts: Option<AcceptedFacts>,
    /// Why nothing of it counts now.
    pub(super) problem: Option<String>,
    accepted: Option<Accepted>,
    pub(super) connectors: Vec<Arc<PluginConnector>>,
}

/// A package that is exactly what was accepted.
struct Accepted {
    package: Arc<Package>,
    ground: PackageFolders,
    config: Map<String, Value>,
    /// None where it has no program of its own.
    host: Option<Arc<Host>>,
}

impl Slot {
    fn without(name: &str, facts: Option<AcceptedFacts>, problem: String) -> Self {
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

    /// Who answers for its hooks, if it has any.
    pub(super) fn guard(&self) -> Option<Guard> {
        let facts = self.facts.clone().filter(|facts| !facts.hooks.is_empty())?;
        let host = match (self.host(), &self.problem) {
            (Some(host), _) => Ok(Arc::clone(host)),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => Err("it has no program".to_owned()),
        };
        Some(Guard { plugin: self.name.clone(), facts, host })
    }

    /// The MCP servers of its package, by the names that they have here.
    pub(super) fn servers(&self) -> Vec<(String, ServerSettings)> {
        let Some(Accepted { package, ground, .. }) = &self.accepted else { return Vec::new() };
        let grants = &package.part.grants;
        let named = |name: &str| format!("{}-{name}", self.name).replace('.', "-");
        let all = package.servers.iter();
        all.map(|server| (named(&server.name), server.settings(grants, ground))).collect()
    }
}

impl Shared {
    /// A plugin as it is now. Its program goes on where nothing of it is another.
    pub(super) async fn next_slot(
        &self,
        name: &str,
        found: Option<&Result<Arc<Package>, String>>,
        row: Option<&Acceptance>,
        before: Option<&Arc<Slot>>,
    ) -> Arc<Slot> {
        let facts = facts(row);
        let without = |why: String| Arc::new(Slot::without(name, facts.clone(), why));
        let package = match found {
            None => return without("there is no such plugin in the folder of plugins".to_owned()),
            Some(Err(why)) => return without(why.clone()),
            Some(Ok(package)) => package,
        };
        match row {
            None => return without("it was not accepted".to_owned()),
            Some(row) if row.hash != package.hash => {
                return without("it is not what was accepted any more".to_owned());
            }
            Some(_) => {}
        }
        let config = self.settings().of(name);
        if let Some(flaw) = package.config_flaw(&config) {
            return without(flaw);
        }
        let is_same = |slot: &&Arc<Slot>| {
            let accepted = slot.accepted.as_ref();
            accepted
                .is_some_and(|known| known.package.hash == package.hash && known.config == config)
        };
        if let Some(same) = before.filter(is_same) {
            return Arc::clone(same);
        }
        match self.laid_out(package).await {
            Ok(ground) => Arc::new(self.opened(package, ground, config, facts)),
            Err(why) => without(why),
        }
    }

    fn opened(
        &self,
        package: &Arc<Package>,
        ground: PackageFolders,
        config: Map<String, Value>,
        facts: Option<AcceptedFacts>,
    ) -> Slot {
        let host = package.has_program().then(|| {
            Arc::new(Host::new(HostSetup {
                package: Arc::clone(package),
                ground: ground.clone(),
                config: config.clone(),
                launcher: self.launcher(),
                secrets: Arc::clone(&self.setup.secrets),
                tempo: self.setup.tempo,
                log: self.log(&package.name),
            }))
        });
        let connector = |host: &Arc<Host>| {
            let all = package.part.connectors.iter().cloned();
            let clock = &self.setup.clock;
            all.map(|part| Arc::new(PluginConnector::new(host, part, Arc::clone(clock)))).collect()
        };
        let connectors = host.as_ref().map(connector).unwrap_or_default();
        let accepted = Accepted { package: Arc::clone(package), ground, config, host };
        let name = package.name.clone();
        Slot { name, facts, problem: None, accepted: Some(accepted), connectors }
    }

    /// Puts exactly the accepted files where its programs run, so that a change of its folder
    /// reaches none of them.
    async fn laid_out(&self, package: &Arc<Package>) -> Result<PackageFolders, String> {
        let package = Arc::clone(package);
        let root = self.setup.cache.join(&package.name);
        let data = self.data_folder(&package.name);
        let lay_out = move || {
            fs::create_dir_all(&data).map_err(|error| error.to_string())?;
            let copy = root.join(package.hash.to_string());
            if !holds(&copy, &package.hash) {
                write_copy(&root, &copy, &package.files).map_err(|error| error.to_string())?;
            }
            let real =
                |path: &Path| onyx_sandbox::real_path(path).map_err(|error| error.to_string());
            Ok(PackageFolders { root: real(&copy)?, data: real(&data)? })
        };
        let laid: Result<Result<PackageFolders, String>, _> =
            tokio::task::spawn_blocking(lay_out).await;
        laid.map_err(|error| error.to_string())?
            .map_err(|why| format!("its files cannot be laid out: {why}"))
    }

    /// Kept over updates; hidden, so that it is no plugin.
    pub(super) fn data_folder(&self, name: &str) -> PathBuf {
        self.setup.folder.join(".data").join(name)
    }
}

fn holds(copy: &Path, hash: &Hash) -> bool {
    PackageFiles::of_folder(copy).is_ok_and(|files| files.hash() == *hash)
}

/// A crash in between leaves nothing under the name that counts.
fn write_copy(root: &Path, copy: &Path, files: &PackageFiles) -> std::io::Result<()> {
    fs::create_dir_all(root)?;
    let half = root.join(".half");
    for old in [&half, &copy.to_owned()] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    fs::create_dir(&half)?;
    files.write_to(&half)?;
    fs::rename(&half, copy)
}
