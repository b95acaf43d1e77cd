//! The ledger is what needs transactions: runs, the list of sessions, waiting messages, spending,
//! the audit chain, drafts, accounts and sealed secrets. This folder holds only the traits and
//! their rows; `sqlite/` and `postgres/` implement them. Rows of sessions can be rebuilt from their
//! logs; all other rows exist only here.

mod acceptances;
mod accounts;
mod claims;
mod connectors;
mod drafts;
mod jobs;
mod short_lived;

use async_trait::async_trait;
use onyx_types::{
    Actor, AgentId, EntityRef, Hash, LaneOrder, ModelId, PersonId, RecordedTool, RunId, RunStatus,
    SessionId, SessionKey, SessionOrigin, Timestamp, ToolEffect, TurnId, Usage, UserTurn, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{StoreError, WorkLife};

pub use acceptances::{Acceptance, AcceptanceKind, Acceptances};
pub use accounts::{
    Accounts, CredentialKind, CredentialRow, PersonRow, Role, SealedSecret, SealedSecrets, SecretId,
};
pub use claims::{ClaimOutcome, ShortLivedClaim};
pub use connectors::{
    AccountKey, ConnectorLedger, ConversationRow, DeadLetter, InboxState, InboxUpdate, LetterKind,
    Mail, NewPart, NewUpdate, OutboxPart, PairingCode, PartState, PeerChange, PeerKey, PeerKind,
    PeerRow, PeerState, QueueFigures, Repeat, SendEnd, UpdateFailure,
};
pub use drafts::{
    Draft, DraftChange, DraftCondition, DraftDecision, DraftFilter, DraftMove, DraftOutput, Drafts,
};
pub use jobs::{
    JobChange, JobLedger, JobRow, JobSlot, Settling, SlotClaim, SlotDelivery, SlotEnding, SlotKey,
    SlotState, SlotTrigger,
};
pub use short_lived::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};

/// What is known of a session without opening its log. The row is derived from the log and can be
/// rebuilt from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMeta {
    pub session_id: SessionId,
    pub agent: AgentId,
    pub origin: SessionOrigin,
    /// The agents that answer, in this order; the list is never empty. `agent` only says in whose
    /// folder the log lies.
    pub agents: Vec<AgentId>,
    pub mode: LaneOrder,
    pub title: Option<String>,
    pub titled_by: TitleSource,
    pub status: SessionStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The number of user turns and complete answers.
    pub message_count: u64,
    pub token_count: u64,
    /// The first 100 characters of the newest message.
    pub preview: String,
    /// The first session of this family of forks. `fork_turn` is the turn after which this session
    /// left it.
    pub root: SessionId,
    pub fork_turn: Option<TurnId>,
    pub last_run: Option<RunId>,
    pub last_run_status: Option<RunStatus>,
    #[serde(default)]
    pub marks: SessionMarks,
}

/// What a person's devices share about a session that its log does not say. Rebuilding the row from
/// the log leaves the marks alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionMarks {
    /// Whether something was answered since the person last read the session.
    pub unread: bool,
    /// Whether the person keeps the session, with its forks, at the top of the list.
    pub pinned: bool,
    /// The tags by which the person sorts their conversations, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The thing that the conversation is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<EntityRef>,
}

/// A tag, and the number of conversations that have it.
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

/// Where a title comes from. A title given by a person is never replaced by any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TitleSource {
    /// The first words of the conversation. They serve as its title until there is a better one.
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

/// Fields to change in a session's row; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChange {
    pub title: Option<(String, TitleSource)>,
    pub status: Option<SessionStatus>,
    pub agents: Option<Vec<AgentId>>,
    pub mode: Option<LaneOrder>,
    /// Whether the session is pinned, together with all of its forks.
    pub pinned: Option<bool>,
    /// The tags that replace those of the session and all of its forks.
    pub tags: Option<Vec<String>>,
    /// The thing to which the session and all of its forks are attached; `Some(None)` detaches
    /// them.
    pub attached: Option<Option<EntityRef>>,
}

