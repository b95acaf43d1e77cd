//! Connectors as a process has them: a home, a runtime of its own that can be taken away in any
//! moment, and everything that was in memory with it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onyx_connectors::{
    AccountStatus, Binding, ConnectorSetup, Connectors, ConnectorsSettings, PaceLimits, Plan,
    WaitTimes, plan,
};
use onyx_egress::{Bounds, Egress, SystemResolver};
use onyx_storage::{AccountKey, Home, Store};
use onyx_test_support::networks::{FakeTelegram, TELEGRAM_TOKEN};
use onyx_test_support::wait_for;
use onyx_types::{Clock, SystemClock, Zone};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::agent::TestAgent;

/// Long enough for a busy machine: only what never comes is a failure.
pub(crate) const SOON: Duration = Duration::from_secs(60);
pub(crate) const GAP: Duration = Duration::from_millis(30);

/// A second of the real thing takes milliseconds here.
pub(crate) const WAIT_TIMES: WaitTimes = WaitTimes {
    poll: Duration::from_millis(200),
    request: Duration::from_millis(400),
    deaf: Duration::from_secs(2),
    backoff: Duration::from_millis(10),
    pace: Some(PaceLimits { chat_gap: GAP, group_gap: GAP, account_gap: Duration::from_millis(1) }),
};

/// Its tasks end with it, wherever they are.
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

/// One account `main` that talks to the fake, with these settings beside.
pub(crate) fn telegram_plan(fake: &FakeTelegram, more: Value, bindings: Value) -> Plan {
    let account = json!({"token": TELEGRAM_TOKEN, "apiBase": fake.url()});
    plan_of("telegram", account, more, bindings)
}

/// One account `main` of a network.
pub(crate) fn plan_of(network: &str, mut account: Value, more: Value, bindings: Value) -> Plan {
    let more: serde_json::Map<String, Value> = serde_json::from_value(more).unwrap();
    account.as_object_mut().unwrap().extend(more);
    let settings: ConnectorsSettings =
        serde_json::from_value(json!({network: {"accounts": {"main": account}}})).unwrap();
    let bindings: Vec<Binding> = serde_json::from_value(bindings).unwrap();
    plan(&settings, &bindings, &|_| true, &|text| Ok(Some(text.to_owned()))).unwrap()
}

pub(crate) fn account() -> AccountKey {
    AccountKey { network: "telegram".to_owned(), account: "main".to_owned() }
}

impl Process {
    pub(crate) async fn start(home: &Path, agent: &Arc<TestAgent>, plan: Plan) -> Self {
        Self::start_at(home, agent, plan, WAIT_TIMES).await
    }

    pub(crate) async fn start_at(
        home: &Path,
        agent: &Arc<TestAgent>,
        plan: Plan,
        wait_times: WaitTimes,
    ) -> Self {
        let clock = Arc::new(SystemClock::in_zone(Zone::utc()));
        Self::start_by(home, agent, plan, wait_times, clock).await
    }

    pub(crate) async fn start_by(
        home: &Path,
        agent: &Arc<TestAgent>,
        plan: Plan,
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
            // The process before may be letting go of it.
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
            connectors.follow(plan).await;
            (connectors, store)
        });
        let (connectors, store) = opening.await.unwrap();
        Self { runtime: OwnRuntime(Some(runtime)), connectors, store }
    }

    /// Everything in memory is gone; what was being sent may have arrived.
    pub(crate) async fn crash(self) {
        let Self { mut runtime, connectors, store } = self;
        drop((connectors, store));
        let runtime = runtime.0.take().unwrap();
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(SOON)).await.unwrap();
    }

    pub(crate) async fn status(&self) -> AccountStatus {
        self.connectors.list().await.unwrap().into_iter().next().unwrap()
    }

    /// Waits until nothing is left to do.
    pub(crate) async fn settled(&self, fake: &FakeTelegram) {
        self.settled_when(&account(), || fake.is_read()).await;
    }

    /// The same for any account, once everything was read.
    pub(crate) async fn settled_when(&self, account: &AccountKey, is_read: impl Fn() -> bool) {
        wait_for("everything to be answered", SOON, async || {
            // What is acknowledged is stored, so the queues are looked at afterwards.
            if !is_read() {
                return None;
            }
            let queues = self.store.connectors.figures(account).await.unwrap();
            (queues.incoming == 0 && queues.outgoing == 0).then_some(())
        })
        .await;
    }
}
