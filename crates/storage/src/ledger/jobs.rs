use async_trait::async_trait;
use onyx_types::{Hash, JobId, PersonId, RunId, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AuditEntry, OwnedDuty, StoreError};

/// What the ledger knows of a job in addition to the job's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    pub person: PersonId,
    pub job: JobId,
    /// The hash of the file that the person accepted. The job fires only while its file has this
    /// hash.
    pub accepted_hash: Hash,
    pub accepted_text: String,
    pub accepted_at: Timestamp,
    /// The time from which intervals of an `every` schedule are counted.
    pub anchor: Timestamp,
    /// All slots up to this time have been decided.
    pub settled: Timestamp,
    /// The reason why the job is paused; `None`: it is not.
    pub paused: Option<String>,
    /// The number of failures in a row.
    pub failures: u32,
    /// The conversation that the job's runs continue, if it keeps one.
    pub session: Option<SessionId>,
    /// When the person last looked at the job's results.
    pub seen_at: Option<Timestamp>,
}

/// One scheduled time of a job and its outcome, or several consecutive times that were not fired.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSlot {
    pub person: PersonId,
    pub job: JobId,
    pub scheduled_at: Timestamp,
    /// The last scheduled time that this row stands for.
    pub last: Timestamp,
    /// How many scheduled times this row stands for; a large number may be a lower bound.
    pub count: u32,
    pub state: SlotState,
    pub trigger: SlotTrigger,
    pub run: Option<RunId>,
    pub session: Option<SessionId>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub cost: Option<f64>,
    /// The outcome, in words for people.
    pub detail: String,
    pub delivery: Option<SlotDelivery>,
}

impl JobSlot {
    /// A new slot that waits to be fired.
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

/// The key of one slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotKey {
    pub person: PersonId,
    pub job: JobId,
    pub scheduled_at: Timestamp,
}

impl SlotKey {
    /// The name of the duty under which one gateway delivers the result of the slot.
    pub fn delivery_duty(&self) -> String {
        format!("delivery {}/{}/{}", self.person, self.job, self.scheduled_at.as_millis())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotState {
    /// The slot waits for a free place, or for an earlier run of the job to end.
    Queued,
    Running,
    Done,
    /// The job or its check ran, and there was nothing to report.
    Nothing,
    Failed,
    /// The process ended while the slot ran. The run is not repeated.
    Interrupted,
    /// A later slot was queued instead of this one.
    Replaced,
    /// A rule of the job excluded this slot.
    Skipped,
    /// The scheduled time passed while no gateway could fire it.
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

    /// Whether this is an outcome that a person should know of.
    pub const fn is_trouble(self) -> bool {
        matches!(self, Self::Failed | Self::Interrupted | Self::Missed)
    }
}

/// The reason why a slot fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotTrigger {
    Schedule,
    /// A person asked for the run directly.
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

/// Whether the result of a slot was delivered to its receivers other than the session.
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

/// The slots of one job in a span of time, decided together.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    pub person: PersonId,
    pub job: JobId,
    /// The start of the span: the row's `settled` time when the decision was made.
    pub from: Timestamp,
    /// The end of the span. It is earlier than `from` after the clock was set back. Then skipped
    /// and missed slots after it are removed, because their times come again; slots that were fired
    /// stay.
    pub to: Timestamp,
    pub slots: Vec<JobSlot>,
}

/// Fields to change in a job's row; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobChange {
    /// `Some(Some(reason))` pauses the job, and `Some(None)` resumes it.
    pub paused: Option<Option<String>>,
    pub failures: Option<u32>,
    pub session: Option<SessionId>,
    pub seen_at: Option<Timestamp>,
    /// The new time up to which all slots have been decided.
    pub settled: Option<Timestamp>,
}

