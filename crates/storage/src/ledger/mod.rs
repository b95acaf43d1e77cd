//! What needs transactions: runs, the list of sessions, waiting words, spending, the audit chain, drafts, accounts and
//! sealed secrets. Traits and their rows only; `sqlite/` stands behind them. Rows of sessions can be made again from
//! their logs; the others are kept nowhere else.

mod acceptances;
mod accounts;
mod claims;
mod connectors;
mod drafts;
mod jobs;
mod short_lived;

use async_trait::async_trait;
use onyx_types::{
    AgentId, EntityRef, Hash, LaneOrder, PersonId, RunId, RunStatus, SessionId, SessionKey,
    SessionOrigin, Timestamp, ToolEffect, TurnId, Usage, UserTurn, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StoreError;

pub use acceptances::{Acceptance, AcceptanceKind, Acceptances};
pub use accounts::{
    Accounts, CredentialKind, CredentialRow, PersonRow, Role, SealedSecret, SealedSecrets, SecretId,
};
pub use claims::{Claimed, ShortLivedClaim};
pub use connectors::{
    AccountKey, ConnectorLedger, ConversationRow, DeadLetter, InboxState, InboxUpdate, LetterKind,
    Mail, NewPart, NewUpdate, OutboxPart, PairingCode, PartState, PeerChange, PeerKey, PeerKind,
    PeerRow, PeerState, QueueFigures, Repeat, SendEnd, UpdateFailure,
};
pub use drafts::{Draft, DraftChange, DraftDecision, DraftFilter, DraftMove, Drafts};
pub use jobs::{
    JobChange, JobLedger, JobRow, JobSlot, Settling, SlotClaim, SlotDelivery, SlotEnding, SlotKey,
    SlotState, SlotTrigger,
};
pub use short_lived::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};

/// What is known of a session without opening its log. Derived from the log, rebuildable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMeta {
    pub session_id: SessionId,
    pub agent: AgentId,
    pub origin: SessionOrigin,
    /// Who answers, in this order; never empty. `agent` only says where the log lies.
    pub agents: Vec<AgentId>,
    pub mode: LaneOrder,
    pub title: Option<String>,
    pub titled_by: TitleSource,
    pub status: SessionStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// User turns and complete answers.
    pub message_count: u64,
    pub token_count: u64,
    /// The first 100 characters of the newest message.
    pub preview: String,
    /// The first session of a family of forks, and where this one left it.
    pub root: SessionId,
    pub fork_turn: Option<TurnId>,
    pub last_run: Option<RunId>,
    pub last_run_status: Option<RunStatus>,
    #[serde(default)]
    pub marks: SessionMarks,
}

/// What a person's devices share about a session that its log does not say. A rebuild leaves it alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionMarks {
    /// Something was answered since the person last read it.
    pub unread: bool,
    /// The person keeps it, with its forks, at the top of the list.
    pub pinned: bool,
    /// What the person sorts their conversations by, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What the conversation is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<EntityRef>,
}

/// A tag, and how many conversations have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TagCount {
    pub tag: String,
    pub conversations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Active,
    Archived,
}

/// Where a title comes from. A person's is never replaced by any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TitleSource {
    /// The first words of the conversation, until something better names it.
    #[default]
    Words,
    Model,
    Person,
}

impl TitleSource {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Model => "model",
            Self::Person => "person",
        }
    }
}

/// Fields to change in a session's row; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChange {
    pub title: Option<(String, TitleSource)>,
    pub status: Option<SessionStatus>,
    pub agents: Option<Vec<AgentId>>,
    pub mode: Option<LaneOrder>,
    /// Whether the session is pinned, with all of its forks.
    pub pinned: Option<bool>,
    /// The tags that replace those of the session and all of its forks.
    pub tags: Option<Vec<String>>,
    /// `Some(None)` detaches it, with all of its forks.
    pub attached: Option<Option<EntityRef>>,
}

