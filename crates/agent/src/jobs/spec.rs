//! A job's settings from its file, every value checked.

use std::time::Duration;

use onyx_types::{AgentId, Timestamp};

use super::schedule::Schedule;

/// What a job does, when it does that, and where its results are delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    pub timing: Timing,
    pub work: Work,
    /// A check that is made before the work; if it fails, nothing is done and no model is called.
    pub when: Option<Check>,
    pub agent: Option<AgentId>,
    pub model: Option<String>,
    pub session: SessionUse,
    pub deliver: Vec<Deliver>,
    /// The most that one run may cost. A higher cost ends the run and pauses the job.
    pub max_cost: Option<f64>,
    pub enabled: bool,
}

/// When a job fires, and what happens to times at which no gateway was running.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    pub schedule: Schedule,
    /// The longest delay of a firing. The slot keeps its time.
    pub jitter: Duration,
    pub misfire: Misfire,
    /// A slot that is late by less than this still counts as on time.
    pub grace: Duration,
    pub overlap: Overlap,
    /// There are no slots after this time.
    pub expires: Option<Timestamp>,
}

/// What happens to slots whose time passed by more than the grace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misfire {
    /// None of them is fired; they are reported as missed.
    Skip,
    /// The last of them is fired.
    #[default]
    Once,
    /// All are fired, one after the other.
    All,
}

/// What happens to a slot whose job is still at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    #[default]
    Skip,
    Queue,
    Replace,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A prompt for an agent.
    Prompt(String),
    /// A command that runs in the sandbox, without a model.
    Command(Vec<String>),
    /// The id of an action to run.
    Action(String),
    System(SystemWork),
}

/// Work that the config schedules.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemWork {
    /// The agent looks at its HEARTBEAT.md.
    Heartbeat { max_cost_per_day: Option<f64> },
    /// Compares all files with the index.
    MemorySync,
    /// An agent proposes, as drafts, what its memory should hold.
    MemoryKeeping,
    /// Removes sessions that are too old or too many.
    SessionCleanup { older_than: Option<Duration>, keep_newest: Option<usize> },
    /// Makes a backup of the home.
    Backup(BackupPlan),
}

/// Where a backup of the home goes, and how many snapshots are kept there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupPlan {
    /// A folder, or `s3://bucket/prefix` in a store that the config describes.
    pub to: String,
    /// How many of the newest snapshots are kept; `None` keeps all.
    pub keep: Option<usize>,
    /// `secret:<name>` or `env:<NAME>`, never the passphrase itself. If it is set, the backup is
    /// encrypted.
    pub passphrase: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Succeeds if the command exits with 0. The command may read the vault and change nothing.
    Command(Vec<String>),
    /// Succeeds if the address answers as expected.
    Http {
        url: String,
        /// The expected status; `None` accepts any from 200 to 299.
        status: Option<u16>,
        contains: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionUse {
    /// Each run gets a new session.
    #[default]
    Fresh,
    /// All runs share one session.
    Kept,
}

/// Where a run's result is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deliver {
    /// The job's session is shown as unread.
    Session,
    /// The person's browsers show a notification.
    Notification,
    Webhook(String),
    /// An e-mail address.
    Mail(String),
    /// A peer of a connector, such as `telegram/main/123`.
    Peer(String),
}

impl Deliver {
    /// Whether the delivery waits for another server.
    pub(super) fn may_take_long(&self) -> bool {
        matches!(self, Self::Webhook(_) | Self::Mail(_))
    }
}

/// What is wrong with a job, with a valid example where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFlaw {
    pub field: &'static str,
    pub why: String,
    pub example: Option<String>,
}

impl JobFlaw {
    pub(super) fn new(field: &'static str, why: impl Into<String>) -> Self {
        Self { field, why: why.into(), example: None }
    }

    pub(super) fn with_example(mut self, example: impl Into<String>) -> Self {
        self.example = Some(example.into());
        self
    }
}

impl std::fmt::Display for JobFlaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.why)?;
        match &self.example {
            Some(example) => write!(f, " ({example})"),
            None => Ok(()),
        }
    }
}
