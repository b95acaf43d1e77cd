//! The state that all parts of one account share (`AccountContext`), and the state that all
//! accounts of a home share (`HomeContext`). Nothing here knows which accounts are running.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use onyx_storage::{AccountKey, ConnectorLedger, NewPart, PeerChange, PeerKey, PeerRow, PeerState};
use onyx_types::{Clock, ErrorCode, Fault, IdGenerator, PersonId, RunId};
use tokio::sync::Notify;

use crate::connector::Connector;
use crate::networks::Transcriber;
use crate::notices::{OwnerNotice, OwnerNotices};
use crate::outbox::{Pace, main_chat, plain_part};
use crate::peers::{MOST_VISITORS, MOST_WAITING, forget_idle_visitors};
use crate::port::AgentPort;
use crate::settings::{Account, Binding, Visitors};
use crate::setup::ConnectorSetup;

/// The state that all accounts share.
pub(crate) struct HomeContext {
    pub(crate) setup: ConnectorSetup,
    pub(crate) notices: OwnerNotices,
    bindings: RwLock<Vec<Binding>>,
    transcriber: RwLock<Option<Arc<Transcriber>>>,
}

impl HomeContext {
    pub(crate) fn new(setup: ConnectorSetup) -> Self {
        Self {
            setup,
            notices: OwnerNotices::default(),
            bindings: RwLock::default(),
            transcriber: RwLock::default(),
        }
    }

    pub(crate) fn bindings(&self) -> Vec<Binding> {
        self.bindings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_bindings(&self, bindings: Vec<Binding>) {
        *self.bindings.write().unwrap_or_else(PoisonError::into_inner) = bindings;
    }

    /// The transcriber for recordings, if one is configured.
    pub(crate) fn transcriber(&self) -> Option<Arc<Transcriber>> {
        self.transcriber.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_transcriber(&self, transcriber: Option<Arc<Transcriber>>) {
        *self.transcriber.write().unwrap_or_else(PoisonError::into_inner) = transcriber;
    }

    /// Shows a notice to the owner in the app.
    pub(crate) fn tell(&self, text: String) {
        let at = self.setup.clock.wall();
        self.notices.add(OwnerNotice { at, text: text.clone() });
        self.setup.port.tell_owner(text);
    }
}

/// The state of one account, shared by its parts.
pub(crate) struct AccountContext {
    pub(crate) account: Account,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) ledger: Arc<dyn ConnectorLedger>,
    pub(crate) port: Arc<dyn AgentPort>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) pace: Arc<Pace>,
    /// Signals that an update came in, or that a waiting update may continue.
    pub(crate) incoming: Arc<Notify>,
    /// Signals that a message was queued.
    pub(crate) outgoing: Arc<Notify>,
    pub(crate) home: Arc<HomeContext>,
    /// Updates whose run is at work and accepts the next messages of the conversation.
    at_work: Mutex<HashSet<i64>>,
    /// Runs whose answers were recently sent here, the newest last.
    followed: Mutex<VecDeque<RunId>>,
    /// The updates of each conversation that are being answered.
    lines: Mutex<HashMap<Conversation, BTreeSet<i64>>>,
    /// Signals that an update has left its queue.
    moved_up: Notify,
    /// The number of new visitors since the start.
    met_visitors: AtomicUsize,
    ids: Mutex<IdGenerator>,
}

/// The id of a chat, and of a thread in it.
pub(crate) type Conversation = (String, String);

/// A place in the queue of a conversation. The updates of a conversation are answered in the order
/// in which they came.
pub(crate) struct QueuePlace<'a> {
    context: &'a AccountContext,
    conversation: Conversation,
    update: i64,
}

impl QueuePlace<'_> {
    /// Waits until all earlier updates of the conversation are answered.
    pub(crate) async fn is_first(&self) {
        loop {
            let moved_up = self.context.moved_up.notified();
            tokio::pin!(moved_up);
            // The listener is registered before the queue is read, so that no signal in between is
            // missed.
            moved_up.as_mut().enable();
            let first = {
                let lines = self.context.lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.get(&self.conversation).and_then(|line| line.first().copied())
            };
            if first.is_none_or(|first| first >= self.update) {
                return;
            }
            moved_up.await;
        }
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.context.takes_no_words(self.update);
        let mut lines = self.context.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get_mut(&self.conversation) {
            line.remove(&self.update);
            if line.is_empty() {
                lines.remove(&self.conversation);
            }
        }
        drop(lines);
        self.context.moved_up.notify_waiters();
    }
}

/// How many runs are remembered, which is more than an account has at once.
const MOST_FOLLOWED: usize = 256;

/// After how many new visitors the stored ones are counted again.
const VISITORS_PER_LOOK: usize = 100;

