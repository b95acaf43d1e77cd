use async_trait::async_trait;
use onyx_types::{AgentId, DraftId, PersonId, RunId, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// One account of one network: the network's name, such as `telegram`, and the account's name in
/// the config.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKey {
    pub network: String,
    pub account: String,
}

impl std::fmt::Display for AccountKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.network, self.account)
    }
}

/// A peer that an account talks to, named by the network's own id for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerKey {
    pub account: AccountKey,
    pub peer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerKind {
    Person,
    Group,
}

impl PeerKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Group => "group",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerState {
    /// The peer has a pairing code and waits for a person's approval.
    Waiting,
    Paired,
    Blocked,
}

impl PeerState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Paired => "paired",
            Self::Blocked => "blocked",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRow {
    pub id: i64,
    pub key: PeerKey,
    pub kind: PeerKind,
    pub name: String,
    pub state: PeerState,
    /// The person whose agents answer the peer.
    pub person: Option<PersonId>,
    pub code: Option<PairingCode>,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingCode {
    pub code: String,
    pub expires: Timestamp,
}

/// A peer that is met for the first time, or is changed. It carries no row id, because the ledger
/// assigns that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerChange {
    pub key: PeerKey,
    pub kind: PeerKind,
    pub name: String,
    pub state: PeerState,
    pub person: Option<PersonId>,
    pub code: Option<PairingCode>,
    pub at: Timestamp,
}

/// The session and agent with which a peer talks in one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationRow {
    pub session: Option<SessionId>,
    /// The agent that was chosen in the chat; where none was chosen, the config's bindings decide.
    pub agent: Option<AgentId>,
    pub model: Option<String>,
}

/// One update as it came from a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUpdate {
    pub update: String,
    pub peer: String,
    pub message: String,
    /// The message as JSON.
    pub body: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InboxState {
    New,
    Working,
    Done,
    /// The update could not be handled, so a person decides what happens to it.
    Dead,
}

impl InboxState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Working => "working",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxUpdate {
    pub id: i64,
    pub peer: PeerKey,
    pub message: String,
    pub body: String,
    pub state: InboxState,
    pub attempts: u32,
    /// The message is not tried before this time.
    pub not_before: Timestamp,
    /// The run that was promised to answer this update, and the person whose run it is.
    pub run: Option<(PersonId, RunId)>,
    pub growing: Option<String>,
    pub why: String,
    pub received_at: Timestamp,
    /// Whether another living gateway works on the update.
    pub is_elsewhere: bool,
}

/// What to do with an update that was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateFailure {
    /// Something temporary stood in the way. The update is tried again after this time, and the try
    /// does not count as an attempt.
    Later(Timestamp),
    Again(Timestamp),
    Dead,
}

/// A message to put in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPart {
    pub peer: PeerKey,
    /// Only one message with this key is ever sent.
    pub key: String,
    pub body: String,
    pub repeat: Repeat,
}

/// Whether a send that had no answer may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Repeating is harmless: this is an edit, or a send that the network recognises by a key.
    Safe,
    /// The message may have arrived, and repeating would show it twice.
    Unsafe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    Queued,
    /// The message is being sent. This state is written before the network is asked, so that a
    /// crash leaves a trace.
    Sending,
    Sent,
    /// The message was sent and had no answer, so nobody knows whether it arrived.
    Unknown,
    /// The network refuses the message.
    Dead,
}

impl PartState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Unknown => "unknown",
            Self::Dead => "dead",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxPart {
    pub id: i64,
    pub peer: PeerKey,
    pub key: String,
    pub body: String,
    pub repeat: Repeat,
    pub state: PartState,
    pub attempts: u32,
    pub not_before: Timestamp,
    pub why: String,
    pub created_at: Timestamp,
}

/// How one attempt to send ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// The network took the message and gave it this id.
    Sent(String),
    /// The message is to be tried again with this body.
    Again {
        body: String,
        repeat: Repeat,
        not_before: Timestamp,
        why: String,
    },
    Unknown(String),
    Dead(String),
}

/// How many updates and messages of an account are waiting or have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFigures {
    pub incoming: u64,
    pub outgoing: u64,
    pub dead: u64,
}

/// What a person has to decide about: an update that could not be answered, or a message whose
/// arrival is unknown or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadLetter {
    In(InboxUpdate),
    Out(OutboxPart),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterKind {
    In,
    Out,
}

/// A message that is kept until its receiver fetches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    pub id: i64,
    pub text: String,
}

/// The ledger of connectors: inbox, outbox, peers and conversations.
#[async_trait]
pub trait ConnectorLedger: Send + Sync {
    async fn cursor(&self, account: &AccountKey) -> Result<Option<String>, StoreError>;

    /// Stores updates, and how far the account was read, in one transaction. Updates that are
    /// stored already are left out. Returns how many are new.
    async fn store_updates(
        &self,
        account: &AccountKey,
        updates: Vec<NewUpdate>,
        cursor: Option<String>,
        at: Timestamp,
    ) -> Result<usize, StoreError>;

