//! Opens a gateway over a home: reads the config, makes the services, and closes what a crash left
//! open. Nothing is served here.

use std::net::SocketAddr;
use std::sync::{Arc, RwLock};

use anyhow::{Context, Result};
use onyx_agent::{AgentOptions, AgentServices};
use onyx_api::{Admission, Authenticator, Changes, Exposure, PassThrough};
use onyx_identity::{DeclaredPeople, Identity, Secrets, SharedAuthentication};
use onyx_knowledge::{Chunking, Index, IndexSettings};
use onyx_sources::Sources;
use onyx_storage::{CredentialKind, Home, Store};
use onyx_types::{Cancel, Clock};
use tokio::task::JoinSet;

use super::cluster::SharedLogins;
use super::connectors::{ConfiguredConnectors, ConnectorsAgent};
use super::health::Machine;
use super::live::{AppliedConfig, Live};
use super::memory::LiveMemory;
use super::parts::{GatewayBase, Parts};
use super::storage::{OpenedStorage, SharedStorage};
use super::{Gateway, TokenPlace, secret_keys};
use super::{backups, clock, cluster, connectors, live, pauses, sources, storage};
use crate::home::HomeFolder;

impl Gateway {
    /// Wires everything over a home that this process has taken, and closes runs that a crash
    /// left open.
    pub(crate) async fn open(folder: &HomeFolder, home: Home) -> Result<Self> {
        let clock = clock::clock();
        let pauses = pauses::pauses();
        let OpenedStorage { mut store, shared } = storage::open(folder, home, &clock).await?;
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
            connectors: ConfiguredConnectors::new(connectors, parts.connectors),
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
}

fn index_settings(folder: &HomeFolder) -> IndexSettings {
    IndexSettings { home: folder.path().to_owned(), chunking: Chunking::default() }
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
    declared: DeclaredPeople,
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
