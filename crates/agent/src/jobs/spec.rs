//! A job as its file says it, every value checked.

use std::time::Duration;

use onyx_types::{AgentId, Timestamp};

use super::schedule::Schedule;

/// What a job does, when, and who is told.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    pub timing: Timing,
    pub work: Work,
    /// Asked first; no model is called unless it says so.
    pub when: Option<Check>,
    pub agent: Option<AgentId>,
    pub model: Option<String>,
    pub session: SessionUse,
    pub deliver: Vec<Deliver>,
    /// Of one run. More ends the run and pauses the job.
    pub max_cost: Option<f64>,
    pub enabled: bool,
}

/// When a job fires, and what becomes of times that nobody could fire at.
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

/// What becomes of slots whose time passed by more than the grace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misfire {
    /// None is fired; they are told as missed.
    Skip,
    /// The last of them is fired.
    #[default]
    Once,
    /// All are fired, one after the other.
    All,
}

/// What becomes of a slot whose job is still at work.
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

/// What the config has done now and then.
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
    /// So many of the newest snapshots stay; `None`: all.
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
    /// All runs go on with one.
    Kept,
}

/// Who is told what came of a run.
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
    /// Whether somebody else's server is waited for.
    pub(super) fn may_take_long(&self) -> bool {
        matches!(self, Self::Webhook(_) | Self::Mail(_))
    }
}

/// What is wrong with a job, and what would do instead.
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
