//! The `onyx` binary as a process under test: start, talk to it, kill it, start it again.

mod client;
mod launch;

pub use client::{AgentClient, ChatLines, Reply};
pub use launch::{DEFAULT_TOKEN, OnyxBuilder};

use rustix::process::{Pid, Signal, kill_process};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::Child;

/// A running server on a home of its own. Dropping it kills the process and removes the home.
/// The requests of [`AgentClient`] can be called on it directly.
#[derive(Debug)]
pub struct OnyxProcess {
    child: Child,
    client: AgentClient,
    launch: launch::Launch,
    /// Removes home and log when the process is dropped.
    folder: TempDir,
}

impl OnyxProcess {
    /// The usual start: one provider named `mine` at `base_url`, one agent `main` of tier `act`.
    pub async fn start(base_url: &str) -> Self {
        Self::builder().base_url(base_url).start().await
    }

    pub fn builder() -> OnyxBuilder {
        OnyxBuilder::default()
    }

    /// `ONYX_HOME` of the process.
    pub fn home(&self) -> PathBuf {
        launch::home_in(self.folder.path())
    }

    /// Everything the process printed since its first start.
    pub fn log(&self) -> String {
        std::fs::read_to_string(launch::log_in(self.folder.path())).unwrap_or_default()
    }

    pub fn config_path(&self) -> PathBuf {
        self.home().join("onyx.json")
    }

    /// The client by itself, to be cloned into tasks.
    pub fn client(&self) -> &AgentClient {
        &self.client
    }

    pub fn process_id(&self) -> Option<u32> {
        self.child.id()
    }

    /// SIGKILL, and waits until the process is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("the process can be killed");
    }

    /// SIGTERM, and waits for the orderly end.
    pub async fn terminate(&mut self) -> ExitStatus {
        if let Some(id) = self.child.id() {
            let id = Pid::from_raw(id.cast_signed()).expect("a process id is not zero");
            kill_process(id, Signal::TERM).expect("the process can be signalled");
        }
        tokio::time::timeout(Duration::from_secs(10), self.child.wait())
            .await
            .unwrap_or_else(|_| panic!("onyx did not end after SIGTERM:\n{}", self.log()))
            .expect("the process can be waited for")
    }

    /// Starts again on the same home; kills the old process first if it still runs.
    pub async fn restart(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill().await;
        }
        (self.child, self.client) = self.launch.run(self.folder.path()).await;
    }

    /// Resident memory, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let pages: u64 = self.proc_fields("statm")[1].parse().expect("a number of pages");
        pages * rustix::param::page_size() as u64
    }

    /// CPU time used so far, user and system.
    pub fn cpu_time(&self) -> Duration {
        let fields = self.proc_fields("stat");
        // Counted from the end of the name in brackets, which may itself hold spaces.
        let after_name = fields.iter().rposition(|field| field.ends_with(')')).expect("a name") + 1;
        let ticks = |index: usize| fields[after_name + index].parse::<u64>().expect("ticks");
        let per_second = rustix::param::clock_ticks_per_second();
        Duration::from_millis((ticks(11) + ticks(12)) * 1000 / per_second)
    }

    fn proc_fields(&self, name: &str) -> Vec<String> {
        let id = self.process_id().expect("the process runs");
        let path = Path::new("/proc").join(id.to_string()).join(name);
        let text = std::fs::read_to_string(path).expect("the process runs");
        text.split_whitespace().map(str::to_owned).collect()
    }
}

impl Deref for OnyxProcess {
    type Target = AgentClient;

    fn deref(&self) -> &AgentClient {
        &self.client
    }
}
