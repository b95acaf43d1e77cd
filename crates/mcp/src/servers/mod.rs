//! The servers of the config: they are started on use, stopped when idle, and left alone for a
//! while when they fail. It also knows which of their tools the owner has accepted.
//!
//! The binary and the admin routes use [`McpServers`].

mod host;
mod launch;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use onyx_egress::{Address, EgressError};
use onyx_storage::{Acceptance, AcceptanceKind, Acceptances, AuditEntry};
use onyx_tools::{OpenSecret, Registration, Tool, Toolbox, Web};
use onyx_types::{Actor, Approver, Cancel, Clock, ErrorCode, Fault, Hash, PersonId, RecordedTool};
use serde_json::Value;

use crate::oauth::{BegunSignIn, Callback, TokenKeeper};
use crate::pins::ToolPin;
use crate::tool::RemoteTool;
use crate::{McpError, McpSettings};

pub(crate) use host::Host;
pub use view::{OfferedTool, OfferedToolState, ServerStatus, ServerView};

/// How often idle servers are searched for.
const LOOK: Duration = Duration::from_secs(30);

/// The settings and stores that are needed to run and reach servers.
pub struct McpSetup {
    pub sandbox: onyx_sandbox::Sandbox,
    /// The place for folders that exist as long as a server runs.
    pub scratch: std::path::PathBuf,
    pub web: Web,
    pub secrets: OpenSecret,
    /// The store for sign-ins to servers.
    pub tokens: Arc<dyn TokenKeeper>,
    pub acceptances: Arc<dyn Acceptances>,
    pub clock: Arc<dyn Clock>,
    /// The owner, who accepts tools because all people here use them.
    pub owner: PersonId,
}

/// The MCP servers of this home. Cheap to clone.
#[derive(Clone)]
pub struct McpServers {
    shared: Arc<Shared>,
}

struct Shared {
    setup: Arc<McpSetup>,
    toolbox: OnceLock<Arc<Toolbox>>,
    servers: RwLock<BTreeMap<String, Arc<Server>>>,
}

/// A server and its tools in the toolbox.
struct Server {
    host: Arc<Host>,
    registered: Mutex<RegisteredTools>,
}

#[derive(Default)]
struct RegisteredTools {
    registrations: Vec<Registration>,
    /// The tools that can be called now, with the hashes that were accepted.
    pins: BTreeMap<String, Hash>,
}

impl McpServers {
    pub fn new(setup: McpSetup) -> Self {
        let shared =
            Shared { setup: Arc::new(setup), toolbox: OnceLock::new(), servers: RwLock::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Sets the toolbox that receives accepted tools.
    pub fn set_toolbox(&self, toolbox: Arc<Toolbox>) {
        // The toolbox is set only once in a process, so a second one is ignored.
        let _ = self.shared.toolbox.set(toolbox);
    }

    /// Applies the config. Unchanged servers continue to run; none is started.
    pub async fn follow(&self, settings: &McpSettings) -> Result<(), Fault> {
        let mut gone = Vec::new();
        {
            let mut servers = self.shared.servers.write().unwrap_or_else(PoisonError::into_inner);
            let is_same = |name: &String, server: &Arc<Server>| {
                settings.servers.get(name) == Some(server.host.settings())
            };
            servers.retain(|name, server| {
                let stays = is_same(name, server);
                if !stays {
                    gone.push(Arc::clone(server));
                }
                stays
            });
            for (name, written) in &settings.servers {
                servers.entry(name.clone()).or_insert_with(|| {
                    let host = Host::new(name, written.clone(), &self.shared);
                    Arc::new(Server { host: Arc::new(host), registered: Mutex::default() })
                });
            }
        }
        for server in gone {
            self.shared.withdraw(&server);
        }
        self.offer_all().await
    }

    async fn offer_all(&self) -> Result<(), Fault> {
        let accepted = self.shared.accepted().await?;
        for server in self.shared.all() {
            self.shared.offer(&server, &accepted);
        }
        Ok(())
    }

    /// Ends idle servers until `stop` is cancelled.
    pub async fn tend(&self, stop: &Cancel) {
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.shared.setup.clock.sleep(LOOK) => {}
            }
            for server in self.shared.all() {
                server.host.leave_if_idle().await;
            }
        }
        for server in self.shared.all() {
            server.host.leave().await;
        }
    }

    pub async fn list(&self) -> Result<Vec<ServerView>, Fault> {
        let accepted = self.shared.accepted().await?;
        Ok(self.shared.all().iter().map(|server| self.shared.view(server, &accepted)).collect())
    }

    pub async fn get(&self, name: &str) -> Result<ServerView, Fault> {
        let server = self.shared.server(name)?;
        Ok(self.shared.view(&server, &self.shared.accepted().await?))
    }

