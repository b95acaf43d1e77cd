//! This gateway among several: it follows what the others did, tells them what happens here, asks them about runs of
//! theirs, and answers them. In one process none of this is there.

mod drain;
mod follow;
mod peers;
mod proof;
mod routes;
mod sign_ins;
mod tell;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use onyx_types::Cancel;

use super::duty::Duty;
use super::live::Live;
use super::storage::SharedStorage;
use peers::{Peers, SharedDraftLeases};
use proof::GatewayKey;
use routes::Answering;

pub(crate) use sign_ins::SharedLogins;

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
    let asked_to_drain = Cancel::new();
    tokio::select! {
        () = follow::follow(&live, &shared, &asked_to_drain) => {}
        () = drain::when_asked(&live, &shared, &asked_to_drain) => {}
        () = tidy(&shared) => {}
        () = keep_accounts(&live) => {}
        () = stop.cancelled() => {}
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
            if membership.own(&Duty::CleanUp.to_string()).await?.is_some() {
                membership.forget_notices().await?;
                membership.sweep_sign_ins().await?;
                membership.sweep_objects().await?;
            }
            Ok::<_, onyx_storage::StoreError>(())
        };
        if let Err(error) = swept.await {
            tracing::warn!(%error, "what nobody needs any more could not be removed");
        }
    }
}
