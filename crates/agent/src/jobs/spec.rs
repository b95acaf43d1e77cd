//! A job's settings from its file, every value checked.

use std::time::Duration;

use onyx_types::{AgentId, Timestamp};

use super::schedule::Schedule;

/// What a job does, when, and where its results are delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    pub timing: Timing,
    pub work: Work,
    /// This check is asked first; no model is called unless it says so.
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
    /// A firing may be put off by up to this long; the slot keeps its time.
    pub jitter: Duration,
    pub misfire: Misfire,
    /// A slot that is late by less than this counts as on time.
    pub grace: Duration,
    pub overlap: Overlap,
    /// No time after this one counts.
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
    /// An agent gets these words.
    Prompt(String),
    /// A command in the sandbox, and no model.
    Command(Vec<String>),
    /// The action of this id.
    Action(String),
    System(SystemWork),
}

/// Work that the config schedules.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemWork {
    /// The agent looks at its HEARTBEAT.md.
    Heartbeat { max_cost_per_day: Option<f64> },
    /// Files and index are compared.
    MemorySync,
    /// An agent proposes, as drafts, what its memory should hold.
    MemoryKeeping,
    /// Sessions that are too old or too many are removed.
    SessionCleanup { older_than: Option<Duration>, keep_newest: Option<usize> },
    /// The home is backed up.
    Backup(BackupPlan),
}

/// Where a backup of the home goes, and what stays there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupPlan {
    /// A folder, or `s3://bucket/prefix`, which is reached as the config says.
    pub to: String,
    /// This many of the newest snapshots stay; `None`: all stay.
    pub keep: Option<usize>,
    /// `secret:<name>` or `env:<NAME>`, never the passphrase itself; with one it is encrypted.
    pub passphrase: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Yes when it ends with 0. It may look at the vault and change nothing.
    Command(Vec<String>),
    /// Yes when the address answers as expected.
    Http {
        url: String,
        /// `None`: any from 200 to 299.
        status: Option<u16>,
        contains: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionUse {
    /// Each run has a conversation of its own.
    #[default]
    Fresh,
    /// All runs share one session.
    Kept,
}

/// Where a run's result is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deliver {
    /// Its session is shown as unread.
    Session,
    /// The person's browsers show it.
    Notification,
    Webhook(String),
    /// An e-mail address.
    Mail(String),
    /// Somebody that a connector knows: `telegram/main/123`.
    Peer(String),
}

impl Deliver {
    /// Whether delivery waits for another server.
    pub(super) fn may_take_long(&self) -> bool {
        matches!(self, Self::Webhook(_) | Self::Mail(_))
    }
}

/// What is wrong with a job, and an example that is right.
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