/// Which sessions a listing contains. Of a family of forks, only the session that was updated last
/// is listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFilter {
    pub agent: Option<AgentId>,
    pub status: Option<SessionStatus>,
    /// Only sessions of this origin. `None`: all sessions but passing ones (those of API clients
    /// and temporary chats), which are in no list.
    pub origin: Option<SessionOrigin>,
    /// Only sessions whose title or preview contains this text, or that `holding` names.
    pub text: Option<String>,
    /// Sessions whose messages contain the text. They are listed even if title and preview do not
    /// contain it, and so is a session with another of its family in this list. Without `text` this
    /// has no effect.
    pub holding: Vec<SessionId>,
    /// Only sessions that were updated at this time or later.
    pub since: Option<Timestamp>,
    /// Only sessions that were updated before this time.
    pub until: Option<Timestamp>,
    /// Only sessions that are pinned, or only those that are not.
    pub pinned: Option<bool>,
    /// Only sessions that have this tag.
    pub tag: Option<String>,
    /// Only sessions that are attached to this.
    pub attached: Option<EntityRef>,
    /// Only sessions that were updated before this one, which is the cursor of a page; `NotFound`
    /// when it no longer exists.
    pub before: Option<SessionId>,
    /// The most sessions to list; 0 means the store's own page size.
    pub limit: u32,
}

/// A passing session (`SessionOrigin::is_passing`) that was not used for some time, and its place in
/// the list of these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnusedSession {
    pub created_at: Timestamp,
    pub person: PersonId,
    pub session: SessionId,
}

/// What starts a run. It is recorded before anything else happens, so that a run which a crash
/// ended can be closed later.
#[derive(Clone, Debug, PartialEq)]
pub struct BeginRun {
    pub run: RunId,
    pub key: SessionKey,
    pub input_turn: TurnId,
    pub started_at: Timestamp,
    pub session: BeginIn,
}

/// The session in which a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginIn {
    /// The session's row is created unless it exists.
    New(SessionOrigin),
    /// The session's row must exist, because a session that was deleted meanwhile must not come
    /// back.
    Existing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub run: RunId,
    pub key: SessionKey,
    pub input_turn: TurnId,
    pub started_at: Timestamp,
    /// How the run ended; `None` while it is at work.
    pub status: Option<RunStatus>,
}

/// How a run ended, and what that changes in its session's row.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    pub run: RunId,
    pub status: RunStatus,
    pub ended_at: Timestamp,
    pub usage: Usage,
    /// The parts of `usage`, by agent and model.
    pub used: Vec<ModelUse>,
    pub messages_added: u64,
    pub preview: Option<String>,
    /// The title for a session that has none yet.
    pub title: Option<String>,
}

/// What an agent used of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUse {
    pub agent: AgentId,
    /// Empty where the model is not known, as after a crash.
    pub model: ModelId,
    pub usage: Usage,
}

/// What a person used of one model through one agent on one day (UTC, `YYYY-MM-DD`).
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    pub day: String,
    pub person: PersonId,
    pub used: ModelUse,
}

/// What was spent on a day. Usage of unknown price counts as costing nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpentAmount {
    pub cost: f64,
    pub tokens: u64,
}

/// What each person and each agent spent on a day, ordered by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaySpending {
    pub people: Vec<(PersonId, SpentAmount)>,
    pub agents: Vec<(AgentId, SpentAmount)>,
}

/// A message to a session that is at work.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxRow {
    /// The id that the message's turn will have in the log. If the log has a turn of this id, the
    /// message was delivered.
    pub turn: TurnId,
    pub delivery: Delivery,
    pub words: UserTurn,
    pub received_at: Timestamp,
}

/// A message that is to be answered after others, in a session on which no gateway works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftMessage {
    pub person: PersonId,
    pub session: SessionId,
    pub turn: TurnId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The message is read after the tool results of the step under way.
    Steer,
    /// The message is read when the answer under way is complete.
    FollowUp,
    /// The message is read when somebody asks for its answer.
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

