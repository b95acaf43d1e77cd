use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_storage::{AccountKey, ConnectorLedger, OutboxPart, PeerKind, SendEnd, StoreError};
use onyx_types::{Cancel, Clock, Timestamp};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::attempt::{RetryRules, outcome};
use super::pace::Pace;
use crate::connector::{Connector, NetworkError, Outgoing, OutgoingFile, OutgoingKind};
use crate::port::AgentPort;

/// How many messages of one account are sent at the same time.
const MOST_AT_ONCE: usize = 16;
/// For how many peers the next message is read at once.
const PAGE: u32 = 256;
/// The ledger is read at least this often, even when no new message is signalled.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How long to wait before a result is reported again to a ledger that could not be reached.
const REPORT_AGAIN: Duration = Duration::from_secs(1);

/// A function that is called with the result of each attempt to send.
pub(crate) type SendListener = Arc<dyn Fn(&OutboxPart, &SendEnd) + Send + Sync>;

/// Sends the waiting messages of one account's outbox.
pub(crate) struct Sender {
    pub(crate) account: AccountKey,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) ledger: Arc<dyn ConnectorLedger>,
    /// The port from which the content of files is read.
    pub(crate) port: Arc<dyn AgentPort>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) pace: Arc<Pace>,
    /// How long to wait after a first failure.
    pub(crate) backoff: Duration,
    /// Signals that a message was queued or sent.
    pub(crate) wake: Arc<Notify>,
    /// The listener that is told how each attempt ended.
    pub(crate) listener: SendListener,
}

impl Sender {
    /// Sends until `stop` is cancelled; sends under way are then allowed to end.
    pub(crate) async fn run(self: Arc<Self>, stop: Cancel) {
        let under_way = Arc::new(Mutex::new(HashSet::new()));
        let mut sends = JoinSet::new();
        while !stop.is_cancelled() {
            let woken = self.wake.notified();
            let wait = match self.send_ready(&under_way, &mut sends, &stop).await {
                Ok(wait) => wait,
                Err(fault) => {
                    tracing::warn!(account = %self.account, %fault, "the outbox could not be read");
                    LOOK_AGAIN
                }
            };
            tokio::select! {
                () = woken => {}
                Some(_) = sends.join_next() => {}
                () = self.clock.sleep(wait) => {}
                () = stop.cancelled() => {}
            }
        }
        while sends.join_next().await.is_some() {}
    }

    /// Starts every send that is allowed now. Returns how long to wait for the next.
    async fn send_ready(
        self: &Arc<Self>,
        under_way: &Arc<Mutex<HashSet<i64>>>,
        sends: &mut JoinSet<()>,
        stop: &Cancel,
    ) -> Result<Duration, StoreError> {
        let mut wait = LOOK_AGAIN;
        for part in self.ledger.next_parts(&self.account, PAGE).await? {
            if sends.len() >= MOST_AT_ONCE {
                break;
            }
            let (now, wall) = (self.clock.now().mono, self.clock.wall());
            if part.not_before > wall {
                let millis = part.not_before.as_millis() - wall.as_millis();
                wait = wait.min(Duration::from_millis(millis.unsigned_abs().max(1)));
                continue;
            }
            let is_known = lock(under_way).contains(&part.id);
            if is_known {
                continue;
            }
            if let Err(later) = self.pace.take(&part.peer.peer, now) {
                wait = wait.min(later.saturating_sub(now).max(Duration::from_millis(1)));
                continue;
            }
            lock(under_way).insert(part.id);
            let (sender, under_way) = (Arc::clone(self), Arc::clone(under_way));
            let stop = stop.clone();
            sends.spawn(async move {
                let id = part.id;
                sender.send(part, &stop).await;
                lock(&under_way).remove(&id);
            });
        }
        Ok(wait)
    }

    async fn send(&self, part: OutboxPart, stop: &Cancel) {
        let kind = kind_of(&part.peer.peer);
        let life = self.ledger.incarnation();
        let begun = self.ledger.begin_send(part.id).await;
        if !matches!(begun, Ok(true)) {
            self.pace.done(&part.peer.peer, kind, self.clock.now().mono);
        }
        match begun {
            Ok(true) => {}
            Ok(false) => return,
            Err(fault) => {
                tracing::warn!(account = %self.account, %fault, "the start of a send could not be saved");
                // The ledger may have the start although its answer was lost. Nothing was sent.
                return self.report(&part, not_begun(&part, self.clock.wall()), stop).await;
            }
        }
        let end = match serde_json::from_str(&part.body) {
            Ok(message) => self.attempt(&part, &message, life.ok()).await,
            Err(error) => {
                self.pace.done(&part.peer.peer, kind, self.clock.now().mono);
                SendEnd::Dead(format!("the message cannot be read: {error}"))
            }
        };
        (self.listener)(&part, &end);
        self.report(&part, end, stop).await;
        self.wake.notify_one();
    }

