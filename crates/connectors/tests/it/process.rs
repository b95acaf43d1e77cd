//! Stands in for a process that runs connectors. It has a home and a runtime of its own, which a
//! test can end at any moment together with everything in memory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onyx_connectors::{
    AccountStatus, Binding, ConnectorSetup, Connectors, ConnectorsSettings, PaceLimits,
    ResolvedConnectors, WaitTimes, resolve_connectors,
};
use onyx_egress::{Bounds, Egress, SystemResolver};
use onyx_storage::{AccountKey, Home, Store};
use onyx_test_support::networks::{FakeTelegram, TELEGRAM_TOKEN};
use onyx_test_support::wait_for;
use onyx_types::{Clock, SystemClock, Zone};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::agent::TestAgent;

/// How long tests wait. It is long enough for a busy machine, so that only what never happens is a
/// failure.
pub(crate) const SOON: Duration = Duration::from_secs(60);
pub(crate) const GAP: Duration = Duration::from_millis(30);

/// Shorter times than the real ones, so that what takes a second takes milliseconds. Only a request
/// may take long, because one that is given up on a busy machine is a message that may be lost.
pub(crate) const WAIT_TIMES: WaitTimes = WaitTimes {
    poll: Duration::from_millis(200),
    request: Duration::from_secs(20),
    deaf: Duration::from_secs(2),
    backoff: Duration::from_millis(10),
    pace: Some(PaceLimits { chat_gap: GAP, group_gap: GAP, account_gap: Duration::from_millis(1) }),
};

/// The same times for networks that answer too late: their requests are given up before that.
pub(crate) const IMPATIENT: WaitTimes =
    WaitTimes { request: Duration::from_millis(400), ..WAIT_TIMES };

/// A runtime that ends its tasks when it is dropped, whatever they are doing.
struct OwnRuntime(Option<Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

pub(crate) struct Process {
    runtime: OwnRuntime,
    pub(crate) connectors: Connectors,
    pub(crate) store: Store,
}

/// Settings with one account `main` that talks to the fake, with additional settings.
pub(crate) fn resolved_telegram(
    fake: &FakeTelegram,
    more: Value,
    bindings: Value,
) -> ResolvedConnectors {
    let account = json!({"token": TELEGRAM_TOKEN, "apiBase": fake.url()});
    resolved_account("telegram", account, more, bindings)
}

/// Settings with one account `main` of a network.
pub(crate) fn resolved_account(
    network: &str,
    mut account: Value,
    more: Value,
    bindings: Value,
) -> ResolvedConnectors {
    let more: serde_json::Map<String, Value> = serde_json::from_value(more).unwrap();
    account.as_object_mut().unwrap().extend(more);
    let settings: ConnectorsSettings =
        serde_json::from_value(json!({network: {"accounts": {"main": account}}})).unwrap();
    let bindings: Vec<Binding> = serde_json::from_value(bindings).unwrap();
    resolve_connectors(&settings, &bindings, &|_| true, &|text| Ok(Some(text.to_owned()))).unwrap()
}

pub(crate) fn account() -> AccountKey {
    AccountKey { network: "telegram".to_owned(), account: "main".to_owned() }
}

impl Process {
    pub(crate) async fn start(
        home: &Path,
        agent: &Arc<TestAgent>,
        resolved: ResolvedConnectors,
    ) -> Self {
        Self::start_at(home, agent, resolved, WAIT_TIMES).await
    }

    pub(crate) async fn start_at(
        home: &Path,
        agent: &Arc<TestAgent>,
        resolved: ResolvedConnectors,
        wait_times: WaitTimes,
    ) -> Self {
        let clock = Arc::new(SystemClock::in_zone(Zone::utc()));
        Self::start_by(home, agent, resolved, wait_times, clock).await
    }

    pub(crate) async fn start_by(
        home: &Path,
        agent: &Arc<TestAgent>,
        resolved: ResolvedConnectors,
        wait_times: WaitTimes,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (home, port) = (home.to_owned(), Arc::clone(agent) as _);
        let scratch = home.join("cache/scratch");
        let opening = runtime.spawn(async move {
            // The earlier process may still hold the lock of the home.
            let home = loop {
                match Home::open(&home) {
                    Ok(home) => break home,
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            };
            let store = Store::open_embedded(home, Arc::clone(&clock)).await.unwrap();
            let egress = Egress::new(Arc::new(SystemResolver), Vec::new(), Bounds::default());
            let ledger = Arc::clone(&store.connectors);
            let commands = Some(crate::sandboxed::place(&scratch));
            let setup = ConnectorSetup { ledger, port, clock, egress, wait_times, commands };
            let connectors = Connectors::new(setup);
            connectors.follow(resolved).await;
            (connectors, store)
        });
        let (connectors, store) = opening.await.unwrap();
        Self { runtime: OwnRuntime(Some(runtime)), connectors, store }
    }

    /// Ends the process without warning. Everything in memory is lost, and a message that was being
    /// sent may have arrived.
    pub(crate) async fn crash(self) {
        let Self { mut runtime, connectors, store } = self;
        drop((connectors, store));
        let runtime = runtime.0.take().unwrap();
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(SOON)).await.unwrap();
    }

    pub(crate) async fn status(&self) -> AccountStatus {
        self.connectors.list().await.unwrap().into_iter().next().unwrap()
    }

    /// Waits until nothing is left to be answered or sent.
    pub(crate) async fn settled(&self, fake: &FakeTelegram) {
        self.settled_when(&account(), || fake.is_read()).await;
    }

    /// Waits for any account until everything was read, answered and sent.
    pub(crate) async fn settled_when(&self, account: &AccountKey, is_read: impl Fn() -> bool) {
        wait_for("everything to be answered", SOON, async || {
            // An update is stored before it is acknowledged, so the queues are read afterwards.
            if !is_read() {
                return None;
            }
            let queues = self.store.connectors.figures(account).await.unwrap();
            (queues.incoming == 0 && queues.outgoing == 0).then_some(())
        })
        .await;
    }
}
