//! Several gateways on one database: this one applies what the others changed, notifies them of its
//! own changes, asks them about their runs, and answers their questions. A single process uses none
//! of this.

mod ask;
mod draft_leases;
mod drain;
mod follow;
mod greet;
mod peers;
mod proof;
mod routes;
mod sign_ins;
mod tell;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use onyx_identity::MasterKey;
use onyx_storage::{OwnedDuty, StoreError};
use onyx_types::Cancel;

use super::live::Live;
use super::storage::SharedStorage;
use draft_leases::SharedDraftLeases;
use peers::Peers;
use proof::{GatewayKey, ProofClock};
use routes::PeerServices;

pub(crate) use greet::{GreetResult, greet};
pub(crate) use sign_ins::SharedLogins;

/// How often runs and jobs of a dead gateway are looked for.
pub(super) const LOOK_AFTER: Duration = Duration::from_secs(2);
/// How often accounts of a dead gateway are looked for.
const ACCOUNTS: Duration = Duration::from_secs(5);
const TIDYING: Duration = Duration::from_secs(60);
/// How long a log must be idle before it is moved into the object store.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Connects the agent with the other gateways, and returns the routes for them.
pub(super) fn join(live: &Arc<Live>) -> Result<Option<Router>> {
    let Some(shared) = &live.shared else { return Ok(None) };
    let key = Arc::new(gateway_key(&shared.master));
    let peers = Peers::new(Arc::clone(shared), Arc::clone(&key))?;
    let leases = SharedDraftLeases::new(Arc::clone(shared));
    live.agent.set_others(Arc::new(peers), Arc::new(leases));
    let id = shared.membership.id().to_owned();
    let clock = ProofClock::Gateway(Arc::clone(shared));
    Ok(Some(routes::router(PeerServices { id, key, clock, agent: live.agent.clone() })))
}

/// The key by which gateways of one database recognise each other.
fn gateway_key(master: &MasterKey) -> GatewayKey {
    GatewayKey::new(master.derived("onyx: between gateways"))
}

/// Exchanges changes with the other gateways until it is stopped.
pub(super) async fn tend(live: Arc<Live>, stop: Cancel) {
    let Some(shared) = live.shared.clone() else { return };
    let asked_to_drain = Cancel::new();
    tokio::select! {
        () = follow::follow(&live, &shared, &asked_to_drain) => {}
        () = drain::when_asked(&live, &shared, &asked_to_drain) => {}
        () = clean_up(&shared) => {}
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

/// It is enough if one of the gateways does this. One that is drained lets the others do it.
async fn clean_up(shared: &SharedStorage) {
    loop {
        tokio::time::sleep(TIDYING).await;
        let owned = match shared.own_clean_up().await {
            Ok(Some(owned)) => owned,
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!(%error, "cannot find out which gateway cleans up");
                continue;
            }
        };
        if let Err(error) = seal_idle(shared, &owned).await {
            tracing::warn!(%error, "idle logs could not be moved out of the database yet");
        }
        if let Err(error) = sweep(shared, &owned).await {
            tracing::warn!(%error, "outdated rows and objects could not be removed");
        }
    }
}

/// Moves all idle logs into the object store, some at a time.
async fn seal_idle(shared: &SharedStorage, owned: &OwnedDuty) -> Result<(), StoreError> {
    let membership = &shared.membership;
    while membership.still_owns(owned) && membership.seal_idle_logs(IDLE).await? > 0 {}
    Ok(())
}

async fn sweep(shared: &SharedStorage, owned: &OwnedDuty) -> Result<(), StoreError> {
    let membership = &shared.membership;
    membership.forget_notices().await?;
    membership.sweep_short_lived().await?;
    membership.remove_outdated_rows().await?;
    membership.sweep_objects(owned).await?;
    Ok(())
}