    /// Records the result of a send. A ledger that cannot be reached is asked again and again, because
    /// the next message to the same peer waits for the result.
    async fn report(&self, part: &OutboxPart, end: SendEnd, stop: &Cancel) {
        loop {
            let Err(fault) = self.ledger.end_send(part.id, end.clone()).await else { return };
            match fault {
                // The send had not begun, its result was recorded without an answer, or another
                // gateway has settled it.
                StoreError::LeaseLost => {
                    return tracing::debug!(account = %self.account, "no result of this send is expected any more");
                }
                StoreError::Unavailable(_) if !stop.is_cancelled() => {
                    tracing::warn!(account = %self.account, %fault, "the result of a send could not be saved yet");
                }
                // The message stays in the state `sending`; the next start of the account decides
                // whether it may be repeated.
                _ => {
                    return tracing::error!(account = %self.account, %fault, "the result of a send could not be saved");
                }
            }
            tokio::select! {
                () = self.clock.sleep(REPORT_AGAIN) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Sends a message once. `life` is the incarnation of this gateway in which the send was begun.
    async fn attempt(&self, part: &OutboxPart, message: &Outgoing, life: Option<i64>) -> SendEnd {
        let kind = kind_of(&part.peer.peer);
        let content = match &message.what {
            OutgoingKind::File(file) => Some(self.content(file).await),
            OutgoingKind::Text { .. }
            | OutgoingKind::Edit { .. }
            | OutgoingKind::PressAnswer { .. } => None,
        };
        // There is no await between this check and the send, so another gateway cannot take over
        // the message in between.
        if life.is_none() || self.ledger.incarnation().ok() != life {
            let now = self.clock.now();
            self.pace.done(&part.peer.peer, kind, now.mono);
            return not_ours(part, now.wall);
        }
        let answer = match content {
            None => self.connector.send(message).await,
            Some(Ok(bytes)) => self.connector.send_file(message, &bytes).await,
            Some(Err(error)) => Err(error),
        };
        let now = self.clock.now();
        if let Err(NetworkError::TooFast(wait)) = &answer {
            self.pace.hold(&part.peer.peer, now.mono, *wait);
        }
        self.pace.done(&part.peer.peer, kind, now.mono);
        let repeat_sends = self.connector.traits().repeat_sends;
        let rules = RetryRules { repeat_sends, backoff: self.backoff };
        outcome(part, message, answer, now.wall, &rules)
    }
}

impl Sender {
    async fn content(&self, file: &OutgoingFile) -> Result<Vec<u8>, NetworkError> {
        let largest = self.connector.traits().largest_file;
        match self.port.file(&file.person, &file.path, largest).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => {
                Err(NetworkError::Refused(format!("{} was deleted or is too large", file.path)))
            }
            Err(fault) => Err(NetworkError::Failed(fault.message)),
        }
    }
}

/// The result of a send that was not tried, because its start could not be saved.
fn not_begun(part: &OutboxPart, now: Timestamp) -> SendEnd {
    SendEnd::Again {
        body: part.body.clone(),
        repeat: part.repeat,
        not_before: now,
        why: "The start could not be saved.".to_owned(),
    }
}

/// The result of a send that was skipped because this gateway was silent for too long. If another
/// gateway has settled the send already, the result changes nothing.
fn not_ours(part: &OutboxPart, now: Timestamp) -> SendEnd {
    SendEnd::Again {
        body: part.body.clone(),
        repeat: part.repeat,
        not_before: now,
        why: "This gateway was silent for too long.".to_owned(),
    }
}

/// Guesses the kind of a chat from its id. Telegram's groups have negative ids; other networks use
/// the pace of a private chat for all chats.
pub(crate) fn kind_of(peer: &str) -> PeerKind {
    if peer.starts_with('-') { PeerKind::Group } else { PeerKind::Person }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
