use async_trait::async_trait;
use onyx_types::{AgentId, DraftId, PersonId, RunId, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// One account of one network: `telegram` and the name that the config gives it.
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

/// A peer that an account talks to, by the network's own id.
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
    /// Has a code and waits for approval.
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
    /// The person whose agents answer it.
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

/// A peer as it is met or changed. Its id is the ledger's business.
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
    /// The agent that was chosen in the chat; without one the bindings decide.
    pub agent: Option<AgentId>,
    pub model: Option<String>,
}

/// One update of a network, as it came.
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
    /// It could not be handled; a person decides.
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
    /// The run that was promised to it, and whose.
    pub run: Option<(PersonId, RunId)>,
    pub growing: Option<String>,
    pub why: String,
    pub received_at: Timestamp,
    /// Another gateway that lives works on it.
    pub is_elsewhere: bool,
}

/// What to do with an update that was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateFailure {
    /// Something passing stood in the way: this was no attempt.
    Later(Timestamp),
    Again(Timestamp),
    Dead,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPart {
    pub peer: PeerKey,
    /// Whatever has this key is sent once.
    pub key: String,
    pub body: String,
    pub repeat: Repeat,
}

/// What may be done when a send had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Edits, and sends that the network knows by a key.
    Safe,
    /// The message may have arrived, and would be there twice.
    Unsafe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    Queued,
    /// Written before the network is asked, so that a crash leaves a trace.
    Sending,
    Sent,
    /// It was sent and had no answer.
    Unknown,
    /// The network will not have it.
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
    /// The network took the message; this is its id there.
    Sent(String),
    /// The message is to be tried again, with the body that it has from now on.
    Again {
        body: String,
        repeat: Repeat,
        not_before: Timestamp,
        why: String,
    },
    Unknown(String),
    Dead(String),
}

/// How many updates and messages of an account wait or failed.
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

/// A message that waits to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    pub id: i64,
    pub text: String,
}

/// Inbox, outbox, peers and conversations of connectors.
#[async_trait]
pub trait ConnectorLedger: Send + Sync {
    async fn cursor(&self, account: &AccountKey) -> Result<Option<String>, StoreError>;

    /// Keeps updates and how far the account was read, in one transaction. What came before is
    /// left out. Returns how many are new.
    async fn store_updates(
        &self,
        account: &AccountKey,
        updates: Vec<NewUpdate>,
        cursor: Option<String>,
        at: Timestamp,
    ) -> Result<usize, StoreError>;

    /// Updates that are not answered yet, oldest first.
    async fn open_updates(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<InboxUpdate>, StoreError>;

    /// One more attempt. Returns the update as it is now; `None` when it is over, or when another gateway that lives works
    /// on it. Only who began an update ends it, or says that it failed.
    async fn begin_update(&self, id: i64) -> Result<Option<InboxUpdate>, StoreError>;

    /// Promises a run to the update. One that was promised before stays the promised one, and is
    /// returned; `None` when the update is over.
    async fn promise_run(
        &self,
        id: i64,
        person: &PersonId,
        run: RunId,
    ) -> Result<Option<(PersonId, RunId)>, StoreError>;

    async fn set_growing(&self, id: i64, message: &str) -> Result<(), StoreError>;

    /// The update is over, and what is to be said about it is in the outbox, in one transaction.
    /// `false`: it was over before, and nothing was written.
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

    /// Those whose key is known stay as they are.
    async fn queue_parts(&self, parts: Vec<NewPart>, at: Timestamp) -> Result<(), StoreError>;

    /// The first message to be sent to each peer.
    async fn next_parts(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<OutboxPart>, StoreError>;

    /// Whether nothing waits to be sent to a peer.
    async fn is_clear(&self, peer: &PeerKey) -> Result<bool, StoreError>;

    /// `false`: it is not queued any more.
    async fn begin_send(&self, id: i64) -> Result<bool, StoreError>;

    /// `LeaseLost` when another gateway has settled the send meanwhile: nothing was written.
    async fn end_send(&self, id: i64, end: SendEnd) -> Result<(), StoreError>;

    /// Settles what an earlier process was sending when it ended: called when the account starts, before it sends
    /// anything. What another gateway that lives is sending stays. Returns how many of them are unknown now.
    async fn settle_sends(&self, account: &AccountKey) -> Result<u64, StoreError>;

    /// Settles what gateways that died meanwhile were sending; what this process sends stays. Returns how many of them
    /// are unknown now.
    async fn settle_lost_sends(&self, _account: &AccountKey) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// Which life of this process works on the ledger, as `Files::incarnation` says it. Whoever sends compares it
    /// immediately before, because another gateway may have taken over what was begun in an earlier one. Costs nothing.
    fn incarnation(&self) -> Result<i64, StoreError> {
        Ok(0)
    }

    async fn figures(&self, account: &AccountKey) -> Result<QueueFigures, StoreError>;

    /// Newest first.
    async fn dead_letters(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<DeadLetter>, StoreError>;

    /// `false`: there is no such dead letter.
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

    /// Keeps a message for a receiver that comes to fetch it; the same key once. Returns its number.
    async fn put_mail(
        &self,
        peer: &PeerKey,
        key: &str,
        text: &str,
        at: Timestamp,
    ) -> Result<i64, StoreError>;

    /// What was kept for a peer after a number, oldest first.
    async fn mail_after(
        &self,
        peer: &PeerKey,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Mail>, StoreError>;

    /// Forgets what was answered and sent before a time. Messages that the account still has to
    /// answer stay.
    async fn forget_before(&self, account: &AccountKey, at: Timestamp) -> Result<(), StoreError>;

    async fn peer(&self, key: &PeerKey) -> Result<Option<PeerRow>, StoreError>;

    /// All of an account, those seen last first.
    async fn peers(&self, account: &AccountKey) -> Result<Vec<PeerRow>, StoreError>;

    /// Meets or changes a peer. A peer that would wait is met only while fewer than `most_waiting`
    /// others do; `None` otherwise. Codes that have expired make room, and one that is still good
    /// stays as it is.
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

    /// The number under which a peer may decide on a draft; the same for the same draft.
    async fn number_proposal(&self, peer: i64, draft: DraftId) -> Result<u64, StoreError>;

    async fn proposal(&self, peer: i64, number: u64) -> Result<Option<DraftId>, StoreError>;
}