/// One event, before it is added to a person's audit chain. Its fields are the columns that the
/// hash of a row covers. They have no list of targets: what a decided call changed is in the draft,
/// whose typed targets stay, and `diff_summary` tells it to people.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    pub ts: Timestamp,
    pub person: PersonId,
    /// Who acted: a person, an agent or the system.
    pub actor: Actor,
    pub agent: Option<AgentId>,
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    pub tool: Option<RecordedTool>,
    pub effect: Option<ToolEffect>,
    pub decision: Option<Verdict>,
    pub diff_summary: String,
    pub result: String,
}

/// An audit entry with its place in the person's chain.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRow {
    pub seq: u64,
    pub entry: AuditEntry,
    /// The hash of the previous row; zero for the first row.
    pub previous: Hash,
    pub hash: Hash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainState {
    Whole {
        rows: u64,
    },
    /// The chain is intact, but nothing proves that the first rows were not forged: they are older
    /// than the key, or were sealed with a key that is not here.
    SealedFrom {
        rows: u64,
        first: u64,
    },
    Broken {
        at: u64,
    },
}

/// The record that a session was made, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMove {
    pub seq: u64,
    pub person: PersonId,
    pub session: SessionId,
}

/// The current position in the sequence of changes to sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSequence {
    /// The epoch of the sequence. Positions of different epochs cannot be compared.
    pub epoch: u64,
    /// The position of the newest change; 0 when there is none.
    pub last: u64,
    /// Up to here, changes of sessions that were deleted long ago may be missing. Whoever has followed
    /// the changes less far has to look at all sessions.
    pub removed: u64,
}

