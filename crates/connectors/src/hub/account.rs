use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use onyx_storage::{AccountKey, SendEnd};
use onyx_types::{Cancel, Mint};
use tokio::task::JoinSet;

use super::context::AccountContext;
use super::dispatch::dispatch;
use super::health::{AccountStatus, Health};
use super::listen::listen;
use super::{Ground, Shared, Tempo};
use crate::connector::{Connector, Listening};
use crate::outbox::{HearSend, Pace, Sender};
use crate::settings::Account;

/// What was answered and sent is forgotten after this.
const KEPT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
const TIDYING: Duration = Duration::from_secs(60 * 60);
/// How long an account may take to end.
const FAREWELL: Duration = Duration::from_secs(40);

/// One account at work.
pub(super) struct RunningAccount {
    pub(super) context: Arc<AccountContext>,
    health: Arc<Health>,
    tempo: Tempo,
    stop: Cancel,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
}

impl RunningAccount {
    pub(super) fn start(
        ground: &Ground,
        account: Account,
        connector: Arc<dyn Connector>,
        hub: Weak<Shared>,
    ) -> Self {
        let limits = ground.tempo.pace.unwrap_or(connector.traits().pace);
        let context = Arc::new(AccountContext {
            account,
            connector,
            ledger: Arc::clone(&ground.ledger),
            port: Arc::clone(&ground.port),
            clock: Arc::clone(&ground.clock),
            pace: Arc::new(Pace::new(limits, ground.clock.now().mono)),
            incoming: Arc::default(),
            outgoing: Arc::default(),
            hub,
            mint: Mutex::new(Mint::new(seed())),
        });
        let (health, stop) = (Arc::new(Health::default()), Cancel::new());
        health.begin(&*ground.clock);
        let mut tasks = JoinSet::new();
        let tempo = ground.tempo;
        tasks.spawn(work(Arc::clone(&context), Arc::clone(&health), tempo, stop.clone()));
        Self { context, health, tempo, stop, tasks: tokio::sync::Mutex::new(tasks) }
    }

    pub(super) fn key(&self) -> &AccountKey {
        self.context.key()
    }

    pub(super) fn settings(&self) -> &Account {
        &self.context.account
    }

    /// Returns when nothing of it is left.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let mut tasks = self.tasks.lock().await;
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, ended).await.is_err() {
            tracing::warn!(account = %self.key(), "an account did not end in time");
            tasks.shutdown().await;
        }
    }

    pub(super) fn heard_by_push(&self) {
        self.health.heard(&*self.context.clock);
    }

    pub(super) async fn status(&self) -> Result<AccountStatus, onyx_types::Fault> {
        let view = self.health.view(&*self.context.clock, deafness(&self.context, self.tempo));
        let (name, link) = view.identity.unzip();
        Ok(AccountStatus {
            key: self.key().clone(),
            state: view.state,
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

fn seed() -> u64 {
    let mut bytes = [0; 8];
    // Run ids also carry the time, so a machine without random numbers still makes different ones.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

fn deafness(context: &AccountContext, tempo: Tempo) -> Option<Duration> {
    match context.connector.traits().listening {
        Listening::Polls => Some(tempo.deaf),
        Listening::Pushed => None,
    }
}

/// Everything of one account, until it is told to stop.
async fn work(context: Arc<AccountContext>, health: Arc<Health>, tempo: Tempo, stop: Cancel) {
    match context.ledger.settle_sends(context.key()).await {
        Ok(0) => {}
        Ok(unknown) => context.tell_owner(format!(
            "{unknown} messages over {} were being sent when the server stopped; nobody knows \
             whether they arrived. Look at Connectors to send them again.",
            context.key()
        )),
        Err(error) => {
            tracing::error!(account = %context.key(), %error, "sends could not be settled");
        }
    }
    let sender = Arc::new(Sender {
        account: context.key().clone(),
        connector: Arc::clone(&context.connector),
        ledger: Arc::clone(&context.ledger),
        port: Arc::clone(&context.port),
        clock: Arc::clone(&context.clock),
        pace: Arc::clone(&context.pace),
        backoff: tempo.backoff / 2,
        wake: Arc::clone(&context.outgoing),
        heard: heard(&context),
    });
    tokio::join!(
        sender.run(stop.clone()),
        dispatch(Arc::clone(&context), stop.clone()),
        watch(&context, &health, tempo, &stop),
        introduce(&context, &health, &stop),
        tidy(&context, &stop),
    );
}

/// Tells the owner of messages that did not arrive or may not have.
fn heard(context: &Arc<AccountContext>) -> HearSend {
    let (context, key) = (Arc::clone(context), context.key().clone());
    Arc::new(move |_, end| match end {
        SendEnd::Sent(_) | SendEnd::Again { .. } => {}
        SendEnd::Unknown(why) => context.tell_owner(format!(
            "Nobody knows whether a message over {key} arrived ({why}). Look at Connectors to \
             send it again."
        )),
        SendEnd::Dead(why) => {
            context.tell_owner(format!("A message over {key} was not sent: {why}"));
        }
    })
}

/// Keeps a listener at work; one that has heard nothing for too long is ended and started anew.
async fn watch(context: &Arc<AccountContext>, health: &Arc<Health>, tempo: Tempo, stop: &Cancel) {
    let clock = Arc::clone(&context.clock);
    while !stop.is_cancelled() {
        let ended = stop.child();
        let listener =
            tokio::spawn(listen(Arc::clone(context), Arc::clone(health), tempo, ended.clone()));
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = clock.sleep(tempo.deaf / 8) => {}
            }
            let is_deaf =
                deafness(context, tempo).is_some_and(|most| health.waiting(&*clock) > most);
            if listener.is_finished() || is_deaf {
                break;
            }
        }
        ended.cancel();
        listener.abort();
        // Its end is waited for, so that no two ever ask for the same updates.
        let _ = listener.await;
        if !stop.is_cancelled() {
            health.restarted(&*clock);
            tracing::warn!(account = %context.key(), "nothing was heard for too long; started anew");
            if health.should_tell() {
                let key = context.key();
                let silent = tempo.deaf.as_secs();
                let text = format!("{key} has heard nothing for {silent} s and was started anew.");
                context.tell_everywhere(text).await;
            }
        }
    }
}

/// Asks the network who this account is, until it says so.
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

async fn tidy(context: &AccountContext, stop: &Cancel) {
    loop {
        let now = context.clock.wall();
        let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let before = onyx_types::Timestamp::from_millis(now.as_millis().saturating_sub(kept));
        if let Err(error) = context.ledger.forget_before(context.key(), before).await {
            tracing::warn!(account = %context.key(), %error, "old messages could not be removed");
        }
        tokio::select! {
            () = context.clock.sleep(TIDYING) => {}
            () = stop.cancelled() => return,
        }
    }
}