    /// Starts or connects the server and lists its tools, even after failures.
    pub async fn refresh(&self, name: &str) -> Result<ServerView, Fault> {
        let server = self.shared.server(name)?;
        server.host.restart().await;
        // A failure is part of the view.
        let _ = server.host.connected().await;
        let accepted = self.shared.accepted().await?;
        self.shared.offer(&server, &accepted);
        Ok(self.shared.view(&server, &accepted))
    }

    /// Begins a sign-in to a server: returns the address to which to send the person, who comes
    /// back to `redirect_uri`.
    pub async fn begin_sign_in(
        &self,
        name: &str,
        redirect_uri: &str,
    ) -> Result<BegunSignIn, Fault> {
        let server = self.shared.server(name)?;
        let sign_in = server.host.sign_in().await?.ok_or_else(|| no_sign_in(name))?;
        // A request without a token makes the server say which sign-in it requires.
        if !sign_in.is_signed_in() {
            server.host.restart().await;
            let _ = server.host.connected().await;
        }
        Ok(sign_in.begin(redirect_uri).await?)
    }

    /// Finishes a sign-in after the person came back, and lists the server's tools with the new
    /// tokens.
    pub async fn finish_sign_in(
        &self,
        approver: &Approver,
        name: &str,
        callback: &Callback,
    ) -> Result<ServerView, Fault> {
        let server = self.shared.server(name)?;
        let sign_in = server.host.sign_in().await?.ok_or_else(|| no_sign_in(name))?;
        sign_in.finish(callback).await?;
        let audit = self.shared.audit(approver, format!("signed in at the MCP server {name}"));
        self.shared.setup.acceptances.accept(Vec::new(), audit).await?;
        self.refresh(name).await
    }

    pub async fn sign_out(&self, name: &str) -> Result<ServerView, Fault> {
        let server = self.shared.server(name)?;
        if let Some(sign_in) = server.host.sign_in().await? {
            sign_in.sign_out().await?;
        }
        server.host.restart().await;
        self.get(name).await
    }

    /// Fetches the metadata document of a program from the address that the program gave as its id.
    /// Like any untrusted page, the document must be on the public internet.
    pub async fn client_document(&self, address: &str) -> Result<Value, Fault> {
        let wrong = |why: String| {
            let message = format!("The client's document cannot be read: {why}");
            Fault::new(ErrorCode::InvalidRequest, message)
        };
        let address: Address =
            address.parse().map_err(|error: EgressError| wrong(error.to_string()))?;
        let fetched = self.shared.setup.web.egress().get(&address, "application/json").await;
        let fetched = fetched.map_err(|error| wrong(error.to_string()))?;
        serde_json::from_slice(&fetched.body).map_err(|error| wrong(error.to_string()))
    }

    /// Accepts exactly these tools for the owner.
    pub async fn accept(
        &self,
        approver: &Approver,
        name: &str,
        seen: &BTreeMap<String, Hash>,
    ) -> Result<ServerView, Fault> {
        let server = self.shared.server(name)?;
        let listed = server.host.listed();
        let mut rows = Vec::new();
        for (tool, hash) in seen {
            let pin = listed.iter().find(|pin| pin.name == *tool).ok_or_else(|| {
                let message =
                    format!("The MCP server {name} has no tool {tool}, or was not tested yet.");
                Fault::new(ErrorCode::NotFound, message).with_hint("Test the server first.")
            })?;
            if pin.hash != *hash {
                let message = format!("The tool {tool} has changed since you looked at it.");
                return Err(
                    Fault::new(ErrorCode::VersionConflict, message).with_hint("Look at it again.")
                );
            }
            rows.push(Acceptance {
                person: self.shared.setup.owner.clone(),
                kind: AcceptanceKind::McpTool,
                name: format!("{name}/{tool}"),
                hash: pin.hash,
                content: pin.content.clone(),
                accepted_at: self.shared.setup.clock.wall(),
            });
        }
        let names: Vec<&str> = seen.keys().map(String::as_str).collect();
        let what = format!("accepted tools of the MCP server {name}: {}", names.join(", "));
        let audit = self.shared.audit(approver, what);
        self.shared.setup.acceptances.accept(rows, audit).await?;
        self.shared.offer(&server, &self.shared.accepted().await?);
        self.get(name).await
    }

    /// Withdraws the acceptance of these tools.
    pub async fn withdraw(
        &self,
        approver: &Approver,
        name: &str,
        tools: &[String],
    ) -> Result<ServerView, Fault> {
        let server = self.shared.server(name)?;
        let what = format!(
            "withdrew the acceptance of tools of the MCP server {name}: {}",
            tools.join(", ")
        );
        let audit = self.shared.audit(approver, what);
        let names = tools.iter().map(|tool| format!("{name}/{tool}")).collect();
        let (owner, kind) = (&self.shared.setup.owner, AcceptanceKind::McpTool);
        self.shared.setup.acceptances.withdraw(owner, kind, names, audit).await?;
        self.shared.offer(&server, &self.shared.accepted().await?);
        self.get(name).await
    }
}