    /// Lists updates that are not answered yet, oldest first.
    async fn open_updates(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<InboxUpdate>, StoreError>;

    /// Starts one more attempt. Returns the update as it is now; `None` when it is finished, or
    /// when another living gateway works on it. Only the gateway that began an update may finish it
    /// or record its failure.
    async fn begin_update(&self, id: i64) -> Result<Option<InboxUpdate>, StoreError>;

    /// Promises a run to the update. If a run was promised before, that one stays and is returned.
    /// `None` when the update is finished.
    async fn promise_run(
        &self,
        id: i64,
        person: &PersonId,
        run: RunId,
    ) -> Result<Option<(PersonId, RunId)>, StoreError>;

    async fn set_growing(&self, id: i64, message: &str) -> Result<(), StoreError>;

    /// Marks the update as finished and puts what is to be said about it in the outbox, in one
    /// transaction. `false`: it was finished before, and nothing was written.
    async fn finish_update(
        &self,
        id: i64,
        parts: Vec<NewPart>,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    async fn fail_update(
        &self,
        id: i64,
        failure: UpdateFailure,
        why: &str,
    ) -> Result<(), StoreError>;

    /// Puts messages in the outbox. A message whose key is there already is left as it is.
    async fn queue_parts(&self, parts: Vec<NewPart>, at: Timestamp) -> Result<(), StoreError>;

    /// Lists the first message to be sent to each peer.
    async fn next_parts(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<OutboxPart>, StoreError>;

    /// Whether nothing waits to be sent to a peer.
    async fn is_clear(&self, peer: &PeerKey) -> Result<bool, StoreError>;

    /// Marks a message as being sent. `false`: it is not queued any more.
    async fn begin_send(&self, id: i64) -> Result<bool, StoreError>;

    /// Records how a send ended. `LeaseLost`: another gateway has settled the send meanwhile, and
    /// nothing was written.
    async fn end_send(&self, id: i64, end: SendEnd) -> Result<(), StoreError>;

    /// Settles the sends that an earlier process was in the middle of when it ended. It is called
    /// when the account starts, before anything is sent. Sends of other living gateways are left
    /// alone. Returns how many messages are of unknown outcome now.
    async fn settle_sends(&self, account: &AccountKey) -> Result<u64, StoreError>;

    /// Settles the sends of gateways that have died meanwhile; sends of this process are left
    /// alone. Returns how many messages are of unknown outcome now.
    async fn settle_lost_sends(&self, _account: &AccountKey) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// The number of this process's current life in the ledger, the same as `Files::incarnation`.
    /// Senders compare it immediately before they send, because another gateway may have taken over
    /// what an earlier life began. The call costs nothing.
    fn incarnation(&self) -> Result<i64, StoreError> {
        Ok(0)
    }

    async fn figures(&self, account: &AccountKey) -> Result<QueueFigures, StoreError>;

    /// Lists the account's dead letters, newest first.
    async fn dead_letters(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<DeadLetter>, StoreError>;

    /// Queues a dead letter again. `false`: there is no such dead letter.
    async fn retry_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<bool, StoreError>;

    async fn drop_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<bool, StoreError>;

    /// Keeps a message until its receiver fetches it. A key that is there already is not stored
    /// twice. Returns the message's number.
    async fn put_mail(
        &self,
        peer: &PeerKey,
        key: &str,
        text: &str,
        at: Timestamp,
    ) -> Result<i64, StoreError>;

    /// Lists messages kept for a peer whose number is greater than `after`, oldest first.
    async fn mail_after(
        &self,
        peer: &PeerKey,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Mail>, StoreError>;

    /// Deletes what was answered, sent or kept for a receiver before a time. Updates that the
    /// account still has to answer stay.
    async fn forget_before(&self, account: &AccountKey, at: Timestamp) -> Result<(), StoreError>;

    async fn peer(&self, key: &PeerKey) -> Result<Option<PeerRow>, StoreError>;

    /// Lists all peers of an account, those seen last first.
    async fn peers(&self, account: &AccountKey) -> Result<Vec<PeerRow>, StoreError>;

    /// Adds or changes a peer. A new peer that would wait for pairing is added only while fewer
    /// than `most_waiting` others wait; otherwise the answer is `None`. Waiting peers whose codes
    /// have expired make room, and a code that is still valid stays as it is.
    async fn put_peer(
        &self,
        change: PeerChange,
        most_waiting: u64,
    ) -> Result<Option<PeerRow>, StoreError>;

    async fn remove_peer(&self, key: &PeerKey) -> Result<(), StoreError>;

    async fn conversation(&self, peer: i64, thread: &str) -> Result<ConversationRow, StoreError>;

    async fn put_conversation(
        &self,
        peer: i64,
        thread: &str,
        row: ConversationRow,
    ) -> Result<(), StoreError>;

    /// Returns the number under which a peer may decide on a draft. The same draft always gets the
    /// same number.
    async fn number_proposal(&self, peer: i64, draft: DraftId) -> Result<u64, StoreError>;

    async fn proposal(&self, peer: i64, number: u64) -> Result<Option<DraftId>, StoreError>;
}