impl AccountContext {
    pub(crate) fn new(
        account: Account,
        connector: Arc<dyn Connector>,
        pace: Pace,
        home: Arc<HomeContext>,
        ids: IdGenerator,
    ) -> Self {
        Self {
            account,
            connector,
            ledger: Arc::clone(&home.setup.ledger),
            port: Arc::clone(&home.setup.port),
            clock: Arc::clone(&home.setup.clock),
            pace: Arc::new(pace),
            incoming: Arc::default(),
            outgoing: Arc::default(),
            home,
            at_work: Mutex::default(),
            followed: Mutex::default(),
            lines: Mutex::default(),
            moved_up: Notify::new(),
            met_visitors: AtomicUsize::new(0),
            ids: Mutex::new(ids),
        }
    }

    pub(crate) fn key(&self) -> &AccountKey {
        &self.account.key
    }

    /// Whether the config allows a peer. All peers of a webhook are allowed, because its messages
    /// are signed with the owner's secret. Visitors of an open widget are allowed too, but are
    /// answered like a group, without anything private.
    pub(crate) fn allows(&self, peer: &str) -> bool {
        self.account.key.network == "webhook"
            || self.is_visitor(peer)
            || self.account.allow.iter().any(|id| id == peer)
    }

    /// Whether a peer is allowed only because the widget is open to everybody.
    pub(crate) fn is_visitor(&self, peer: &str) -> bool {
        self.account.visitors == Visitors::Open && crate::networks::is_visitor(peer)
    }

    pub(crate) fn peer_key(&self, peer: &str) -> PeerKey {
        PeerKey { account: self.account.key.clone(), peer: peer.to_owned() }
    }

    /// Adds an update to the queue of its conversation.
    pub(crate) fn line_up(&self, conversation: Conversation, update: i64) -> QueuePlace<'_> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.entry(conversation.clone()).or_default().insert(update);
        QueuePlace { context: self, conversation, update }
    }

    /// Notes that the run of this update accepts messages from now on, until
    /// [`Self::takes_no_words`].
    pub(crate) fn takes_words(&self, update: i64) {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).insert(update);
        self.incoming.notify_one();
    }

    pub(crate) fn takes_no_words(&self, update: i64) {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).remove(&update);
    }

    /// The updates whose runs accept messages now.
    pub(crate) fn taking_words(&self) -> HashSet<i64> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that the answer of this run is sent to a chat of this account.
    pub(crate) fn note_followed(&self, run: RunId) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.len() >= MOST_FOLLOWED {
            followed.pop_front();
        }
        followed.push_back(run);
    }

    pub(crate) fn has_followed(&self, run: RunId) -> bool {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).contains(&run)
    }

    /// Keeps the number of visitors of an open widget bounded. It is called for each new visitor,
    /// but checks only now and then, because a check reads all peers.
    pub(crate) async fn make_room_for_visitor(&self) -> Result<(), Fault> {
        let met = self.met_visitors.fetch_add(1, Ordering::Relaxed);
        if met.is_multiple_of(VISITORS_PER_LOOK) {
            let most = MOST_VISITORS - VISITORS_PER_LOOK;
            forget_idle_visitors(&*self.ledger, self.key(), most).await?;
        }
        Ok(())
    }

    pub(crate) fn fresh_run(&self) -> RunId {
        let now = self.clock.wall();
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).run(now)
    }

    pub(crate) async fn is_outbox_clear(&self, peer: &PeerKey) -> bool {
        // If the ledger cannot be read, the outbox counts as full, so that nothing is sent out of
        // order.
        self.ledger.is_clear(peer).await.unwrap_or(false)
    }

    pub(crate) async fn queue(&self, parts: Vec<NewPart>) -> Result<(), Fault> {
        self.ledger.queue_parts(parts, self.clock.wall()).await?;
        self.outgoing.notify_one();
        Ok(())
    }

    pub(crate) async fn finish(&self, update: i64, parts: Vec<NewPart>) -> Result<(), Fault> {
        self.ledger.finish_update(update, parts, self.clock.wall()).await?;
        self.outgoing.notify_one();
        Ok(())
    }

    /// Marks a peer as approved, and tells the peer.
    pub(crate) async fn approve(&self, peer: PeerRow, person: PersonId) -> Result<PeerRow, Fault> {
        let change = PeerChange {
            key: peer.key,
            kind: peer.kind,
            name: peer.name,
            state: PeerState::Paired,
            person: Some(person),
            code: None,
            at: self.clock.wall(),
        };
        let peer = self.ledger.put_peer(change, MOST_WAITING).await?;
        let peer = peer.ok_or_else(|| Fault::plain(ErrorCode::Internal))?;
        let name = format!("paired:{}:{}", peer.id, self.clock.wall().as_millis());
        let to = main_chat(&peer.key, &name);
        let text =
            "You are paired now. Write to me as you would to a person; /help lists the commands.";
        self.queue(vec![plain_part(&self.connector.traits(), to, text)?]).await?;
        Ok(peer)
    }
}