fn no_sign_in(name: &str) -> Fault {
    let message =
        format!("The MCP server {name} is a program on this machine; it needs no sign-in.");
    Fault::new(ErrorCode::InvalidRequest, message).with_hint("Give it secrets through `env`.")
}

impl Shared {
    fn all(&self) -> Vec<Arc<Server>> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        servers.values().cloned().collect()
    }

    fn server(&self, name: &str) -> Result<Arc<Server>, Fault> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        servers.get(name).cloned().ok_or_else(|| {
            let message = format!("There is no MCP server named {name}.");
            Fault::new(ErrorCode::NotFound, message).with_hint("`onyx mcp list` shows the servers.")
        })
    }

    async fn accepted(&self) -> Result<Vec<Acceptance>, Fault> {
        let kind = AcceptanceKind::McpTool;
        Ok(self.setup.acceptances.accepted(&self.setup.owner, kind).await?)
    }

    /// Updates the toolbox, which only gets tools that are accepted, allowed and unchanged.
    fn offer(&self, server: &Server, accepted: &[Acceptance]) {
        let Some(toolbox) = self.toolbox.get() else { return };
        let host = &server.host;
        let pins = usable(host, accepted);
        let wanted: BTreeMap<String, Hash> =
            pins.iter().map(|pin| (pin.name.clone(), pin.hash)).collect();
        let mut registered = server.registered();
        if registered.pins == wanted {
            return;
        }
        toolbox.remove(&registered.registrations);
        *registered = RegisteredTools::default();
        let tools = pins.into_iter().filter_map(|pin| {
            let name = pin.tool_name(host.name())?;
            Some(Arc::new(RemoteTool::new(name, pin, host)) as Arc<dyn Tool>)
        });
        match toolbox.register(tools.collect()) {
            Ok(registrations) => *registered = RegisteredTools { registrations, pins: wanted },
            Err(fault) => {
                tracing::error!(server = host.name(), %fault, "its tools cannot be offered");
                host.note(&format!("its tools cannot be offered: {}", fault.message));
            }
        }
    }

    /// Updates the toolbox for one server after its tools were listed.
    async fn offer_again(&self, name: &str) -> Result<(), Fault> {
        let accepted = self.accepted().await?;
        // A server that was removed from the config meanwhile offers nothing.
        if let Ok(server) = self.server(name) {
            self.offer(&server, &accepted);
        }
        Ok(())
    }

    fn withdraw(&self, server: &Server) {
        let registered = std::mem::take(&mut *server.registered());
        if let Some(toolbox) = self.toolbox.get() {
            toolbox.remove(&registered.registrations);
        }
    }

    fn audit(&self, approver: &Approver, what: String) -> AuditEntry {
        AuditEntry {
            ts: self.setup.clock.wall(),
            person: self.setup.owner.clone(),
            actor: Actor::Person(approver.person().clone()),
            agent: None,
            session: None,
            run: None,
            tool: Some(RecordedTool::constant("mcp")),
            effect: None,
            decision: None,
            diff_summary: what,
            result: "ok".to_owned(),
        }
    }
}

impl Server {
    fn registered(&self) -> MutexGuard<'_, RegisteredTools> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The usable tools of a server: those that are accepted and allowed, and whose latest known
/// description is the accepted one. Names that differ only in case count as one, and the first is
/// used.
fn usable(host: &Host, accepted: &[Acceptance]) -> Vec<ToolPin> {
    if !host.settings().enabled {
        return Vec::new();
    }
    let listed = host.seen();
    let mut names = BTreeSet::new();
    let own = accepted.iter().filter_map(|row| {
        let tool = row.name.strip_prefix(host.name())?.strip_prefix('/')?;
        let pin = ToolPin::accepted(&row.content).filter(|pin| pin.hash == row.hash)?;
        (pin.name == tool).then_some(pin)
    });
    own.filter(|pin| host.settings().tools.allows(&pin.name))
        .filter(|pin| match &listed {
            // The server was not asked yet; that happens before the first call.
            None => true,
            Some(listed) => listed.iter().any(|now| now.name == pin.name && now.hash == pin.hash),
        })
        .filter(|pin| names.insert(pin.name.to_lowercase()))
        .collect()
}

impl From<&McpError> for ServerStatus {
    fn from(error: &McpError) -> Self {
        Self::Failing(error.to_string())
    }
}