/// Which sessions are listed. Only the one of a family of forks that was updated last is listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFilter {
    pub agent: Option<AgentId>,
    pub status: Option<SessionStatus>,
    /// `None`: all but passing ones, of API clients and temporary chats, which are in no list.
    pub origin: Option<SessionOrigin>,
    /// Part of the title or the preview...
    pub text: Option<String>,
    /// ...unless the session, or another of its family, is one of these: what was said in them holds
    /// the text. Nothing without a text.
    pub holding: Vec<SessionId>,
    /// Only those that were updated at this time or later.
    pub since: Option<Timestamp>,
    /// Only those that were updated before this time.
    pub until: Option<Timestamp>,
    /// Only those that are, or are not, pinned.
    pub pinned: Option<bool>,
    /// Only those that have this tag.
    pub tag: Option<String>,
    /// Only those that are attached to this.
    pub attached: Option<EntityRef>,
    /// Only sessions updated before this one (cursor); `NotFound` when it is gone.
    pub before: Option<SessionId>,
    /// 0: a page of the store's own size.
    pub limit: u32,
}

/// What starts a run: recorded before anything else happens, so that a crash can be closed.
#[derive(Clone, Debug, PartialEq)]
pub struct BeginRun {
    pub run: RunId,
    pub key: SessionKey,
    pub input_turn: TurnId,
    pub started_at: Timestamp,
    pub session: BeginIn,
}

/// The session a run begins in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginIn {
    /// The session's row is made, unless it is there.
    New(SessionOrigin),
    /// The session's row must be there: whoever deleted the session meanwhile must not see it
    /// again.
    Existing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub run: RunId,
    pub key: SessionKey,
    pub input_turn: TurnId,
    pub started_at: Timestamp,
    /// `None` while it works.
    pub status: Option<RunStatus>,
}

/// How a run ended, and what that changes in its session's metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    pub run: RunId,
    pub status: RunStatus,
    pub ended_at: Timestamp,
    pub usage: Usage,
    /// What it is made of.
    pub used: Vec<ModelUse>,
    pub messages_added: u64,
    pub preview: Option<String>,
    /// The title is set only where the session has none yet.
    pub title: Option<String>,
}

/// What an agent used of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUse {
    pub agent: AgentId,
    /// `<provider>/<model>`.
    pub model: String,
    pub usage: Usage,
}

/// What a person used of one model through one agent on a day (UTC, `YYYY-MM-DD`).
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    pub day: String,
    pub person: PersonId,
    pub used: ModelUse,
}

/// What was spent on a day. An unknown price counts as nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub cost: f64,
    pub tokens: u64,
}

/// What each person spent on a day, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaySpending {
    pub people: Vec<(PersonId, Spent)>,
    pub agents: Vec<(AgentId, Spent)>,
}

/// A message to a session that is at work.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxRow {
    /// The id they will have in the log: words whose turn is there were delivered.
    pub turn: TurnId,
    pub delivery: Delivery,
    pub words: UserTurn,
    pub received_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The words are read after the tool results of the step under way.
    Steer,
    /// The words are read when the answer under way is complete.
    FollowUp,
    /// The words are read when their answer is asked for.
    OnRequest,
}

impl Delivery {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::FollowUp => "follow_up",
            Self::OnRequest => "on_request",
        }
    }
}

/// One thing that happened, before it is chained.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    pub ts: Timestamp,
    pub person: PersonId,
    /// `person`, `agent` or `system`.
    pub actor_kind: String,
    pub actor: String,
    pub agent: Option<AgentId>,
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    pub tool: Option<String>,
    pub effect: Option<ToolEffect>,
    pub decision: Option<Verdict>,
    pub diff_summary: String,
    pub result: String,
}

/// An entry with its place in the person's chain.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRow {
    pub seq: u64,
    pub entry: AuditEntry,
    /// Hash of the row before; zero for the first.
    pub previous: Hash,
    pub hash: Hash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainState {
    Whole {
        rows: u64,
    },
    /// Intact, but nothing proves that the first rows were not forged: they are older than the key,
    /// or of a key that is not here.
    SealedFrom {
        rows: u64,
        first: u64,
    },
    Broken {
        at: u64,
    },
}

/// A session that was made, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMove {
    pub seq: u64,
    pub person: PersonId,
    pub session: SessionId,
}

/// Where the sequence of changes of sessions stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSequence {
    /// Sequences of another epoch mean nothing.
    pub epoch: u64,
    /// The sequence of the newest change; 0 when there is none.
    pub last: u64,
}

