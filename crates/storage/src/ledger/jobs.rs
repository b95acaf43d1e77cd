use async_trait::async_trait;
use onyx_types::{Hash, JobId, PersonId, RunId, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AuditEntry, StoreError};

/// What the ledger knows of a job besides its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    pub person: PersonId,
    pub job: JobId,
    /// The only content at which it fires.
    pub accepted_hash: Hash,
    pub accepted_text: String,
    pub accepted_at: Timestamp,
    /// `every` counts from here.
    pub anchor: Timestamp,
    /// Every slot up to this time is settled.
    pub settled: Timestamp,
    /// Why it is paused.
    pub paused: Option<String>,
    /// The number of failures in a row.
    pub failures: u32,
    /// The conversation that its runs continue, if it keeps one.
    pub session: Option<SessionId>,
    /// When the person last looked at its results.
    pub seen_at: Option<Timestamp>,
}

/// One scheduled time of a job and its outcome, or several in a row that were not fired.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSlot {
    pub person: PersonId,
    pub job: JobId,
    pub scheduled_at: Timestamp,
    /// The last time that the row stands for.
    pub last: Timestamp,
    /// How many times it stands for; a large number may be a lower bound.
    pub count: u32,
    pub state: SlotState,
    pub trigger: SlotTrigger,
    pub run: Option<RunId>,
    pub session: Option<SessionId>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub cost: Option<f64>,
    /// What came of it, in words for people.
    pub detail: String,
    pub delivery: Option<SlotDelivery>,
}

impl JobSlot {
    /// A slot that waits to be fired.
    pub fn queued(person: PersonId, job: JobId, at: Timestamp, trigger: SlotTrigger) -> Self {
        Self {
            person,
            job,
            scheduled_at: at,
            last: at,
            count: 1,
            state: SlotState::Queued,
            trigger,
            run: None,
            session: None,
            started_at: None,
            ended_at: None,
            cost: None,
            detail: String::new(),
            delivery: None,
        }
    }

    pub fn key(&self) -> SlotKey {
        SlotKey {
            person: self.person.clone(),
            job: self.job.clone(),
            scheduled_at: self.scheduled_at,
        }
    }
}

/// Names one slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotKey {
    pub person: PersonId,
    pub job: JobId,
    pub scheduled_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotState {
    /// Waits for room, or for the run before it.
    Queued,
    Running,
    Done,
    /// It ran, or its check did, and there was nothing to tell.
    Nothing,
    Failed,
    /// The process ended while it ran. It is not repeated.
    Interrupted,
    /// A later slot took its place.
    Replaced,
    /// A rule of the job left it out.
    Skipped,
    /// Its time passed while no gateway could fire it.
    Missed,
}

impl SlotState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Nothing => "nothing",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Replaced => "replaced",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
        }
    }

    /// Is it something that a person should know of?
    pub const fn is_trouble(self) -> bool {
        matches!(self, Self::Failed | Self::Interrupted | Self::Missed)
    }
}

/// Why a slot fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotTrigger {
    Schedule,
    /// A person asked for it now.
    Person,
}

impl SlotTrigger {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Person => "person",
        }
    }
}

/// Whether the result of a slot was delivered to its receivers besides the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotDelivery {
    Pending,
    Delivered,
    Failed,
}

impl SlotDelivery {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

/// The slots of one job between two times, decided as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    pub person: PersonId,
    pub job: JobId,
    /// The start of the time, as the row said when this was decided.
    pub from: Timestamp,
    /// Earlier than `from` after the clock was set back: what was skipped or missed beyond it is
    /// taken back and comes again in its time. What was fired stays fired.
    pub to: Timestamp,
    pub slots: Vec<JobSlot>,
}

/// Fields to change in a job's row; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobChange {
    /// Pauses the job for this reason; `Some(None)` resumes it.
    pub paused: Option<Option<String>>,
    pub failures: Option<u32>,
    pub session: Option<SessionId>,
    pub seen_at: Option<Timestamp>,
    /// Slots up to this time are settled, with any outcome.
    pub settled: Option<Timestamp>,
}

/// The right to fire one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotClaim {
    pub slot: SlotKey,
    /// The run that it will be; none where no model is asked.
    pub run: Option<RunId>,
    pub started_at: Timestamp,
    /// Slots that may be running at once, over all jobs.
    pub most: usize,
}

/// How a slot ended.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotEnding {
    pub slot: SlotKey,
    /// The slot ends only if it is in this state.
    pub from: SlotState,
    pub state: SlotState,
    pub session: Option<SessionId>,
    pub ended_at: Timestamp,
    pub cost: Option<f64>,
    pub detail: String,
    pub delivery: Option<SlotDelivery>,
    /// What that changes for the job.
    pub job: JobChange,
}

/// The ledger of jobs. One transaction decides which gateway fires a slot, so several gateways can
/// share it.
#[async_trait]
pub trait JobLedger: Send + Sync {
    /// Everybody's.
    async fn jobs(&self) -> Result<Vec<JobRow>, StoreError>;

    async fn job(&self, person: &PersonId, job: &JobId) -> Result<Option<JobRow>, StoreError>;

    /// Writes the row as given: a person accepted the job.
    async fn put_job(&self, row: JobRow, audit: AuditEntry) -> Result<(), StoreError>;

    /// `false`: there is no such row.
    async fn change_job(
        &self,
        person: &PersonId,
        job: &JobId,
        change: JobChange,
    ) -> Result<bool, StoreError>;

    /// Removes the job with all its slots.
    async fn remove_job(
        &self,
        person: &PersonId,
        job: &JobId,
        audit: AuditEntry,
    ) -> Result<(), StoreError>;

    /// `false`: another gateway has settled them meanwhile, and nothing was written. A slot that is
    /// there already stays as it is.
    async fn settle_slots(&self, settling: Settling) -> Result<bool, StoreError>;

    /// `false`: there is a slot at that time.
    async fn add_slot(&self, slot: JobSlot) -> Result<bool, StoreError>;

    /// Moves a slot from queued to running, unless another slot of the job runs or too many of all
    /// jobs do.
    async fn claim_slot(&self, claim: SlotClaim) -> Result<bool, StoreError>;

    /// `false`: it was not in the state that the ending begins with.
    async fn end_slot(&self, ending: SlotEnding) -> Result<bool, StoreError>;

    /// Everybody's slots that wait or run, by their times.
    async fn open_slots(&self) -> Result<Vec<JobSlot>, StoreError>;

    /// Everybody's slots that run and whose process is gone, or was this one: those that the caller fires now are none of
    /// them. In a home one process fires all, so these are all that run.
    async fn left_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        let mut slots = self.open_slots().await?;
        slots.retain(|slot| slot.state == SlotState::Running);
        Ok(slots)
    }

    /// The slots of all people that are not delivered yet.
    async fn undelivered_slots(&self) -> Result<Vec<JobSlot>, StoreError>;

    async fn set_delivery(
        &self,
        slot: &SlotKey,
        delivery: SlotDelivery,
        detail: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Newest first, before a time.
    async fn slots(
        &self,
        person: &PersonId,
        job: &JobId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<JobSlot>, StoreError>;

    /// How many troubles of each job the person has not looked at.
    async fn unseen_troubles(&self, person: &PersonId) -> Result<Vec<(JobId, u64)>, StoreError>;

    /// What the job's slots have cost since a time.
    async fn spent_by_job(
        &self,
        person: &PersonId,
        job: &JobId,
        since: Timestamp,
    ) -> Result<f64, StoreError>;
}
