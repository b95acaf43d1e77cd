//! This gateway among several: it follows what the others did, tells them what happens here, asks them about runs of
//! theirs, and answers them. In one process none of this is there.

mod peers;
mod proof;
mod routes;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use onyx_agent::Notice;
use onyx_storage::{Heard, News};
use onyx_types::{Cancel, Fault};
use tokio::sync::broadcast::error::RecvError;

use super::live::Live;
use super::storage::SharedStorage;
use peers::{Peers, SharedDraftLeases};
use proof::GatewayKey;
use routes::Answering;

/// How often the database is asked what the others did.
const POLL: Duration = Duration::from_millis(300);
/// How long notices are gathered before they are passed on together.
const GATHER: Duration = Duration::from_millis(20);
/// Runs and jobs of a gateway that died are looked for so often.
pub(super) const LOOK_AFTER: Duration = Duration::from_secs(2);
/// Accounts of a gateway that died are looked for so often.
const ACCOUNTS: Duration = Duration::from_secs(5);
const TIDYING: Duration = Duration::from_secs(60);
/// A log that nobody has written to for so long goes into the object store.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Connects the agent with the other gateways, and gives the routes by which they reach it.
pub(super) fn join(live: &Arc<Live>) -> Result<Option<Router>> {
    let Some(shared) = &live.shared else { return Ok(None) };
    let key = Arc::new(GatewayKey::new(shared.master.derived("onyx: between gateways")));
    let peers = Peers::new(Arc::clone(shared), Arc::clone(&key), live.agent.clock())?;
    let leases = SharedDraftLeases(Arc::clone(shared));
    live.agent.set_others(Arc::new(peers), Arc::new(leases));
    let id = shared.membership.id().to_owned();
    Ok(Some(routes::router(Answering { id, key, agent: live.agent.clone() })))
}

/// Follows and tells until it is told to stop.
pub(super) async fn tend(live: Arc<Live>, stop: Cancel) {
    let Some(shared) = live.shared.clone() else { return };
    tokio::select! {
        () = follow(&live, &shared) => {}
        () = tell(&live, &shared) => {}
        () = tidy(&shared) => {}
        () = keep_accounts(&live) => {}
        () = stop.cancelled() => {}
    }
}

async fn follow(live: &Live, shared: &SharedStorage) {
    let mut heard = Heard::default();
    // What changed between the start and the first look is looked at once.
    let mut news = News { accounts: true, secrets: true, config: true, ..News::default() };
    loop {
        match shared.membership.news(&mut heard).await {
            Ok(more) => {
                news.accounts |= more.accounts;
                news.secrets |= more.secrets;
                news.config |= more.config;
                news.notices = more.notices;
                if let Err(fault) = take_up(live, &mut news).await {
                    tracing::warn!(%fault, "what other gateways changed is taken up later");
                }
            }
            Err(error) => tracing::warn!(%error, "the other gateways cannot be heard"),
        }
        tokio::time::sleep(POLL).await;
    }
}

/// What could not be taken up stays marked for the next time.
async fn take_up(live: &Live, news: &mut News) -> Result<(), Fault> {
    for notice in news.notices.drain(..) {
        // One that a newer gateway wrote in another form is a hint that is lost.
        if let Ok(notice) = serde_json::from_str::<Notice>(&notice) {
            live.agent.hear(notice).await;
        }
    }
    if news.accounts {
        live.auth.identity().follow().await?;
        news.accounts = false;
    }
    if news.secrets {
        live.secrets.refresh().await?;
        news.secrets = false;
    }
    if news.config {
        live.follow_config().await?;
        news.config = false;
    }
    Ok(())
}

async fn tell(live: &Live, shared: &SharedStorage) {
    let mut own = live.agent.own_notices();
    loop {
        let mut told = Vec::new();
        match own.recv().await {
            Ok(notice) => told.extend(serde_json::to_string(&notice)),
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "the other gateways were not told of everything");
            }
            Err(RecvError::Closed) => return std::future::pending().await,
        }
        tokio::time::sleep(GATHER).await;
        while let Ok(notice) = own.try_recv() {
            told.extend(serde_json::to_string(&notice));
        }
        if let Err(error) = shared.membership.notify(&told).await {
            tracing::warn!(%error, "the other gateways could not be told");
        }
    }
}

async fn keep_accounts(live: &Live) {
    loop {
        tokio::time::sleep(ACCOUNTS).await;
        live.look_after_accounts().await;
    }
}

async fn tidy(shared: &SharedStorage) {
    loop {
        tokio::time::sleep(TIDYING).await;
        let membership = &shared.membership;
        if let Err(error) = membership.seal_idle_logs(IDLE).await {
            tracing::warn!(%error, "idle logs stay in the database for now");
        }
        // One of the gateways is enough.
        let swept = async {
            if membership.own("sweep").await?.is_some() {
                membership.forget_notices().await?;
                membership.sweep_objects().await?;
            }
            Ok::<_, onyx_storage::StoreError>(())
        };
        if let Err(error) = swept.await {
            tracing::warn!(%error, "what nobody needs any more could not be removed");
        }
    }
}