/// What needs transactions: one method for each that matters.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Records the run as active and makes the session's row if needed, in one transaction.
    /// `AlreadyRun` when this input runs now or has run to a good end.
    async fn begin_run(&self, begin: BeginRun) -> Result<(), StoreError>;

    /// Ends the run and folds it into the session's metadata and the spending of person and agents, once:
    /// ending an ended run changes nothing.
    async fn end_run(&self, outcome: RunOutcome) -> Result<(), StoreError>;

    /// Runs that never ended: to be closed at start.
    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError>;

    /// Open runs on whose session no gateway works, to be closed now. In a home the caller finds out by taking the
    /// session.
    async fn left_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.active_runs().await
    }

    /// Those of one session; more than one when a process lost it while it began a run.
    async fn open_runs(&self, key: &SessionKey) -> Result<Vec<RunRow>, StoreError>;

    async fn run(&self, person: &PersonId, run: RunId) -> Result<Option<RunRow>, StoreError>;

    async fn session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<SessionMeta>, StoreError>;

    /// Newest first.
    async fn sessions(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, StoreError>;

    /// How many sessions the person's list holds, counted no further than this.
    async fn count_sessions(&self, person: &PersonId, most: u32) -> Result<u32, StoreError> {
        let filter = SessionFilter { limit: most, ..SessionFilter::default() };
        let listed = self.sessions(person, &filter).await?.len();
        Ok(u32::try_from(listed).unwrap_or(most))
    }

    /// `None`: this ledger keeps no sequence, and followers of sessions look at all of them.
    async fn session_sequence(&self) -> Result<Option<SessionSequence>, StoreError> {
        Ok(None)
    }

    /// Sessions that moved after a sequence, oldest first, each with its own.
    async fn moved_sessions(
        &self,
        _after: u64,
        _limit: u32,
    ) -> Result<Vec<SessionMove>, StoreError> {
        Ok(Vec::new())
    }

    /// The session and its forks, in the order they were made.
    async fn family(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Vec<SessionMeta>, StoreError>;

    /// Changes what is given and nothing else, also while a run works on the session. A title that
    /// a person gave stays unless a person gives another. Returns the row as it is now.
    async fn change_session(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, StoreError>;

    /// The tags of a person's conversations, in order.
    async fn session_tags(&self, person: &PersonId) -> Result<Vec<TagCount>, StoreError>;

    /// The person has read the session. `true`: it was unread before.
    async fn mark_read(&self, person: &PersonId, session: SessionId) -> Result<bool, StoreError>;

    /// Counts what was used of a model for a session outside of its runs.
    async fn book(
        &self,
        key: &SessionKey,
        model: &str,
        usage: Usage,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Writes the row as given; for new sessions and for rebuilding. Whether it was read stays as
    /// it is.
    async fn put_session(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), StoreError>;

    /// Deletes the session with what waits in its inbox, and its drafts. Deleting what is not there
    /// is no error: a crash may have come between row and log.
    async fn delete_session(&self, person: &PersonId, session: SessionId)
    -> Result<(), StoreError>;

    /// Durable when it returns, because the sender is then told that it was kept.
    async fn put_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<(), StoreError>;

    /// The inbox in the order in which the words came.
    async fn inbox(&self, key: &SessionKey) -> Result<Vec<InboxRow>, StoreError>;

    /// Replaces a row that still exists; `false` if it does not.
    async fn change_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<bool, StoreError>;

    async fn clear_inbox(&self, key: &SessionKey, turns: &[TurnId]) -> Result<(), StoreError>;

    /// The sessions in whose inboxes words wait.
    async fn spoken_to(&self) -> Result<Vec<(PersonId, SessionId)>, StoreError>;

    /// Cost of a person on one day (UTC, `YYYY-MM-DD`).
    async fn spent(&self, person: &PersonId, day: &str) -> Result<f64, StoreError>;

    /// Cost of an agent on one day, for whomever it worked.
    async fn spent_by_agent(&self, agent: &AgentId, day: &str) -> Result<f64, StoreError>;

    /// Everybody who spent something on one day.
    async fn spending(&self, day: &str) -> Result<DaySpending, StoreError>;

    /// Everything that was used from the first day to the last, in this order of days.
    async fn usage(&self, first: &str, last: &str) -> Result<Vec<UsageRow>, StoreError>;

    /// Adds to the person's chain.
    async fn append_audit(&self, entry: AuditEntry) -> Result<AuditRow, StoreError>;

    /// Newest first, before a row of the chain.
    async fn audit(
        &self,
        person: &PersonId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError>;

    async fn verify_audit(&self, person: &PersonId) -> Result<ChainState, StoreError>;
}
