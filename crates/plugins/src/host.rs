//! One plugin's program: it is started, its health is checked, it is restarted when it fails, and
//! it stays stopped when it fails too often.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_mcp::program::ProgramLog;
use onyx_tools::OpenSecret;
use onyx_types::Cancel;
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use crate::PluginError;
use crate::package::{HookEvent, Package, PackageFolders};
use crate::process::{Connection, INBOX, LaunchOrder, Launcher, PluginRequest};

/// The version of the protocol with plugins.
const PROTOCOL: u64 = 1;

/// All waiting times, so that tests can shorten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimes {
    /// How long the answer to `start` may take.
    pub start: Duration,
    /// The time between two health checks; `health_answer` is how long an answer may take.
    pub health: Duration,
    pub health_answer: Duration,
    /// How long a program that failed is left alone. The time doubles with each failure up to the
    /// longest wait.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// After this many failures in a row a program is no longer started.
    pub most_failures: u32,
    /// After a program worked for this long, its earlier failures no longer count.
    pub settled: Duration,
    /// How long the program may take to end after it was asked to.
    pub stop: Duration,
    /// How often folders are checked for changes.
    pub look: Duration,
}

impl Default for WaitTimes {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(20),
            health: Duration::from_secs(30),
            health_answer: Duration::from_secs(10),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(300),
            most_failures: 5,
            settled: Duration::from_secs(120),
            stop: Duration::from_secs(2),
            look: Duration::from_secs(10),
        }
    }
}

/// The state of a plugin's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PluginStatus {
    /// The program was not needed yet, or the plugin has none.
    #[default]
    Idle,
    Starting,
    Running,
    /// The reason of the failure. The program is started again, later with each failure.
    Failing(String),
    /// The reason why the program is no longer started. A person must restart it.
    Parked(String),
}

/// The settings and services that are needed to run a program.
pub(crate) struct HostSetup {
    pub(crate) package: Arc<Package>,
    pub(crate) folders: PackageFolders,
    pub(crate) config: Map<String, Value>,
    pub(crate) launcher: Launcher,
    pub(crate) secrets: OpenSecret,
    pub(crate) wait_times: WaitTimes,
    pub(crate) log: ProgramLog,
}

pub(crate) struct Host {
    setup: HostSetup,
    phase: watch::Sender<Phase>,
    mailboxes: BTreeMap<String, Mailbox>,
    /// Whether the program did not answer in time when it was last asked for a note.
    is_slow: AtomicBool,
    stop: Cancel,
    again: Notify,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Default)]
enum Phase {
    #[default]
    Idle,
    Starting,
    Running(Arc<Connection>),
    Failing(String),
    Parked(String),
}

/// The messages of a plugin for one of its connectors that were not taken yet.
#[derive(Default)]
pub(crate) struct Mailbox {
    waiting: Mutex<VecDeque<(Arc<Connection>, PluginRequest)>>,
    came: Notify,
}

/// How one run of the program ended.
enum Ending {
    Stopped,
    Failed(PluginError),
}

impl Host {
    pub(crate) fn new(setup: HostSetup) -> Self {
        let names = setup.package.onyx.connectors.iter().map(|connector| connector.name.clone());
        let mailboxes = names.map(|name| (name, Mailbox::default())).collect();
        let (phase, _) = watch::channel(Phase::Idle);
        Self {
            setup,
            phase,
            mailboxes,
            is_slow: AtomicBool::new(false),
            stop: Cancel::new(),
            again: Notify::new(),
            task: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.setup.package.name
    }

    pub(crate) fn status(&self) -> PluginStatus {
        match &*self.phase.borrow() {
            Phase::Idle => PluginStatus::Idle,
            Phase::Starting => PluginStatus::Starting,
            Phase::Running(_) => PluginStatus::Running,
            Phase::Failing(why) => PluginStatus::Failing(why.clone()),
            Phase::Parked(why) => PluginStatus::Parked(why.clone()),
        }
    }

    /// Starts the program if it is not running.
    pub(crate) fn wake(self: &Arc<Self>) {
        let mut task = self.task();
        if task.is_none() && !self.stop.is_cancelled() {
            self.phase.send_replace(Phase::Starting);
            *task = Some(tokio::spawn(look_after(Arc::clone(self))));
        }
    }

    /// Clears the program's failures and starts it now.
    pub(crate) fn start_anew(self: &Arc<Self>) {
        self.wake();
        if matches!(&*self.phase.borrow(), Phase::Parked(_) | Phase::Failing(_)) {
            self.again.notify_one();
        }
    }

    /// Returns when the program has ended completely.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        let task = self.task().take();
        if let Some(task) = task {
            // The task ends the program itself within a bounded time.
            let _ = task.await;
        }
        self.phase.send_replace(Phase::Idle);
    }