/// A request for the right to fire one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotClaim {
    pub slot: SlotKey,
    /// The run that the slot will start; `None` where no model is asked.
    pub run: Option<RunId>,
    pub started_at: Timestamp,
    /// The most slots that may run at once, over all jobs.
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
    /// What the ending changes in the job's row.
    pub job: JobChange,
}

/// The ledger of jobs. One transaction decides which gateway fires a slot, so several gateways can
/// share the ledger.
#[async_trait]
pub trait JobLedger: Send + Sync {
    /// Lists the jobs of all people.
    async fn jobs(&self) -> Result<Vec<JobRow>, StoreError>;

    /// Lists the jobs of one person.
    async fn jobs_of(&self, person: &PersonId) -> Result<Vec<JobRow>, StoreError> {
        let mut rows = self.jobs().await?;
        rows.retain(|row| row.person == *person);
        Ok(rows)
    }

    async fn job(&self, person: &PersonId, job: &JobId) -> Result<Option<JobRow>, StoreError>;

    /// Writes the row as given, because a person accepted the job.
    async fn put_job(&self, row: JobRow, audit: AuditEntry) -> Result<(), StoreError>;

    /// Changes fields of a job's row. `false`: there is no such row.
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

    /// Records the decisions on a span of slots. `false`: another gateway has settled them
    /// meanwhile, and nothing was written. Slots that exist already stay as they are.
    async fn settle_slots(&self, settling: Settling) -> Result<bool, StoreError>;

    /// Adds a slot. `false`: there is a slot at that time already.
    async fn add_slot(&self, slot: JobSlot) -> Result<bool, StoreError>;

    /// Moves a slot from queued to running. This fails if another slot of the job runs, or if the
    /// limit of running slots over all jobs is reached.
    async fn claim_slot(&self, claim: SlotClaim) -> Result<bool, StoreError>;

    /// Ends a slot. `false`: it was not in the state in which the ending begins.
    async fn end_slot(&self, ending: SlotEnding) -> Result<bool, StoreError>;

    /// Lists the slots of all people that wait or run, ordered by their times.
    async fn open_slots(&self) -> Result<Vec<JobSlot>, StoreError>;

    /// Lists the running slots of all people that may be left over: those of dead processes, and
    /// all of this process's own. The caller leaves out those that it fires now. The default
    /// returns all running slots, because in a home one process fires all of them.
    async fn left_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        let mut slots = self.open_slots().await?;
        slots.retain(|slot| slot.state == SlotState::Running);
        Ok(slots)
    }

    /// Lists the slots of all people whose results are not delivered yet.
    async fn undelivered_slots(&self) -> Result<Vec<JobSlot>, StoreError>;

    /// Records how a pending delivery ended. `by` is the duty of this delivery. `false`: the delivery
    /// is not pending any more, or another gateway owns the duty meanwhile; nothing was written.
    async fn set_delivery(
        &self,
        slot: &SlotKey,
        by: &OwnedDuty,
        delivery: SlotDelivery,
        detail: Option<&str>,
    ) -> Result<bool, StoreError>;

    /// One slot as it is now.
    async fn slot(&self, key: &SlotKey) -> Result<Option<JobSlot>, StoreError> {
        let after = Timestamp::from_millis(key.scheduled_at.as_millis().saturating_add(1));
        let found = self.slots(&key.person, &key.job, Some(after), 1).await?;
        Ok(found.into_iter().find(|slot| slot.scheduled_at == key.scheduled_at))
    }

    /// Lists the slots of a job before a time, newest first.
    async fn slots(
        &self,
        person: &PersonId,
        job: &JobId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<JobSlot>, StoreError>;

    /// Counts, for each job, the troubles that the person has not looked at yet.
    async fn unseen_troubles(&self, person: &PersonId) -> Result<Vec<(JobId, u64)>, StoreError>;

    /// The total cost of the job's slots since a time.
    async fn spent_by_job(
        &self,
        person: &PersonId,
        job: &JobId,
        since: Timestamp,
    ) -> Result<f64, StoreError>;
}
