//! The `onyx` binary as a process under test, which can be started, used, killed and started again.

mod client;
mod disk;
mod launch;
mod memory;

pub use client::{AgentClient, ChatLines, Reply};
pub use disk::SmallDisk;
pub use launch::{DEFAULT_KEY, DEFAULT_PASSWORD, DEFAULT_TOKEN, OnyxBuilder};
pub use memory::{anonymous_bytes_of, resident_bytes_of};

use crate::canary;
use rustix::process::{Pid, Signal, kill_process};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::Child;

/// A running server on a home of its own. Dropping it kills the process, searches everything that
/// it wrote for secrets, and removes the home.
/// The requests of [`AgentClient`] can be called on it directly.
#[derive(Debug)]
pub struct OnyxProcess {
    child: Child,
    client: AgentClient,
    launch: launch::Launch,
    /// This field is dropped before `folder`, in which the disk is mounted.
    disk: Option<SmallDisk>,
    /// Removes home and log when the process is dropped.
    folder: TempDir,
}

impl OnyxProcess {
    /// Starts with one provider named `mine` at `base_url`, and one agent `main` of tier `act`.
    pub async fn start(base_url: &str) -> Self {
        Self::builder().base_url(base_url).start().await
    }

    pub fn builder() -> OnyxBuilder {
        OnyxBuilder::default()
    }

    /// The home, which is `ONYX_HOME` of the process.
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

    /// The client alone, which can be cloned into tasks.
    pub fn client(&self) -> &AgentClient {
        &self.client
    }

    pub fn process_id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The disk of a home that has one of its own.
    pub fn disk(&self) -> &SmallDisk {
        self.disk.as_ref().expect("a process started with a disk of its own")
    }

    /// Sends SIGKILL, and waits until the process is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("the process can be killed");
    }

    /// Sends SIGTERM, and waits for the orderly end.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        tokio::time::timeout(END_LIMIT, self.child.wait())
            .await
            .unwrap_or_else(|_| panic!("onyx did not end after SIGTERM:\n{}", self.log()))
            .expect("the process can be waited for")
    }

    /// Sends SIGSTOP: the process keeps its locks and does nothing.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.child.id() {
            let id = Pid::from_raw(id.cast_signed()).expect("a process id is not zero");
            kill_process(id, signal).expect("the process can be signalled");
        }
    }

    /// Starts again on the same home; kills the old process first if it still runs.
    pub async fn restart(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill().await;
        }
        (self.child, self.client) = self.launch.run(self.folder.path()).await;
    }

    /// The child processes of the server.
    pub fn children(&self) -> Vec<u32> {
        let tasks = format!("/proc/{}/task", self.process_id().expect("the process runs"));
        let tasks = std::fs::read_dir(tasks).expect("the process runs").flatten();
        // A thread may end meanwhile; its children then belong to another thread.
        let ids = tasks.map(|task| std::fs::read_to_string(task.path().join("children")));
        let ids: Vec<String> = ids.map(Result::unwrap_or_default).collect();
        ids.iter().flat_map(|ids| ids.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
    }

    /// CPU time used so far, user and system.
    pub fn cpu_time(&self) -> Duration {
        let fields = self.proc_fields("stat");
        // The fields are counted from the end of the name in brackets, because the name may contain
        // spaces.
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

/// The longest time for an orderly end, which is longer than a server needs for its last answers,
/// even on a busy machine.
const END_LIMIT: Duration = Duration::from_secs(30);

/// The files in which secrets belong.
const HOMES_OF_SECRETS: &[&str] = &["onyx.json", ".env", "token", "cache/onyx.json.good"];

impl Drop for OnyxProcess {
    fn drop(&mut self) {
        let _ = self.child.start_kill();
        if std::thread::panicking() {
            return;
        }
        let home = self.home();
        let homes: Vec<PathBuf> = HOMES_OF_SECRETS.iter().map(|name| home.join(name)).collect();
        let made = std::fs::read_to_string(home.join("token")).unwrap_or_default();
        let made: Vec<String> =
            Some(made.trim().to_owned()).filter(|made| !made.is_empty()).into_iter().collect();
        let found = canary::search(self.folder.path(), &homes, &made);
        assert!(found.is_empty(), "a secret was written to {found:?}");
    }
}

impl Deref for OnyxProcess {
    type Target = AgentClient;

    fn deref(&self) -> &AgentClient {
        &self.client
    }
}
