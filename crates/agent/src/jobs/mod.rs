//! Jobs: work that happens at a set time, while no person attends. A job is a file in the person's
//! vault, the `schedule:` of an action, or a task that the config schedules.
//!
//! Surfaces and the job tools come in through [`Jobs`]. A file becomes a spec (`fields.rs`), and
//! fires only while a person has accepted exactly this content. Which of its times are due, and which
//! of them are skipped, is decided without I/O (`due.rs`); the worker (`worker.rs`) writes the decision
//! into the ledger, claims one slot after the other there, and performs it (`perform/`). Nothing
//! here has a loop of its own for agents: a prompt becomes a run like any message, unattended.

mod deliver;
mod due;
mod edit;
mod fields;
mod file;
mod listing;
mod perform;
mod schedule;
mod settings;
mod spec;
mod tool_port;
mod words;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use async_trait::async_trait;
use onyx_knowledge::Index;
use onyx_storage::{Drafts, Duties, Files, JobLedger, Ledger, SlotKey};
use onyx_tools::JobOutside;
use onyx_types::{Cancel, Clock, Fault, JobId, PersonId};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, broadcast};

use crate::actions::Actions;
use crate::agents::CurrentRoster;
use crate::runs::Runs;
use crate::sessions::{Ids, Sessions};

pub use due::{JobActivity, due, fires_at};
pub use edit::JobEdit;
pub use file::front_of;
pub use listing::{Job, JobChangeWaiting, JobState};
pub use schedule::{Period, Rule, Schedule};
pub use settings::{
    BackupSettings, CheckedJobsSettings, CleanupSettings, HeartbeatSettings, JobsSettings,
    KeepingSettings, SyncSettings,
};
pub use spec::{
    BackupPlan, Check, Deliver, JobFlaw, JobSpec, Misfire, Overlap, SessionUse, SystemWork, Timing,
    Work,
};
pub use words::{describe, moment};

/// A listener that is this many notices behind gets an error that says so.
const MOST_UNHEARD: usize = 128;

/// A notice that a person's jobs have changed, or that a result is to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNotice {
    pub person: PersonId,
    pub job: JobId,
    /// The text that the person's browsers show; `None` if only the list of jobs has changed.
    pub tell: Option<String>,
}

/// The jobs of people: listed, changed, accepted, fired. Cheap to clone.
#[derive(Clone)]
pub struct Jobs {
    shared: Arc<JobsCore>,
}

pub(crate) struct JobsSetup {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) jobs: Arc<dyn JobLedger>,
    pub(crate) duties: Arc<dyn Duties>,
    pub(crate) drafts: Arc<dyn Drafts>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) roster: Arc<CurrentRoster>,
    pub(crate) sessions: Sessions,
    pub(crate) actions: Actions,
    pub(crate) runs: Runs,
    pub(crate) ids: Ids,
}

struct JobsCore {
    setup: JobsSetup,
    outside: RwLock<JobOutside>,
    index: OnceLock<Index>,
    settings: RwLock<CheckedJobsSettings>,
    /// Wakes the worker at once after a change, an acceptance or a request.
    wake: Notify,
    /// Cancels the slots that this process works on.
    at_work: Mutex<BTreeMap<SlotKey, Cancel>>,
    notices: broadcast::Sender<JobNotice>,
    /// Only notices of this gateway, for the task that passes them on to other gateways.
    own_notices: broadcast::Sender<JobNotice>,
    /// Slots whose results this process delivers now. The database lets a gateway take the same duty
    /// twice, so this set keeps its own tasks apart.
    delivering: Mutex<BTreeSet<SlotKey>>,
    /// People who are known to have jobs.
    with_jobs: Mutex<BTreeSet<PersonId>>,
    peers: RwLock<Option<Arc<dyn PeerWriter>>>,
    mail: RwLock<Option<Arc<dyn MailWriter>>>,
    backups: OnceLock<Arc<dyn HomeBackups>>,
}

/// Makes backups of the home.
#[async_trait]
pub trait HomeBackups: Send + Sync {
    async fn back_up(&self, plan: &BackupPlan, stop: Cancel) -> Result<BackupDone, Fault>;
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupDone {
    /// The summary for the history of the job.
    pub summary: String,
    /// Files that are not in the backup, with the reason.
    pub unreadable: Vec<String>,
}

/// Sends messages to people on other networks.
#[async_trait]
pub trait PeerWriter: Send + Sync {
    /// Accepts a text for a peer of this person. A text with a key that was accepted before is not
    /// sent again.
    async fn write(
        &self,
        person: &PersonId,
        address: &str,
        key: &str,
        text: &str,
    ) -> Result<(), Fault>;

