//! Finds the binary, writes its config, and waits until the server is healthy.

use super::{AgentClient, OnyxProcess, SmallDisk};
use crate::waiting::wait_for;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// The owner's token in the smallest config. It contains the canary.
pub const DEFAULT_TOKEN: &str = "onyx_sk_canary7f3a91c5";
/// The password of people who sign in with one. It contains the canary.
pub const DEFAULT_PASSWORD: &str = "correct horse canary7f3a91c5";
/// The key of the provider `mine`, in the environment. It contains the canary.
pub const DEFAULT_KEY: &str = "sk-canary7f3a91c5";

const START_LIMIT: Duration = Duration::from_secs(60);

/// The settings with which the process is started.
#[derive(Debug)]
pub struct OnyxBuilder {
    binary: Option<PathBuf>,
    base_url: String,
    config: Option<Value>,
    merged: Vec<Value>,
    environment: Vec<(String, String)>,
    files: Vec<(PathBuf, String)>,
    disk: Option<u64>,
    open_files: Option<String>,
}

#[derive(Debug)]
pub(super) struct Launch {
    binary: PathBuf,
    open_files: Option<String>,
    environment: Vec<(String, String)>,
    token: String,
}

impl Default for OnyxBuilder {
    fn default() -> Self {
        Self {
            binary: None,
            // Nothing listens at this address, for tests that need no model.
            base_url: "http://127.0.0.1:9/v1".into(),
            config: None,
            merged: Vec::new(),
            environment: vec![("MY_KEY".into(), DEFAULT_KEY.into())],
            files: Vec::new(),
            disk: None,
            open_files: None,
        }
    }
}

impl OnyxBuilder {
    /// Sets the binary to run; else `CARGO_BIN_EXE_onyx` is used, else `onyx` in the target folder
    /// of the test.
    #[must_use]
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Sets `baseUrl` of the provider `mine`.
    #[must_use]
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = base_url.into();
        self
    }

    /// Sets a whole config in place of the smallest one.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = Some(config);
        self
    }

    /// Merges keys into the config; objects are merged too.
    #[must_use]
    pub fn merge(mut self, config: Value) -> Self {
        self.merged.push(config);
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Adds a file before the first start; its path is relative to the home.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, content: impl Into<String>) -> Self {
        self.files.push((path.into(), content.into()));
        self
    }

    /// Puts the home on a disk of this size. Needs root.
    #[must_use]
    pub fn disk(mut self, bytes: u64) -> Self {
        self.disk = Some(bytes);
        self
    }

    /// Limits how many files the process may have open.
    #[must_use]
    pub fn open_files(mut self, most: u32) -> Self {
        self.open_files = Some(format!("-n {most}"));
        self
    }

    /// Starts the process with this soft limit of open files, as a shell does; the process may
    /// raise it.
    #[must_use]
    pub fn open_files_at_first(mut self, few: u32) -> Self {
        self.open_files = Some(format!("-S -n {few}"));
        self
    }

    pub async fn start(self) -> OnyxProcess {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut config = self.config.unwrap_or_else(|| smallest_config(&self.base_url));
        for more in self.merged {
            merge(&mut config, more);
        }
        let launch = Launch {
            binary: self.binary.unwrap_or_else(find_binary),
            open_files: self.open_files,
            environment: self.environment,
            token: token_of(&config),
        };
        let home = home_in(folder.path());
        std::fs::create_dir(&home).expect("a home");
        let disk = self.disk.map(|bytes| SmallDisk::mount(&home, bytes));
        prepare_home(&home, &config, &self.files);
        let (child, client) = launch.run(folder.path()).await;
        OnyxProcess { child, client, launch, disk, folder }
    }
}

impl Launch {
    pub(super) async fn run(&self, folder: &Path) -> (Child, AgentClient) {
        let log_path = log_in(folder);
        let log = OpenOptions::new().create(true).append(true).open(&log_path).expect("the log");
        // The address of an earlier start must not be mistaken for this one's.
        let skip = usize::try_from(log.metadata().expect("the log").len()).expect("a short log");
        let mut child = self.spawn(folder, log);
        let client =
            wait_for("onyx to print its address and be healthy", START_LIMIT, async || {
                panic_if_ended(&mut child, &log_path);
                let text = std::fs::read_to_string(&log_path).unwrap_or_default();
                // The server may print other addresses too, such as its provider's, but only its
                // own is healthy.
                for base in addresses_in(text.get(skip..).unwrap_or_default()) {
                    let client = AgentClient::new(base, &self.token);
                    if client.healthy().await {
                        return Some(client);
                    }
                }
                None
            })
            .await;
        (child, client)
    }

    fn command(&self) -> Command {
        let Some(limit) = &self.open_files else {
            let mut command = Command::new(&self.binary);
            command.arg("serve");
            return command;
        };
        let mut command = Command::new("sh");
        let script = format!("ulimit {limit} && exec \"$0\" serve");
        command.arg("-c").arg(script).arg(&self.binary);
        command
    }

    fn spawn(&self, folder: &Path, log: File) -> Child {
        self.command()
            .env("ONYX_HOME", home_in(folder))
            .env("ONYX_KEYS", folder.join("keys"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log"))
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", self.binary.display()))
    }
}

pub(super) fn home_in(folder: &Path) -> PathBuf {
    folder.join("home")
}

pub(super) fn log_in(folder: &Path) -> PathBuf {
    folder.join("onyx.log")
}

fn smallest_config(base_url: &str) -> Value {
    json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": DEFAULT_TOKEN}},
        // The model has a price, so that no run warns about an unknown one.
        "providers": {"mine": {"kind": "openai", "baseUrl": base_url, "apiKey": "${MY_KEY}",
            "models": [{"id": "some-model", "price": {"input": 0, "output": 0}}]}},
        "agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "act"},
        ]},
    })
}

fn token_of(config: &Value) -> String {
    let token = config["gateway"]["auth"]["token"].as_str();
    token.unwrap_or(DEFAULT_TOKEN).to_owned()
}

fn merge(target: &mut Value, more: Value) {
    match (target, more) {
        (Value::Object(target), Value::Object(more)) => {
            for (key, value) in more {
                merge(target.entry(key).or_insert(Value::Null), value);
            }
        }
        (target, more) => *target = more,
    }
}

fn prepare_home(home: &Path, config: &Value, files: &[(PathBuf, String)]) {
    std::fs::write(home.join("onyx.json"), format!("{config:#}\n")).expect("the config");
    for (path, content) in files {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file of the home");
    }
}

/// Finds the binary. A test executable is in `target/<profile>/deps`, and binaries are in the
/// folder above.
fn find_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("CARGO_BIN_EXE_onyx") {
        return path.into();
    }
    let test = std::env::current_exe().expect("the path of the test");
    test.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("onyx"))
        .find(|path| path.is_file())
        .expect("the onyx binary is built (cargo build -p onyx)")
}

/// The loopback addresses in the server's output, in order.
fn addresses_in(text: &str) -> Vec<String> {
    text.split("http://127.0.0.1:")
        .skip(1)
        .filter_map(|rest| {
            // If no character follows the port, it may not have been written completely yet.
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            (end > 0).then(|| format!("http://127.0.0.1:{}", &rest[..end]))
        })
        .collect()
}

fn panic_if_ended(child: &mut Child, log: &Path) {
    if let Ok(Some(status)) = child.try_wait() {
        let log = std::fs::read_to_string(log).unwrap_or_default();
        panic!("onyx ended with {status}:\n{log}");
    }
}
