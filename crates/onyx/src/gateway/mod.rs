//! Wires up the store, providers, tools, agent services and servers, and shuts them down in order.

mod backups;
mod bedrock;
mod booked;
mod catalogue;
mod claim;
mod clock;
mod cluster;
mod connection;
mod connectors;
mod duty;
mod health;
mod late_gateway;
mod linkedin;
mod live;
mod local;
mod logins;
mod memory;
mod models;
mod parts;
mod pauses;
mod probe;
mod runtimes;
mod secrets;
mod settings;
mod socket;
mod sources;
mod storage;
mod subscription;
mod token;
mod tool_services;
mod upstream;
mod witnesses;

use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use onyx_agent::{AgentOptions, AgentServices};
use onyx_api::{
    Admission, ApiState, Authenticator, Changes, Exposure, Lanes, LogRing, PassThrough, Shared,
    Traffic,
};
use onyx_identity::{Declared, Identity, Secrets, SharedAuthentication};
use onyx_knowledge::{Chunking, Index, IndexSettings};
use onyx_sources::Sources;
use onyx_storage::{CredentialKind, Home, Store};
use onyx_types::{Cancel, Clock};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::config::{self, ConfigError};
use crate::home::HomeFolder;
use cluster::SharedLogins;
use connectors::{ConnectorsAgent, PlannedConnectors};
use health::Machine;
use live::{AppliedConfig, Live};
use memory::LiveMemory;
use parts::{GatewayBase, Parts};
use socket::HomeSocket;
use storage::{Opened, SharedStorage};

pub(crate) use backups::summary as backup_summary;
pub(crate) use claim::{Claim, Unreachable, claim};
pub(crate) use cluster::{Greeted, greet};
pub(crate) use connection::Connection;
pub(crate) use local::LocalHost;
pub(crate) use logins::KeptTokens;
pub(crate) use models::{RegistrySetup, registry};
pub(crate) use parts::sandbox;
pub(crate) use runtimes::{RUNTIME_CHILD, RuntimeHost};
pub(crate) use secrets::{StoredSecrets, secret_keys};
pub(crate) use sources::document_reader;
pub(crate) use storage::{master_key, server_settings};
pub(crate) use token::{TokenPlace, place as token_place};

/// How long running answers may continue after the process was asked to stop.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last bytes may take after that.
const FAREWELL: Duration = Duration::from_secs(2);

fn index_settings(folder: &HomeFolder) -> IndexSettings {
    IndexSettings { home: folder.path().to_owned(), chunking: Chunking::default() }
}

/// How often passing sessions and other outdated data are removed.
const TIDYING: Duration = Duration::from_secs(60 * 60);

/// An open home with everything that serves it. Only one process can have it.
pub(crate) struct Gateway {
    live: Arc<Live>,
    /// The address to listen at, from the config at the start.
    address: SocketAddr,
    token_place: TokenPlace,
    sources: Sources,
    servers: JoinSet<()>,
    stop: Cancel,
    socket: Option<HomeSocket>,
    traffic: Arc<Traffic>,
    pass_through: PassThrough,
    logs: Arc<LogRing>,
    /// The routes for other gateways.
    internal: Option<Router>,
}

