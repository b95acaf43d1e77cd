use std::sync::{Arc, Weak};
use std::time::Duration;

use onyx_storage::{AccountKey, SendEnd, StoreError};
use onyx_types::{Cancel, IdGenerator};
use tokio::task::{JoinHandle, JoinSet};

use super::Shared;
use super::dispatch::dispatch;
use super::health::{AccountStatus, Health};
use super::listen::listen;
use crate::connector::{Connector, Listening};
use crate::context::{AccountContext, HomeContext};
use crate::outbox::{Pace, SendListener, Sender};
use crate::peers::{MOST_VISITORS, forget_idle_visitors};
use crate::settings::{Account, AccountElsewhere};
use crate::setup::WaitTimes;

/// How long answered updates and sent messages are kept.
const KEPT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
const TIDYING: Duration = Duration::from_secs(60 * 60);
/// How often the ledger is searched for sends of gateways that died.
const SETTLING: Duration = Duration::from_secs(20);
/// How long the tasks of an account may take to end after it is stopped.
const FAREWELL: Duration = Duration::from_secs(40);

/// A running account with its tasks.
pub(super) struct RunningAccount {
    pub(super) context: Arc<AccountContext>,
    health: Arc<Health>,
    wait_times: WaitTimes,
    stop: Cancel,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
}

impl RunningAccount {
    pub(super) fn start(
        home: &Arc<HomeContext>,
        account: Account,
        connector: Arc<dyn Connector>,
        hub: Weak<Shared>,
    ) -> Self {
        let setup = &home.setup;
        let context = Arc::new(context(home, account, connector));
        let (health, stop) = (Arc::new(Health::default()), Cancel::new());
        health.begin(&*setup.clock);
        let mut tasks = JoinSet::new();
        let wait_times = setup.wait_times;
        let work =
            Work { context: Arc::clone(&context), health: Arc::clone(&health), wait_times, hub };
        tasks.spawn(work.run(stop.clone()));
        Self { context, health, wait_times, stop, tasks: tokio::sync::Mutex::new(tasks) }
    }

    pub(super) fn key(&self) -> &AccountKey {
        self.context.key()
    }

    pub(super) fn settings(&self) -> &Account {
        &self.context.account
    }

    /// Stops the account and returns when all its tasks have ended.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let mut tasks = self.tasks.lock().await;
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, ended).await.is_err() {
            tracing::warn!(account = %self.key(), "the account did not stop in time");
            tasks.shutdown().await;
        }
    }

    pub(super) fn heard_by_push(&self) {
        self.health.note_answer(&*self.context.clock);
    }

    pub(super) async fn status(&self) -> Result<AccountStatus, onyx_types::Fault> {
        let view = self.health.view(&*self.context.clock, deafness(&self.context, self.wait_times));
        let (name, link) = view.identity.unzip();
        Ok(AccountStatus {
            key: self.key().clone(),
            state: view.state,
            gateway: None,
            detail: view.detail,
            last_heard: view.last_heard,
            silent_seconds: view.last_heard.map(|_| view.silent.as_secs()),
            restarts: view.restarts,
            queues: self.context.ledger.figures(self.key()).await?,
            name,
            link: link.flatten(),
        })
    }
}

/// An account that another gateway serves. It has no tasks here: that gateway receives its messages
/// and sends what is queued for it.
pub(super) struct RemoteAccount {
    pub(super) context: Arc<AccountContext>,
    /// The name of that gateway, if it is known.
    pub(super) gateway: Option<String>,
}

impl RemoteAccount {
    pub(super) fn new(
        home: &Arc<HomeContext>,
        elsewhere: AccountElsewhere,
        connector: Arc<dyn Connector>,
    ) -> Self {
        let AccountElsewhere { account, gateway } = elsewhere;
        Self { context: Arc::new(context(home, account, connector)), gateway }
    }
}

fn context(
    home: &Arc<HomeContext>,
    account: Account,
    connector: Arc<dyn Connector>,
) -> AccountContext {
    let setup = &home.setup;
    let limits = setup.wait_times.pace.unwrap_or(connector.traits().pace);
    let pace = Pace::new(limits, setup.clock.now().mono);
    AccountContext::new(account, connector, pace, Arc::clone(home), IdGenerator::new(seed()))
}