/// The ledger of runs, sessions, inboxes, spending and audit chains. Each method is one
/// transaction.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Records the run as active and creates the session's row if needed, in one transaction.
    /// `AlreadyRun` when a run for this input is active or has ended well.
    async fn begin_run(&self, begin: BeginRun) -> Result<(), StoreError>;

    /// Ends the run and adds it to the session's metadata and to the spending of person and agents.
    /// Ending a run that has ended changes nothing, so nothing is counted twice.
    async fn end_run(&self, outcome: RunOutcome) -> Result<(), StoreError>;

    /// Lists runs that have not ended. At the start of a process they are to be closed.
    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError>;

    /// Lists open runs on whose session no gateway works; they are to be closed now. The default
    /// lists all open runs: in a home the caller finds out by taking the session.
    async fn left_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.active_runs().await
    }

    /// Lists the open runs of one session. There is more than one only if a process lost the
    /// session while it began a run.
    async fn open_runs(&self, key: &SessionKey) -> Result<Vec<RunRow>, StoreError>;

    async fn run(&self, person: &PersonId, run: RunId) -> Result<Option<RunRow>, StoreError>;

    async fn session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<SessionMeta>, StoreError>;

    /// Lists a person's sessions, those updated last first.
    async fn sessions(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, StoreError>;

    /// Lists passing sessions of all people that were last updated before this time, like all others
    /// of their family. The oldest come first; `after` is the last one of the page before. The time
    /// that this takes does not grow with the number of sessions that are not passing.
    async fn unused_sessions(
        &self,
        until: Timestamp,
        after: Option<&UnusedSession>,
        limit: u32,
    ) -> Result<Vec<UnusedSession>, StoreError>;

    /// Counts the sessions in the person's list, up to `most`.
    async fn count_sessions(&self, person: &PersonId, most: u32) -> Result<u32, StoreError> {
        let filter = SessionFilter { limit: most, ..SessionFilter::default() };
        let listed = self.sessions(person, &filter).await?.len();
        Ok(u32::try_from(listed).unwrap_or(most))
    }

    /// Returns the position of the newest change to sessions. `None`: this ledger keeps no
    /// sequence, so followers have to look at all sessions.
    async fn session_sequence(&self) -> Result<Option<SessionSequence>, StoreError> {
        Ok(None)
    }

    /// Lists the changes to sessions after a position, oldest first.
    async fn moved_sessions(
        &self,
        _after: u64,
        _limit: u32,
    ) -> Result<Vec<SessionMove>, StoreError> {
        Ok(Vec::new())
    }

    /// Lists the session and its forks, in the order in which they were made.
    async fn family(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Vec<SessionMeta>, StoreError>;

    /// Changes the given fields and no others, also while a run works on the session. A title that
    /// a person gave is replaced only by another title from a person. Returns the row as it is now.
    async fn change_session(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, StoreError>;

    /// Lists the tags of a person's conversations, in order.
    async fn session_tags(&self, person: &PersonId) -> Result<Vec<TagCount>, StoreError>;

    /// Records that the person has read the session. `true`: it was unread before.
    async fn mark_read(&self, person: &PersonId, session: SessionId) -> Result<bool, StoreError>;

    /// Counts usage of a model for a session that happened outside of the session's runs.
    async fn book(
        &self,
        key: &SessionKey,
        model: &ModelId,
        usage: Usage,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Writes the row as given, for new sessions and for rebuilding. Whether the session was read
    /// stays as it is.
    async fn put_session(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), StoreError>;

    /// Deletes the session with its inbox and its drafts. Deleting a session that does not exist is
    /// no error, because a crash may have come between the deletions of row and log.
    async fn delete_session(&self, person: &PersonId, session: SessionId)
    -> Result<(), StoreError>;

    /// Adds a message to the inbox. It is durable when this returns, because the sender is then
    /// told that it was kept.
    async fn put_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<(), StoreError>;

    /// Lists the inbox in the order in which the messages came.
    async fn inbox(&self, key: &SessionKey) -> Result<Vec<InboxRow>, StoreError>;

    /// Replaces a message that is still in the inbox; `false` if it is not.
    async fn change_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<bool, StoreError>;

    async fn clear_inbox(&self, key: &SessionKey, turns: &[TurnId]) -> Result<(), StoreError>;

    /// Lists the sessions that have messages in their inboxes.
    async fn spoken_to(&self) -> Result<Vec<(PersonId, SessionId)>, StoreError>;

    /// Lists messages that are delivered after an answer (`Delivery::FollowUp`) and wait in sessions on which no gateway
    /// works. Those of one session have the order in which they came. In a home, the caller learns by taking the session
    /// whether anybody works on it.
    async fn left_messages(&self) -> Result<Vec<LeftMessage>, StoreError> {
        let mut left = Vec::new();
        for (person, session) in self.spoken_to().await? {
            let Some(meta) = self.session(&person, session).await? else { continue };
            let key = SessionKey { person, agent: meta.agent, session };
            let rows = self.inbox(&key).await?.into_iter();
            let rows = rows.filter(|row| row.delivery == Delivery::FollowUp);
            left.extend(rows.map(|row| LeftMessage {
                person: key.person.clone(),
                session,
                turn: row.turn,
            }));
        }
        Ok(left)
    }

    /// The cost of a person on one day (UTC, `YYYY-MM-DD`).
    async fn spent(&self, person: &PersonId, day: &str) -> Result<f64, StoreError>;

    /// The cost of an agent on one day, for all people together.
    async fn spent_by_agent(&self, agent: &AgentId, day: &str) -> Result<f64, StoreError>;

    /// Lists every person and agent that spent something on one day.
    async fn spending(&self, day: &str) -> Result<DaySpending, StoreError>;

    /// Lists all usage from the first day to the last, ordered by day.
    async fn usage(&self, first: &str, last: &str) -> Result<Vec<UsageRow>, StoreError>;

    /// Adds an entry to the person's audit chain.
    async fn append_audit(&self, entry: AuditEntry) -> Result<AuditRow, StoreError>;

    /// Adds an entry about work that began in this life. `LeaseLost` once that life is over, because
    /// others have taken the work over then. A single process has only one life.
    async fn append_audit_of(
        &self,
        _life: WorkLife,
        entry: AuditEntry,
    ) -> Result<AuditRow, StoreError> {
        self.append_audit(entry).await
    }

    /// Lists the rows of the audit chain before a row, newest first.
    async fn audit(
        &self,
        person: &PersonId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError>;

    async fn verify_audit(&self, person: &PersonId) -> Result<ChainState, StoreError>;
}