    /// Checks whether the person may have texts sent to this peer.
    async fn check(&self, person: &PersonId, address: &str) -> Result<(), Fault>;
}

/// Sends mail to people.
#[async_trait]
pub trait MailWriter: Send + Sync {
    /// Checks whether mail may be sent to this address; if not, the error gives the reason.
    fn check(&self, to: &str) -> Result<(), String>;

    /// Sends a mail. The key is the same at each try, so that a receiver can recognise a repeat.
    async fn send(&self, to: &str, key: &str, subject: &str, text: &str) -> Result<(), Unsent>;
}

/// Why a mail was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsent {
    pub why: String,
    /// Whether the mail server may accept the mail later.
    pub may_go_later: bool,
}

impl Jobs {
    pub(crate) fn new(setup: JobsSetup) -> Self {
        let shared = JobsCore {
            setup,
            outside: RwLock::default(),
            index: OnceLock::new(),
            settings: RwLock::default(),
            wake: Notify::new(),
            at_work: Mutex::default(),
            notices: broadcast::Sender::new(MOST_UNHEARD),
            own_notices: broadcast::Sender::new(MOST_UNHEARD),
            delivering: Mutex::default(),
            with_jobs: Mutex::default(),
            peers: RwLock::default(),
            mail: RwLock::default(),
            backups: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sets the way to send messages to people on other networks.
    pub fn set_peers(&self, peers: Arc<dyn PeerWriter>) {
        *self.shared.peers.write().unwrap_or_else(PoisonError::into_inner) = Some(peers);
    }

    /// Sets the mail server, if the config names one.
    pub fn set_mail(&self, mail: Option<Arc<dyn MailWriter>>) {
        *self.shared.mail.write().unwrap_or_else(PoisonError::into_inner) = mail;
    }

    /// Sets the implementation that makes backups of the home.
    pub fn set_backups(&self, backups: Arc<dyn HomeBackups>) {
        // It is set only once, because a process serves one home.
        let _ = self.shared.backups.set(backups);
    }

    /// Sets the port by which jobs run commands and reach addresses.
    pub fn set_outside(&self, outside: JobOutside) {
        *self.shared.outside.write().unwrap_or_else(PoisonError::into_inner) = outside;
    }

    pub(crate) fn set_index(&self, index: Index) {
        // The index is set once: a process serves one home.
        let _ = self.shared.index.set(index);
    }

    /// Replaces the settings of jobs.
    pub fn set_settings(&self, settings: CheckedJobsSettings) {
        *self.shared.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        self.shared.wake.notify_one();
    }

    /// Subscribes to all notices from now on, of all people; the listener filters them.
    pub fn notices(&self) -> broadcast::Receiver<JobNotice> {
        self.shared.notices.subscribe()
    }

    /// Subscribes to notices of this gateway from now on, without those of other gateways.
    pub fn own_notices(&self) -> broadcast::Receiver<JobNotice> {
        self.shared.own_notices.subscribe()
    }

    /// Announces a notice of another gateway.
    pub fn take_notice(&self, notice: JobNotice) {
        // Sending fails only when there is no listener.
        let _ = self.shared.notices.send(notice);
    }

    /// Fires due jobs until `stop` is cancelled.
    pub async fn tend(&self, stop: &Cancel) {
        worker::Worker::new(Arc::clone(&self.shared)).tend(stop).await;
    }

    /// Settles and starts what is due now; for tests that move the clock themselves.
    pub async fn fire_due(&self) -> Result<(), onyx_types::Fault> {
        worker::Worker::new(Arc::clone(&self.shared)).tick().await.map(drop)
    }

    /// Ends slots that an earlier process had begun to fire. It is called once, before the first
    /// tick.
    pub async fn recover(&self) -> Result<usize, onyx_types::Fault> {
        worker::Worker::new(Arc::clone(&self.shared)).recover().await
    }
}

impl JobsCore {
    fn settings(&self) -> CheckedJobsSettings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn peers(&self) -> Option<Arc<dyn PeerWriter>> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn mail(&self) -> Option<Arc<dyn MailWriter>> {
        self.mail.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn outside(&self) -> JobOutside {
        self.outside.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, person: &PersonId, job: &JobId, tell: Option<String>) {
        let notice = JobNotice { person: person.clone(), job: job.clone(), tell };
        // Sending fails only when there is no listener.
        let _ = self.own_notices.send(notice.clone());
        let _ = self.notices.send(notice);
    }
}