    /// Sends a request to the program, which may still be starting; `limit` covers both.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, PluginError> {
        let asked = async {
            let connection = self.running().await?;
            connection.request(method, params, limit).await
        };
        let answer = self.setup.launcher.clock.within(limit, asked).await;
        answer.unwrap_or(Err(PluginError::Timeout(limit.as_millis())))
    }

    /// Sends a request that is optional: a program that was slow once is skipped until a health
    /// check succeeds.
    pub(crate) async fn ask_if_quick(
        self: &Arc<Self>,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, PluginError> {
        if self.is_slow.load(Ordering::Relaxed) {
            return Err(PluginError::NotRunning("it was slow".to_owned()));
        }
        let answer = self.ask(method, params, limit).await;
        if matches!(answer, Err(PluginError::Timeout(_))) {
            self.is_slow.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Sends a message to the program without waiting for an answer, if the program is running.
    pub(crate) fn tell(self: &Arc<Self>, method: &'static str, params: Value) {
        self.wake();
        let Phase::Running(connection) = self.phase.borrow().clone() else { return };
        tokio::spawn(async move {
            if let Err(error) = connection.notify(method, &params).await {
                tracing::debug!(%error, method, "a plugin could not be notified");
            }
        });
    }

    /// Waits for the connection of a running program; returns an error at once if the program has
    /// failed.
    pub(crate) async fn running(self: &Arc<Self>) -> Result<Arc<Connection>, PluginError> {
        self.wake();
        let mut phase = self.phase.subscribe();
        loop {
            let now = phase.borrow_and_update().clone();
            match now {
                Phase::Running(connection) => return Ok(connection),
                Phase::Failing(why) => {
                    return Err(PluginError::NotRunning(format!("it failed: {why}")));
                }
                Phase::Parked(why) => {
                    let why = format!("it failed too often and is no longer started: {why}");
                    return Err(PluginError::NotRunning(why));
                }
                Phase::Idle | Phase::Starting => {}
            }
            if self.stop.is_cancelled() || phase.changed().await.is_err() {
                return Err(PluginError::NotRunning("it is disabled".to_owned()));
            }
        }
    }

    pub(crate) fn mailbox(&self, connector: &str) -> Option<&Mailbox> {
        self.mailboxes.get(connector)
    }

    pub(crate) fn wants(&self, event: HookEvent) -> bool {
        self.setup.package.onyx.hooks.iter().any(|hook| hook.event == event)
    }

    /// Runs the program once, from its start to its end.
    async fn live(&self) -> Ending {
        let (sender, mut inbox) = mpsc::channel(INBOX);
        let started = tokio::select! {
            started = self.started(sender) => started,
            () = self.stop.cancelled() => return Ending::Stopped,
        };
        let connection = match started {
            Ok(connection) => Arc::new(connection),
            Err(error) => return Ending::Failed(error),
        };
        self.is_slow.store(false, Ordering::Relaxed);
        self.phase.send_replace(Phase::Running(Arc::clone(&connection)));
        let (wait_times, clock) = (self.setup.wait_times, &self.setup.launcher.clock);
        let mut next_question = clock.sleep(wait_times.health);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => {
                    self.say_goodbye(&connection).await;
                    connection.end("it was disabled");
                    return Ending::Stopped;
                }
                why = connection.ended() => {
                    connection.end(&why);
                    return Ending::Failed(PluginError::Gone(why));
                }
                Some(arrived) = inbox.recv() => self.put_in_mailbox(&connection, arrived).await,
                () = &mut next_question => {
                    let asked = connection.request("health", &json!({}), wait_times.health_answer).await;
                    if let Err(error) = asked {
                        let why = format!("it did not report its status: {error}");
                        connection.end(&why);
                        return Ending::Failed(PluginError::Gone(why));
                    }
                    self.is_slow.store(false, Ordering::Relaxed);
                    next_question = clock.sleep(wait_times.health);
                }
            }
        }
    }

    /// Starts the program and waits until it has identified itself.
    async fn started(&self, inbox: mpsc::Sender<PluginRequest>) -> Result<Connection, PluginError> {
        let HostSetup { package, folders, config, launcher, wait_times, log, .. } = &self.setup;
        let mut command = package.onyx.command.clone();
        if let Some(program) = command.first_mut() {
            *program = folders.program(program);
        }
        let grants = &package.onyx.grants;
        let order = LaunchOrder {
            command,
            variables: folders.variables().to_vec(),
            folder: folders.root.clone(),
            folders: folders.granted(grants),
            hosts: grants.hosts().map_err(PluginError::NotStarted)?,
        };
        let secrets = self.secrets()?;
        let connection = launcher.start(order, log.clone(), inbox).await?;
        let params = json!({
            "protocol": PROTOCOL, "onyx": env!("CARGO_PKG_VERSION"), "plugin": package.name,
            "config": config, "secrets": secrets,
        });
        let identity = connection.request("start", &params, wait_times.start).await?;
        check_identity(package, &identity)?;
        if self.wants(HookEvent::OnStart) {
            connection.notify("hook.on_start", &json!({})).await?;
        }
        Ok(connection)
    }

    /// The granted secrets, by name. The program is not started if one is missing.
    fn secrets(&self) -> Result<BTreeMap<String, String>, PluginError> {
        let open = |name: &String| match (self.setup.secrets)(name) {
            Ok(Some(value)) => Ok((name.clone(), value)),
            Ok(None) => Err(PluginError::NotStarted(format!(
                "there is no secret {name}; `onyx secrets set {name}` creates it"
            ))),
            Err(fault) => Err(PluginError::NotStarted(fault.message)),
        };
        self.setup.package.onyx.grants.secrets.iter().map(open).collect()
    }

    async fn say_goodbye(&self, connection: &Connection) {
        if self.wants(HookEvent::OnStop) {
            // The program is ended anyway, so a failure is ignored.
            let _ = connection.notify("hook.on_stop", &json!({})).await;
        }
        let _ = connection.request("stop", &json!({}), self.setup.wait_times.stop).await;
    }

    async fn put_in_mailbox(&self, connection: &Arc<Connection>, arrived: PluginRequest) {
        let name = arrived.params["connector"].as_str().unwrap_or_default();
        match self.mailboxes.get(name) {
            Some(mailbox) => mailbox.put(connection, arrived),
            None => {
                let why = "the plugin has no such connector";
                let answer = json!({"ok": false, "error": why});
                // A program that has ended needs no answer, so a failure to send it is ignored.
                let _ = connection.answer(&arrived.id, &answer).await;
            }
        }
    }

    fn task(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mailbox {
    /// Adds a message. If there is no room, the message is not answered, so that the plugin sends
    /// it again.
    fn put(&self, connection: &Arc<Connection>, arrived: PluginRequest) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < INBOX {
            waiting.push_back((Arc::clone(connection), arrived));
        }
        drop(waiting);
        self.came.notify_one();
    }

    /// Waits for a message, then returns all that wait.
    pub(crate) async fn take(&self) -> Vec<(Arc<Connection>, PluginRequest)> {
        loop {
            {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if !waiting.is_empty() {
                    return waiting.drain(..).collect();
                }
            }
            self.came.notified().await;
        }
    }
}

/// Runs the program again and again until it is switched off.
async fn look_after(host: Arc<Host>) {
    let clock = Arc::clone(&host.setup.launcher.clock);
    let wait_times = host.setup.wait_times;
    let mut failures = 0;
    loop {
        // A program that is being tried again counts as failing until it works.
        if failures == 0 {
            host.phase.send_replace(Phase::Starting);
        }
        let began = clock.now().mono;
        let error = match host.live().await {
            Ending::Stopped => return,
            Ending::Failed(error) => error,
        };
        let lived = clock.now().mono.saturating_sub(began);
        failures = if lived >= wait_times.settled { 1 } else { failures + 1 };
        let plugin = host.name();
        host.setup.log.note(&error.to_string());
        tracing::warn!(plugin, %error, failures, "a plugin failed");
        let is_lie = matches!(error, PluginError::Lie(_));
        let wait = if is_lie || failures >= wait_times.most_failures {
            tracing::error!(plugin, %error, "a plugin failed too often and is no longer started");
            host.phase.send_replace(Phase::Parked(error.to_string()));
            Duration::MAX
        } else {
            host.phase.send_replace(Phase::Failing(error.to_string()));
            wait_times
                .first_wait
                .saturating_mul(1 << (failures - 1).min(16))
                .min(wait_times.longest_wait)
        };
        tokio::select! {
            () = host.stop.cancelled() => return,
            () = host.again.notified() => failures = 0,
            () = clock.sleep(wait), if wait < Duration::MAX => {}
        }
    }
}

fn check_identity(package: &Package, identity: &Value) -> Result<(), PluginError> {
    let lie = |what: &str, says: &Value, is: &str| {
        let says = onyx_types::visible_line(&says.to_string()).chars().take(80).collect::<String>();
        Err(PluginError::Lie(format!("it says that its {what} is {says}, and it is {is}")))
    };
    if identity["protocol"] != PROTOCOL {
        return lie("protocol", &identity["protocol"], &PROTOCOL.to_string());
    }
    if identity["name"] != package.name {
        return lie("name", &identity["name"], &package.name);
    }
    match &package.version {
        Some(version) if identity["version"] != *version => {
            lie("version", &identity["version"], version)
        }
        Some(_) | None => Ok(()),
    }
}