impl Gateway {
    /// Wires everything over a home that this process has taken, and closes runs that a crash
    /// left open.
    pub(crate) async fn open(folder: &HomeFolder, home: Home) -> Result<Self> {
        let clock = clock::clock();
        let pauses = pauses::pauses();
        let Opened { mut store, shared } = storage::open(folder, home, &clock).await?;
        let index = Index::new(store.clone(), Arc::clone(&clock), index_settings(folder));
        index.set_pauses(pauses.clone());
        // From here on all writes go through the index, so that each is found by the next search.
        store.files = index.observe(Arc::clone(&store.files));
        let keys = secret_keys(shared.as_ref().map(|shared| shared.master.clone()));
        let secrets = Secrets::open(Arc::clone(&store.secrets), Arc::clone(&clock), keys);
        let secrets = Arc::new(secrets.await?);
        let sign_ins = shared.clone().map(|shared| SharedLogins::new(shared, Arc::clone(&secrets)));
        let exposure = exposure(&store).await?;
        let base = GatewayBase {
            folder,
            store: &store,
            index: &index,
            secrets: &secrets,
            clock: &clock,
            exposure,
            shared: shared.as_deref(),
            sign_ins: sign_ins.as_ref(),
        };
        let (parts, broken) = Parts::of_usable_config(&base)?;
        let identity = identity(&store, &clock, parts.declared, shared.as_deref()).await?;
        let auth = Authenticator::new(Arc::new(identity));
        auth.set_front(parts.front);
        parts.extensions.skills.set_workspaces(live::workspaces(&parts.roster));
        let agent = AgentServices::new(
            store.clone(),
            Arc::clone(&parts.toolbox),
            Arc::clone(&parts.models) as Arc<dyn onyx_agent::Models>,
            parts.roster,
            Arc::clone(&clock),
            options(parts.max_runs)?,
        );
        agent.set_titles(parts.titles);
        agent.set_pauses(pauses.clone());
        let sources = sources::open(&store, &parts.tools.web, &clock, &pauses)?;
        agent.set_index(index.clone());
        agent.set_skills(parts.extensions.skills.clone());
        parts.extensions.artifacts.recall().await.context("cannot read stored outputs")?;
        agent.preferences.follow_zones().await.context("cannot read people's time zones")?;
        live::declare_zones(&agent, parts.zones);
        agent.jobs.set_outside(parts.outside);
        agent.jobs.set_settings(parts.jobs.check(&auth.identity().owner()?)?);
        let plugins = &parts.extensions.plugins;
        plugins.follow(&parts.plugins).await.context("cannot read the plugins")?;
        let servers = plugins.with_servers(&parts.mcp);
        parts.extensions.mcp.follow(&servers).await.context("cannot offer the MCP tools")?;
        recover(&agent).await?;
        let (auth, changes) = (Arc::new(auth), Changes::default());
        let link = Arc::new(RwLock::new(parts.link));
        let connectors = connectors::open(
            &store,
            folder.path(),
            &clock,
            ConnectorsAgent {
                agent: agent.clone(),
                store: store.clone(),
                auth: Arc::clone(&auth),
                changes: changes.clone(),
                link: Arc::clone(&link),
            },
        );
        agent.jobs.set_mail(connectors::job_mail(&parts.connectors));
        agent.jobs.set_peers(Arc::new(connectors::JobPeers(connectors.downgrade())));
        agent.jobs.set_backups(Arc::new(backups::ServerBackups {
            home: folder.clone(),
            clock: Arc::clone(&clock),
            secrets: Arc::clone(&secrets),
            shared: shared.clone(),
        }));
        let live = Live {
            connectors: PlannedConnectors::new(connectors, parts.connectors),
            home: folder.clone(),
            store,
            index,
            memory: LiveMemory::new(parts.memory),
            toolbox: parts.toolbox,
            extensions: parts.extensions,
            tools: parts.tools,
            models: parts.models,
            agent,
            auth,
            secrets,
            masker: parts.masker,
            applied: AppliedConfig::new(broken, link),
            changes,
            admission: Admission::new(parts.connections),
            machine: Machine::new(parts.docker),
            shared,
            sign_ins,
        };
        let live = Arc::new(live);
        parts.late_gateway.open(&live);
        Self::of(live, sources, parts.address, parts.token_place)
    }

    fn of(
        live: Arc<Live>,
        sources: Sources,
        address: SocketAddr,
        token_place: TokenPlace,
    ) -> Result<Self> {
        Ok(Self {
            internal: cluster::join(&live)?,
            live,
            address,
            token_place,
            sources,
            servers: JoinSet::new(),
            stop: Cancel::new(),
            socket: None,
            traffic: Arc::default(),
            pass_through: PassThrough::default(),
            logs: Arc::default(),
        })
    }

