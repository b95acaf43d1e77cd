//! The gateway of a home: wired up over its stores (`opening.rs`), at work (`serving.rs`), and shut
//! down in order.

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
mod opening;
mod parts;
mod pauses;
mod probe;
mod readiness;
mod runtimes;
mod secrets;
mod serving;
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
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use onyx_api::{LogRing, PassThrough, Traffic};
use onyx_sources::Sources;
use onyx_types::Cancel;
use tokio::task::JoinSet;

use crate::config::ConfigError;
use live::Live;
use socket::HomeSocket;

pub(crate) use backups::summary as backup_summary;
pub(crate) use claim::{Claim, Unreachable, claim};
pub(crate) use cluster::{GreetResult, greet};
pub(crate) use connection::Connection;
pub(crate) use local::LocalHost;
pub(crate) use logins::KeptTokens;
pub(crate) use models::{RegistrySetup, embedded_model, registry};
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

    /// Releases the sessions, drafts and accounts that other gateways may take over. Work that
    /// they need not wait for comes after this.
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
}