fn seed() -> u64 {
    let mut bytes = [0; 8];
    // The seed is only for run ids, and these also contain the time, so they differ even on a
    // machine without random numbers.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

fn deafness(context: &AccountContext, wait_times: WaitTimes) -> Option<Duration> {
    match context.connector.traits().listening {
        Listening::Polls => Some(wait_times.deaf),
        Listening::Pushed => None,
    }
}

/// The shared values that the tasks of one account need.
struct Work {
    context: Arc<AccountContext>,
    health: Arc<Health>,
    wait_times: WaitTimes,
    /// All accounts. The reference is weak, because the hub owns this account.
    hub: Weak<Shared>,
}

impl Work {
    /// Runs the account until it is stopped.
    async fn run(self, stop: Cancel) {
        let context = &self.context;
        tell_settled(context, context.ledger.settle_sends(context.key()).await);
        let sender = Arc::new(Sender {
            account: context.key().clone(),
            connector: Arc::clone(&context.connector),
            ledger: Arc::clone(&context.ledger),
            port: Arc::clone(&context.port),
            clock: Arc::clone(&context.clock),
            pace: Arc::clone(&context.pace),
            backoff: self.wait_times.backoff / 2,
            wake: Arc::clone(&context.outgoing),
            listener: send_listener(context),
        });
        tokio::join!(
            sender.run(stop.clone()),
            dispatch(Arc::clone(context), stop.clone()),
            self.watch(&stop),
            introduce(context, &self.health, &stop),
            tidy(context, &stop),
            settle_lost(context, &stop),
        );
    }

    /// Keeps a listener running. A listener that received nothing for too long is stopped and
    /// restarted.
    async fn watch(&self, stop: &Cancel) {
        let Self { context, health, wait_times, .. } = self;
        while !stop.is_cancelled() {
            let ended = stop.child();
            let listening =
                listen(Arc::clone(context), Arc::clone(health), *wait_times, ended.clone());
            let listener = tokio::spawn(listening);
            self.until_deaf(&listener, stop).await;
            ended.cancel();
            listener.abort();
            // The old listener must have ended, so that no two listeners ever ask for the same
            // updates.
            let _ = listener.await;
            if !stop.is_cancelled() {
                health.restarted(&*context.clock);
                let key = context.key();
                tracing::warn!(account = %key, "the network was silent for too long; the listener was restarted");
                if health.should_tell() {
                    let silent = wait_times.deaf.as_secs();
                    self.tell_everywhere(format!(
                        "{key} has received nothing for {silent} s and was restarted."
                    ))
                    .await;
                }
            }
        }
    }

    /// Returns as soon as the listener has ended, or has received nothing for the longest allowed
    /// time.
    async fn until_deaf(&self, listener: &JoinHandle<()>, stop: &Cancel) {
        let clock = &self.context.clock;
        let most = deafness(&self.context, self.wait_times);
        loop {
            let waited = self.health.waiting(&**clock);
            let left = most.map(|most| most.saturating_sub(waited));
            if listener.is_finished() || left == Some(Duration::ZERO) {
                return;
            }
            // The listener is checked from time to time, because it sends no signal when it ends.
            let look = self.wait_times.deaf / 8;
            tokio::select! {
                () = stop.cancelled() => return,
                () = clock.sleep(left.map_or(look, |left| left.min(look))) => {}
            }
        }
    }

    /// Notifies the owner in the app and over every other account that works.
    async fn tell_everywhere(&self, text: String) {
        if let Some(hub) = self.hub.upgrade() {
            hub.tell_elsewhere(self.context.key(), &text).await;
        }
        self.context.home.tell(text);
    }
}

/// Notifies the owner of messages that did not arrive or may not have arrived.
fn send_listener(context: &Arc<AccountContext>) -> SendListener {
    let (context, key) = (Arc::clone(context), context.key().clone());
    Arc::new(move |_, end| match end {
        SendEnd::Sent(_) | SendEnd::Again { .. } => {}
        SendEnd::Unknown(why) => context.home.tell(format!(
            "It is not known whether a message over {key} arrived ({why}). Look at Connectors to \
             send it again."
        )),
        SendEnd::Dead(why) => {
            context.home.tell(format!("A message over {key} was not sent: {why}"));
        }
    })
}

/// Asks the network for the account's name until it answers.
async fn introduce(context: &AccountContext, health: &Health, stop: &Cancel) {
    let mut wait = Duration::from_secs(2);
    loop {
        tokio::select! {
            identity = context.connector.identity() => {
                if let Ok(identity) = identity {
                    return health.is_known_as(identity.name, identity.link);
                }
            }
            () = stop.cancelled() => return,
        }
        tokio::select! {
            () = context.clock.sleep(wait) => wait = (wait * 2).min(Duration::from_secs(300)),
            () = stop.cancelled() => return,
        }
    }
}

/// Settles the sends of gateways that died, because the next message to the same peer waits for
/// them.
async fn settle_lost(context: &AccountContext, stop: &Cancel) {
    loop {
        tokio::select! {
            () = context.clock.sleep(SETTLING) => {}
            () = stop.cancelled() => return,
        }
        tell_settled(context, context.ledger.settle_lost_sends(context.key()).await);
    }
}

fn tell_settled(context: &AccountContext, settled: Result<u64, StoreError>) {
    match settled {
        Ok(0) => {}
        Ok(unknown) => context.home.tell(format!(
            "{unknown} messages over {} were being sent when the server stopped; it is not known \
             whether they arrived. Look at Connectors to send them again.",
            context.key()
        )),
        Err(error) => {
            tracing::error!(account = %context.key(), %error, "interrupted sends could not be marked as unknown");
        }
    }
}

async fn tidy(context: &AccountContext, stop: &Cancel) {
    loop {
        let now = context.clock.wall();
        let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let before = onyx_types::Timestamp::from_millis(now.as_millis().saturating_sub(kept));
        if let Err(error) = context.ledger.forget_before(context.key(), before).await {
            tracing::warn!(account = %context.key(), %error, "old messages could not be removed from the ledger");
        }
        let visitors = forget_idle_visitors(&*context.ledger, context.key(), MOST_VISITORS);
        if let Err(error) = visitors.await {
            tracing::warn!(account = %context.key(), %error, "idle visitors could not be removed");
        }
        tokio::select! {
            () = context.clock.sleep(TIDYING) => {}
            () = stop.cancelled() => return,
        }
    }
}
