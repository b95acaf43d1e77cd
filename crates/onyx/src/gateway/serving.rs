//! The tasks of an open gateway: its servers, and the work that happens beside requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use onyx_api::{ApiState, ConnectionRuntimes, Shared};
use onyx_types::Cancel;
use tokio::net::TcpListener;

use super::live::Live;
use super::socket::HomeSocket;
use super::{Gateway, cluster, memory};
use crate::config;

/// How often passing sessions and other outdated data are removed.
const TIDYING: Duration = Duration::from_secs(60 * 60);

impl Gateway {
    /// Answers on the home's socket, follows edits of the config and looks after runs.
    pub(crate) fn serve_home(&mut self) -> Result<()> {
        let (listener, key, socket) = HomeSocket::bind(&self.live.home)?;
        let (router, runtimes) = (key.guard(self.router()), ConnectionRuntimes::current_and([]));
        let admission = Arc::clone(&self.live.admission);
        let stop = self.stop.clone();
        self.servers.spawn(onyx_api::serve(listener, router, runtimes, admission, stop));
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

    pub(crate) async fn serve_network(
        &mut self,
        listener: TcpListener,
        address: SocketAddr,
        runtimes: ConnectionRuntimes,
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
        self.servers.spawn(onyx_api::serve(listener, router, runtimes, admission, stop));
        Ok(())
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

    /// Closes the runs of a process that is gone. Several gateways look regularly, because people
    /// may be waiting for such a run.
    fn tend_runs(&mut self) {
        let (agent, stop) = (self.live.agent.clone(), self.stop.clone());
        if self.live.shared.is_none() {
            self.servers.spawn(async move { agent.tend(&stop).await });
            return;
        }
        let until_drained = self.until_drained();
        let agent_tends =
            async move { agent.tend_every(cluster::LOOK_AFTER, &until_drained).await };
        self.servers.spawn(agent_tends);
        self.servers.spawn(cluster::tend(Arc::clone(&self.live), stop));
    }

    /// Cancelled when the gateway stops, and before that when it is drained. From then on it could
    /// begin nothing of what it would look for.
    fn until_drained(&mut self) -> Cancel {
        let until = self.stop.child();
        if let Some(shared) = self.live.shared.clone() {
            let ends = until.clone();
            self.servers.spawn(async move {
                tokio::select! {
                    () = shared.draining.cancelled() => ends.cancel(),
                    () = ends.cancelled() => {}
                }
            });
        }
        until
    }

    /// Watches for plugins that change.
    fn tend_plugins(&mut self) {
        let (plugins, stop) = (self.live.extensions.plugins.clone(), self.stop.clone());
        self.servers.spawn(async move { plugins.tend(&stop).await });
    }

    /// Starts to fire jobs when they are due.
    pub(crate) fn fire_jobs(&mut self) {
        let (agent, stop) = (self.live.agent.clone(), self.until_drained());
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

    /// Deletes passing sessions and temporary chats that are old enough, now and every hour. Of
    /// several gateways, the one that cleans up does this.
    pub(crate) fn tidy_up(&mut self) {
        let (live, stop) = (Arc::clone(&self.live), self.stop.clone());
        self.servers.spawn(async move {
            loop {
                if cleans_up(&live).await {
                    remove_expired(&live).await;
                }
                tokio::select! {
                    () = tokio::time::sleep(TIDYING) => {}
                    () = stop.cancelled() => return,
                }
            }
        });
    }
}

/// Whether this process removes what is too old, for all gateways if there are several.
async fn cleans_up(live: &Live) -> bool {
    let Some(shared) = &live.shared else { return true };
    match shared.own_clean_up().await {
        Ok(owned) => owned.is_some(),
        Err(error) => {
            tracing::warn!(%error, "cannot find out which gateway cleans up; trying again in an hour");
            false
        }
    }
}

async fn remove_expired(live: &Live) {
    let (agent, artifacts) = (&live.agent, &live.extensions.artifacts);
    if let Err(fault) = agent.sessions.delete_expired().await {
        tracing::warn!(%fault, "old passing sessions could not be removed");
    }
    match artifacts.expire(agent.now(), &*live.store.ledger).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "old outputs were removed"),
        Err(fault) => tracing::warn!(%fault, "old outputs could not be removed"),
    }
}
