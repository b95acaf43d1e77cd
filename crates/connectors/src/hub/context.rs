use std::sync::{Arc, Mutex, PoisonError, Weak};

use onyx_storage::{AccountKey, ConnectorLedger, NewPart, PeerChange, PeerKey, PeerRow, PeerState};
use onyx_types::{Clock, ErrorCode, Fault, Mint, PersonId, RunId};
use tokio::sync::Notify;

use super::Shared;
use crate::answers::plain_part;
use crate::answers_destination;
use crate::connector::Connector;
use crate::networks::Transcriber;
use crate::outbox::Pace;
use crate::peers::MOST_WAITING;
use crate::port::AgentPort;
use crate::settings::{Account, Binding, Visitors};

/// What everything of one account shares.
pub(crate) struct AccountContext {
    pub(crate) account: Account,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) ledger: Arc<dyn ConnectorLedger>,
    pub(crate) port: Arc<dyn AgentPort>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) pace: Arc<Pace>,
    /// Something came in.
    pub(crate) incoming: Arc<Notify>,
    /// Something is to go out.
    pub(crate) outgoing: Arc<Notify>,
    /// All accounts; gone when the process lets go of them.
    pub(super) hub: Weak<Shared>,
    pub(super) mint: Mutex<Mint>,
}

impl AccountContext {
    pub(crate) fn key(&self) -> &AccountKey {
        &self.account.key
    }

    /// Whether the config lets a peer in. A webhook's messages are signed with the owner's secret,
    /// so whoever it names is the owner's word; visitors of an open widget are answered as a group
    /// is, without anything private.
    pub(crate) fn allows(&self, peer: &str) -> bool {
        let is_visitor =
            self.account.visitors == Visitors::Open && crate::networks::is_visitor(peer);
        self.account.key.network == "webhook"
            || is_visitor
            || self.account.allow.iter().any(|id| id == peer)
    }

    pub(crate) fn peer_key(&self, peer: &str) -> PeerKey {
        PeerKey { account: self.account.key.clone(), peer: peer.to_owned() }
    }

    pub(crate) fn bindings(&self) -> Vec<Binding> {
        let Some(hub) = self.hub.upgrade() else { return Vec::new() };
        hub.bindings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Who listens to recordings here.
    pub(crate) fn transcriber(&self) -> Option<Arc<Transcriber>> {
        let hub = self.hub.upgrade()?;
        hub.transcriber.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells the owner in the app.
    pub(crate) fn tell_owner(&self, text: String) {
        match self.hub.upgrade() {
            Some(hub) => hub.tell(text),
            None => self.port.tell_owner(text),
        }
    }

    /// Tells the owner in the app and over every other account that works.
    pub(super) async fn tell_everywhere(&self, text: String) {
        if let Some(hub) = self.hub.upgrade() {
            hub.tell_elsewhere(self.key(), &text).await;
        }
        self.tell_owner(text);
    }

    pub(crate) fn fresh_run(&self) -> RunId {
        let now = self.clock.wall();
        self.mint.lock().unwrap_or_else(PoisonError::into_inner).run(now)
    }

    pub(crate) async fn is_outbox_clear(&self, peer: &PeerKey) -> bool {
        // Where it cannot be known, showing nothing is right.
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

    /// Lets a peer in, and tells it.
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
        let to = answers_destination(&peer.key, &name);
        let text = "You are paired now. Write to me as you would to a person; /help shows more.";
        self.queue(vec![plain_part(&self.connector.traits(), to, text)?]).await?;
        Ok(peer)
    }
}
