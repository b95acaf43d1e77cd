//! Lists the gateways for the owner, and drains this one when it is asked to.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use onyx_api::{GatewayView, GatewayViewState, Gateways};
use onyx_storage::{GatewayOverview, GatewayState, StoreError};
use onyx_types::{Cancel, ErrorCode, Fault};

use crate::gateway::duty::Duty;
use crate::gateway::live::Live;
use crate::gateway::storage::SharedStorage;

/// How long running answers may continue.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until the owner asks for it, then gives everything back. Read requests are still answered
/// after that.
pub(super) async fn when_asked(live: &Live, shared: &SharedStorage, asked: &Cancel) {
    asked.cancelled().await;
    tracing::info!("draining: this gateway starts nothing new, and running answers end");
    shared.membership.begin_draining();
    shared.draining.cancel();
    live.leave_accounts().await;
    live.agent.drain(PATIENCE).await;
    match shared.membership.end_draining().await {
        Ok(()) => tracing::info!("drained: the other gateways have what this one held"),
        Err(error) => tracing::warn!(%error, "the others wait until this gateway's life is over"),
    }
    std::future::pending().await
}

impl Gateways for Live {
    fn list(&self) -> BoxFuture<'_, Result<Vec<GatewayView>, Fault>> {
        async {
            let Some(shared) = &self.shared else { return Ok(Vec::new()) };
            let all = shared.membership.overview().await?;
            Ok(all.into_iter().map(|one| view(one, shared.membership.id())).collect())
        }
        .boxed()
    }

    fn drain<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        async move {
            let none = || Fault::new(ErrorCode::NotFound, format!("There is no gateway {id:?}."));
            let shared = self.shared.as_ref().ok_or_else(none)?;
            match shared.membership.ask_to_drain(id).await {
                Ok(()) => Ok(()),
                Err(StoreError::NotFound) => Err(none()),
                Err(error) => Err(error.into()),
            }
        }
        .boxed()
    }
}

fn view(one: GatewayOverview, here: &str) -> GatewayView {
    let owned: Vec<Duty> = one.owns.iter().map(|name| Duty::named(name)).collect();
    let drafts = owned.iter().filter(|duty| matches!(duty, Duty::Draft(_))).count();
    let account = |duty: &Duty| match duty {
        Duty::Connector(account) => Some(account.clone()),
        _ => None,
    };
    let connectors = owned.iter().filter_map(account).collect();
    let duties = owned.into_iter().filter_map(Duty::view).collect();
    GatewayView {
        answers_you: one.id == here,
        id: one.id,
        url: one.url,
        version: one.version,
        state: match one.state {
            GatewayState::Serving => GatewayViewState::Serving,
            GatewayState::Silent => GatewayViewState::Silent,
            GatewayState::Draining => GatewayViewState::Draining,
            GatewayState::Drained => GatewayViewState::Drained,
        },
        since: one.since,
        silent_for_ms: u64::try_from(one.silent_for.as_millis()).unwrap_or(u64::MAX),
        runs: one.runs,
        jobs: one.jobs,
        drafts: u64::try_from(drafts).unwrap_or(u64::MAX),
        connectors,
        duties,
    }
}