    /// Shows these logs to the owner, with the secrets of providers and people masked.
    pub(crate) fn show_logs(&mut self, logs: Arc<LogRing>) {
        let masker = self.live.masker.clone();
        logs.set_mask(Arc::new(move |text: &str| masker.mask(text).into_owned()));
        self.logs = logs;
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn token_place(&self) -> &TokenPlace {
        &self.token_place
    }

    /// Why the config file is not in use, if it is not.
    pub(crate) fn broken_config(&self) -> Option<ConfigError> {
        self.live.broken()
    }

    /// Answers on the home's socket, follows edits of the config and looks after runs.
    pub(crate) fn serve_home(&mut self) -> Result<()> {
        let (listener, key, socket) = HomeSocket::bind(&self.live.home)?;
        let (router, lane) = (key.guard(self.router()), Lanes::here_and([]));
        let admission = Arc::clone(&self.live.admission);
        let stop = self.stop.clone();
        self.servers.spawn(onyx_api::serve(listener, router, lane, admission, stop));
        self.socket = Some(socket);
        self.tend_runs();
        let (mcp, stop) = (self.live.extensions.mcp.clone(), self.stop.clone());
        self.servers.spawn(async move { mcp.tend(&stop).await });
        self.tend_plugins();
        let mut watch = config::watch(&self.live.home)?;
        let (live, stop) = (Arc::clone(&self.live), self.stop.clone());
        self.servers.spawn(async move {
            loop {
                tokio::select! {
                    () = watch.edited() => live.reload().await,
                    () = live.secrets.changed() => live.reload().await,
                    () = live.extensions.plugins.changed() => live.reload().await,
                    () = stop.cancelled() => return,
                }
            }
        });
        Ok(())
    }

    /// Closes the runs of a process that is gone. Several gateways look regularly, because people
    /// may be waiting for such a run.
    fn tend_runs(&mut self) {
        let (agent, stop) = (self.live.agent.clone(), self.stop.clone());
        if self.live.shared.is_none() {
            self.servers.spawn(async move { agent.tend(&stop).await });
            return;
        }
        self.servers.spawn(async move { agent.tend_every(cluster::LOOK_AFTER, &stop).await });
        let (live, stop) = (Arc::clone(&self.live), self.stop.clone());
        self.servers.spawn(cluster::tend(live, stop));
    }

    /// Watches for plugins that change.
    fn tend_plugins(&mut self) {
        let (plugins, stop) = (self.live.extensions.plugins.clone(), self.stop.clone());
        self.servers.spawn(async move { plugins.tend(&stop).await });
    }

    /// Starts to fire jobs when they are due.
    pub(crate) fn fire_jobs(&mut self) {
        let (agent, stop) = (self.live.agent.clone(), self.stop.clone());
        self.servers.spawn(async move { agent.jobs.tend(&stop).await });
    }

    /// Starts to connect to the networks of the config.
    pub(crate) async fn connect(&mut self) {
        self.live.extensions.plugins.begin();
        self.live.connect().await;
    }

    /// Starts to keep the index up to date in the background.
    pub(crate) fn tend_index(&mut self) {
        let (live, stop) = (Arc::clone(&self.live), self.stop.clone());
        self.servers.spawn(async move { memory::tend(&live, stop).await });
    }

    /// Deletes passing sessions and temporary chats that are old enough, now and every hour.
    pub(crate) fn tidy_up(&mut self) {
        let (live, stop) = (Arc::clone(&self.live), self.stop.clone());
        self.servers.spawn(async move {
            let (agent, artifacts) = (&live.agent, &live.extensions.artifacts);
            loop {
                if let Err(fault) = agent.sessions.delete_expired().await {
                    tracing::warn!(%fault, "old passing sessions could not be removed");
                }
                match artifacts.expire(agent.now(), &*live.store.ledger).await {
                    Ok(0) => {}
                    Ok(removed) => tracing::info!(removed, "old outputs were removed"),
                    Err(fault) => tracing::warn!(%fault, "old outputs could not be removed"),
                }
                tokio::select! {
                    () = tokio::time::sleep(TIDYING) => {}
                    () = stop.cancelled() => return,
                }
            }
        });
    }

    pub(crate) async fn serve_network(
        &mut self,
        listener: TcpListener,
        address: SocketAddr,
        lanes: Lanes,
    ) -> Result<()> {
        self.live.auth.listens_at(address);
        if let Some(shared) = &self.live.shared {
            shared.listens_at(address).await?;
        }
        let admission = Arc::clone(&self.live.admission);
        let stop = self.stop.clone();
        // The routes for other gateways are outside of the checks of Host and Origin, which are
        // for browsers.
        let router = match self.internal.clone() {
            Some(internal) => self.router().merge(internal),
            None => self.router(),
        };
        self.servers.spawn(onyx_api::serve(listener, router, lanes, admission, stop));
        Ok(())
    }

    /// A link that signs the owner in on this machine; `None` if no link can lead here.
    pub(crate) async fn create_link(&self) -> Result<Option<String>> {
        let auth = &self.live.auth;
        Ok(auth.create_link(&auth.identity().local_user()?).await?)
    }

    /// Accepts no more requests, lets running answers end for a while, then stops them, notifies
    /// their clients, and releases the home.
    pub(crate) async fn close(mut self) {
        self.stop.cancel();
        tokio::join!(self.give_sessions_back(), self.pass_through.drain(PATIENCE));
        self.live.agent.settle().await;
        self.live.extensions.plugins.close().await;
        let all = async { while self.servers.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            tracing::warn!("some clients did not read their last bytes in time");
        }
        self.servers.shutdown().await;
    }

    /// Releases the sessions, drafts and accounts that other gateways may take over. Work that they need not wait for
    /// comes after this.
    async fn give_sessions_back(&self) {
        self.live.connectors.all.close().await;
        self.live.agent.drain(PATIENCE).await;
        // A sign-in that is being renewed here must not be renewed elsewhere at the same time.
        tokio::join!(self.live.models.logins().settle(), self.live.tools.linkedin.logins.settle());
        if let Some(shared) = &self.live.shared
            && let Err(error) = shared.membership.drain().await
        {
            tracing::warn!(%error, "this gateway could not sign off; the others wait until its time runs out");
        }
    }

    fn router(&self) -> Router {
        onyx_api::router(ApiState::new(Shared {
            agent: self.live.agent.clone(),
            store: self.live.store.clone(),
            sources: self.sources.clone(),
            index: self.live.index.clone(),
            auth: Arc::clone(&self.live.auth),
            secrets: Arc::clone(&self.live.secrets),
            readiness: Arc::clone(&self.live) as Arc<dyn onyx_api::Readiness>,
            configuration: Arc::clone(&self.live) as Arc<dyn onyx_api::Configuration>,
            catalogue: Arc::clone(&self.live.models) as Arc<dyn onyx_api::Catalogue>,
            upstream: Arc::clone(&self.live.models) as Arc<dyn onyx_api::Upstream>,
            traffic: Arc::clone(&self.traffic),
            admission: Arc::clone(&self.live.admission),
            pass_through: self.pass_through.clone(),
            logs: Arc::clone(&self.logs),
            changes: self.live.changes.clone(),
            extensions: self.live.extensions.clone(),
            connectors: self.live.connectors.all.clone(),
        }))
    }
}

/// Closes what an earlier process left open.
async fn recover(agent: &AgentServices) -> Result<()> {
    let closed = agent.recover().await.context("cannot close interrupted runs")?;
    if closed > 0 {
        tracing::info!(closed, "runs of an earlier process were closed as interrupted");
    }
    let cut_off = agent.jobs.recover().await.context("cannot read interrupted jobs")?;
    if cut_off > 0 {
        tracing::warn!(cut_off, "jobs of an earlier process were interrupted");
    }
    Ok(())
}

/// The store of people and credentials. In server mode it follows the changes of other gateways.
async fn identity(
    store: &Store,
    clock: &Arc<dyn Clock>,
    declared: Declared,
    shared: Option<&SharedStorage>,
) -> Result<Identity> {
    let (accounts, clock) = (Arc::clone(&store.accounts), Arc::clone(clock));
    Ok(match shared {
        Some(shared) => {
            let sign_ins = SharedAuthentication {
                access_key: shared.master.derived("onyx: access tokens"),
                pending: shared.membership.short_lived(),
                failures: shared.membership.failures(),
            };
            Identity::open_shared(accounts, clock, declared, sign_ins).await?
        }
        None => Identity::open(accounts, clock, declared).await?,
    })
}

/// Whether a password or a token exists.
async fn exposure(store: &Store) -> Result<Exposure> {
    let has_password = !store.accounts.passwords().await?.is_empty();
    let tokens = store.accounts.credentials().await?;
    let has_token = tokens.iter().any(|row| row.kind == CredentialKind::Token);
    Ok(if has_password || has_token { Exposure::Guarded } else { Exposure::Unguarded })
}

fn options(max_runs: usize) -> Result<AgentOptions> {
    let mut seed = [0; 8];
    let mut fence_secret = [0; 32];
    getrandom::fill(&mut seed)
        .and_then(|()| getrandom::fill(&mut fence_secret))
        .context("the system provides no random numbers")?;
    Ok(AgentOptions { max_runs, seed: u64::from_le_bytes(seed), fence_secret })
}
