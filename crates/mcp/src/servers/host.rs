//! One server, which is connected when needed, disconnected when idle, and left alone for a while
//! when it fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::Value;

use super::view::ServerStatus;
use super::{McpSetup, Shared, launch};
use crate::oauth::SignIn;
use crate::pins::ToolPin;
use crate::program::ProgramLog;
use crate::server_connection::{Opening, ServerConnection};
use crate::{Elicitations, McpError, ServerSettings};

/// A server that was not used for this long is ended; the next call starts it again.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How long a server that failed is left alone. The time starts with this value and doubles with
/// each failure up to `LONGEST_WAIT`.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

pub(crate) struct Host {
    name: String,
    settings: ServerSettings,
    setup: Arc<McpSetup>,
    /// The servers of the config, which offer this server's tools.
    servers: Weak<Shared>,
    log: ProgramLog,
    /// The sign-in is made when it is first needed, and outlives connections.
    sign_in: tokio::sync::OnceCell<Option<Arc<SignIn>>>,
    /// This lock is held while the server is connected, so that it is started once.
    connection: tokio::sync::Mutex<Option<Arc<ServerConnection>>>,
    facts: Mutex<HostState>,
}

#[derive(Default)]
struct HostState {
    status: ServerStatus,
    version: String,
    /// The tools of the server's last list; `None` if it was not asked yet.
    listed: Option<Vec<ToolPin>>,
    /// Tools that cannot be used, with the reason.
    unusable: Vec<(String, String)>,
    failures: u32,
    /// The time before which the server is not tried again. `used` is the time of its last use.
    /// Both are monotonic.
    not_before: Duration,
    used: Duration,
}

impl Host {
    pub(super) fn new(name: &str, settings: ServerSettings, servers: &Arc<Shared>) -> Self {
        Self {
            name: name.to_owned(),
            settings,
            setup: Arc::clone(&servers.setup),
            servers: Arc::downgrade(servers),
            log: ProgramLog::default(),
            sign_in: tokio::sync::OnceCell::new(),
            connection: tokio::sync::Mutex::default(),
            facts: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    pub(super) fn note(&self, line: &str) {
        self.log.note(line);
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.log.lines()
    }

    pub(super) fn status(&self) -> (ServerStatus, String) {
        let facts = self.facts();
        (facts.status.clone(), facts.version.clone())
    }

    /// The tools of the server's last list; `None` if it was not asked yet.
    pub(super) fn seen(&self) -> Option<Vec<ToolPin>> {
        self.facts().listed.clone()
    }

    pub(super) fn listed(&self) -> Vec<ToolPin> {
        self.seen().unwrap_or_default()
    }

    pub(super) fn unusable(&self) -> Vec<(String, String)> {
        self.facts().unusable.clone()
    }

    /// Calls a tool, if its description is still the accepted one.
    pub(crate) async fn call(&self, pin: &ToolPin, arguments: &Value) -> Result<Value, McpError> {
        let connected = self.connected().await?;
        if connected.tools_changed() {
            self.look_at_tools(&connected).await?;
        }
        self.check(pin)?;
        let limit = Duration::from_secs(self.settings.timeout);
        let answer = connected.call(pin, arguments, limit).await;
        self.facts().used = self.now();
        if let Err(error) = &answer
            && !error.leaves_connection()
        {
            self.failed(error).await;
        }
        answer
    }

    fn check(&self, pin: &ToolPin) -> Result<(), McpError> {
        let facts = self.facts();
        let listed = facts.listed.iter().flatten().find(|now| now.name == pin.name);
        match listed {
            Some(now) if now.hash == pin.hash => Ok(()),
            Some(_) => Err(McpError::Quarantined(format!(
                "{} has changed since the owner accepted it; the owner must accept it again",
                pin.name
            ))),
            None => Err(McpError::Quarantined(format!(
                "the server no longer has the tool {}",
                pin.name
            ))),
        }
    }

    /// The connected server, started or reached if necessary. A server that failed is not tried
    /// again for a while.
    pub(super) async fn connected(&self) -> Result<Arc<ServerConnection>, McpError> {
        if !self.settings.enabled {
            return Err(McpError::Unreachable("it is disabled".to_owned()));
        }
        let mut connection = self.connection.lock().await;
        if let Some(connected) = &*connection {
            match connected.broken() {
                None => {
                    self.facts().used = self.now();
                    return Ok(Arc::clone(connected));
                }
                Some(why) => {
                    *connection = None;
                    self.count_failure(&McpError::Gone(why));
                }
            }
        }
        self.check_wait()?;
        self.facts().status = ServerStatus::Starting;
        match self.connect().await {
            Ok(connected) => {
                let connected = Arc::new(connected);
                *connection = Some(Arc::clone(&connected));
                Ok(connected)
            }
            Err(error) => {
                self.count_failure(&error);
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<ServerConnection, McpError> {
        let sign_in = self.sign_in().await?;
        let transport = launch::open(&self.setup, &self.settings, sign_in, &self.log).await?;
        let opening = match self.settings.url {
            Some(_) => Opening::StatelessFirst,
            None => Opening::HandshakeFirst,
        };
        let connected =
            ServerConnection::connect(transport, opening, Elicitations::Decline).await?;
        self.look_at_tools(&connected).await?;
        let mut facts = self.facts();
        facts.status = ServerStatus::Running;
        facts.version = connected.version().to_owned();
        facts.used = self.now();
        facts.failures = 0;
        Ok(connected)
    }

    /// The server's sign-in; `None` for a local program, which needs none.
    pub(super) async fn sign_in(&self) -> Result<Option<Arc<SignIn>>, McpError> {
        let make = || async { launch::sign_in(&self.setup, &self.name, &self.settings) };
        self.sign_in.get_or_try_init(make).await.cloned()
    }

    /// Whether a sign-in is known.
    pub(super) fn is_signed_in(&self) -> bool {
        let sign_in = self.sign_in.get().and_then(Option::as_ref);
        sign_in.is_some_and(|sign_in| sign_in.is_signed_in())
    }

    async fn look_at_tools(&self, connected: &ServerConnection) -> Result<(), McpError> {
        let listed = connected.tools().await?;
        let (mut pins, mut unusable): (Vec<ToolPin>, _) = (Vec::new(), Vec::new());
        for tool in &listed {
            match ToolPin::of(tool) {
                Ok(pin) if pins.iter().any(|known| known.name.eq_ignore_ascii_case(&pin.name)) => {
                    unusable.push((pin.name, "another tool has the same name".to_owned()));
                }
                Ok(pin) => pins.push(pin),
                Err(flaw) => unusable.push(flaw),
            }
        }
        {
            let mut facts = self.facts();
            facts.listed = Some(pins);
            facts.unusable = unusable;
        }
        // Changed tools are removed before any tool is called.
        if let Some(servers) = self.servers.upgrade() {
            let offered = servers.offer_again(&self.name).await;
            offered.map_err(|fault| McpError::Unreachable(fault.message))?;
        }
        Ok(())
    }

    fn check_wait(&self) -> Result<(), McpError> {
        let facts = self.facts();
        let wait = facts.not_before.saturating_sub(self.now());
        match &facts.status {
            ServerStatus::Failing(why) if !wait.is_zero() => Err(McpError::Waiting {
                failures: facts.failures,
                seconds: wait.as_secs().max(1),
                why: why.clone(),
            }),
            _ => Ok(()),
        }
    }

    async fn failed(&self, error: &McpError) {
        *self.connection.lock().await = None;
        self.count_failure(error);
    }

    fn count_failure(&self, error: &McpError) {
        let now = self.now();
        let mut facts = self.facts();
        let wait = FIRST_WAIT.saturating_mul(1 << facts.failures.min(16)).min(LONGEST_WAIT);
        facts.failures += 1;
        facts.not_before = now + wait;
        facts.status = error.into();
        drop(facts);
        self.note(&error.to_string());
        tracing::warn!(server = self.name, %error, "an MCP server failed");
    }

    /// Ends the server and clears its failures.
    pub(super) async fn restart(&self) {
        self.leave().await;
        let mut facts = self.facts();
        facts.failures = 0;
        facts.status = ServerStatus::Idle;
    }

    pub(super) async fn leave(&self) {
        if self.connection.lock().await.take().is_some() {
            self.facts().status = ServerStatus::Idle;
        }
    }

    pub(super) async fn leave_if_idle(&self) {
        let is_idle = self.now().saturating_sub(self.facts().used) >= IDLE;
        // If the lock is taken, the server is being started and therefore in use.
        let Ok(mut connection) = self.connection.try_lock() else { return };
        let is_gone = connection.as_ref().is_some_and(|connected| connected.broken().is_some());
        if connection.is_some() && (is_idle || is_gone) {
            *connection = None;
            self.facts().status = ServerStatus::Idle;
        }
    }

    fn now(&self) -> Duration {
        self.setup.clock.now().mono
    }

    fn facts(&self) -> MutexGuard<'_, HostState> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
