//! The settings of jobs in `onyx.json`.

use std::path::Path;
use std::time::Duration;

use onyx_storage::{ObjectsUrl, S3Settings, ServerError};
use onyx_types::{AgentId, ErrorCode, Fault, JobId, PersonId};
use serde::Deserialize;

use super::schedule::{self, Period};
use super::spec::{BackupPlan, SystemWork};

const USUAL_AT_ONCE: usize = 4;

/// The `jobs` section of the config as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JobsSettings {
    /// The most job runs that may work at the same time.
    pub max_at_once: Option<usize>,
    /// The heartbeat; off unless it is set.
    pub heartbeat: Option<HeartbeatSettings>,
    /// How often all files are compared with the index, in addition to watching them.
    pub memory_sync: Option<SyncSettings>,
    /// Memory keeping, in which an agent proposes what its MEMORY.md should hold; off unless it is
    /// set.
    pub memory_keeping: Option<KeepingSettings>,
    /// The removal of old sessions; off unless it is set.
    pub session_cleanup: Option<CleanupSettings>,
    /// Backups of the home; off unless it is set.
    pub backup: Option<BackupSettings>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatSettings {
    pub every: String,
    pub agent: Option<AgentId>,
    pub model: Option<String>,
    pub max_cost_per_day: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SyncSettings {
    pub every: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KeepingSettings {
    /// How often memory keeping runs; once a day by default.
    pub every: Option<String>,
    pub agent: Option<AgentId>,
    pub model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanupSettings {
    /// How often old sessions are removed; once a day by default.
    pub every: Option<String>,
    /// Sessions that were not used for this long are deleted.
    pub older_than: Option<String>,
    /// How many of each person's newest sessions are kept.
    pub keep_newest: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct BackupSettings {
    /// How often a backup is made; once a day by default.
    pub every: Option<String>,
    /// A folder outside the home, by its full path, or `s3://bucket/prefix`.
    pub to: String,
    /// How an S3 store is reached; `storage.s3` by default.
    pub s3: Option<S3Settings>,
    /// How many of the newest snapshots are kept.
    pub keep: Option<usize>,
    /// `secret:<name>` or `env:<NAME>`. If it is set, backups are encrypted.
    pub passphrase: Option<String>,
}

/// `JobsSettings` after every value was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedJobsSettings {
    pub(super) max_at_once: usize,
    pub(super) system: Vec<SystemJob>,
}

/// A job that the config schedules. It belongs to the owner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SystemJob {
    pub(super) id: JobId,
    pub(super) owner: PersonId,
    pub(super) period: Period,
    pub(super) agent: Option<AgentId>,
    pub(super) model: Option<String>,
    pub(super) work: SystemWork,
}

impl Default for CheckedJobsSettings {
    fn default() -> Self {
        Self { max_at_once: USUAL_AT_ONCE, system: Vec::new() }
    }
}

impl JobsSettings {
    pub fn check(&self, owner: &PersonId) -> Result<CheckedJobsSettings, Fault> {
        let max_at_once = self.max_at_once.unwrap_or(USUAL_AT_ONCE);
        if max_at_once == 0 {
            return Err(wrong("jobs.maxAtOnce", "it must be 1 or more"));
        }
        let mut system = Vec::new();
        if let Some(heartbeat) = &self.heartbeat {
            let max_cost_per_day = heartbeat.max_cost_per_day;
            if max_cost_per_day.is_some_and(|most| !(most > 0.0 && most.is_finite())) {
                return Err(wrong("jobs.heartbeat.maxCostPerDay", "it must be a number above 0"));
            }
            system.push(SystemJob {
                agent: heartbeat.agent.clone(),
                model: heartbeat.model.clone(),
                work: SystemWork::Heartbeat { max_cost_per_day },
                ..job("heartbeat", owner, "jobs.heartbeat.every", &heartbeat.every)?
            });
        }
        if let Some(sync) = &self.memory_sync {
            system.push(job("memory-sync", owner, "jobs.memorySync.every", &sync.every)?);
        }
        if let Some(keeping) = &self.memory_keeping {
            let every = keeping.every.as_deref().unwrap_or("1d");
            system.push(SystemJob {
                agent: keeping.agent.clone(),
                model: keeping.model.clone(),
                work: SystemWork::MemoryKeeping,
                ..job("memory-keeping", owner, "jobs.memoryKeeping.every", every)?
            });
        }
        if let Some(cleanup) = &self.session_cleanup {
            system.push(cleanup_job(cleanup, owner)?);
        }
        if let Some(backup) = &self.backup {
            system.push(backup_job(backup, owner)?);
        }
        Ok(CheckedJobsSettings { max_at_once, system })
    }
}

fn backup_job(backup: &BackupSettings, owner: &PersonId) -> Result<SystemJob, Fault> {
    let BackupSettings { every, to, s3, keep, passphrase } = backup;
    check_place(to)?;
    let secret = s3.as_ref().and_then(|s3| s3.secret_access_key.as_deref());
    if secret.is_some_and(|text| !is_reference(text) && !text.starts_with("file:")) {
        let why = "write `secret:<name>`, `env:<NAME>` or `file:/path`, so that it is not stored in the config";
        return Err(wrong("jobs.backup.s3.secretAccessKey", why));
    }
    if *keep == Some(0) {
        return Err(wrong("jobs.backup.keep", "it must be 1 or more"));
    }
    if passphrase.as_ref().is_some_and(|text| !is_reference(text)) {
        // The error does not repeat the value, because it may be the passphrase itself.
        let why = "write `secret:<name>` or `env:<NAME>`, so that it is not stored in the config";
        return Err(wrong("jobs.backup.passphrase", why));
    }
    let plan = BackupPlan { to: to.clone(), keep: *keep, passphrase: passphrase.clone() };
    let every = every.as_deref().unwrap_or("1d");
    let base = job("backup", owner, "jobs.backup.every", every)?;
    Ok(SystemJob { work: SystemWork::Backup(plan), ..base })
}

fn is_reference(text: &str) -> bool {
    text.starts_with("secret:") || text.starts_with("env:")
}

fn check_place(to: &str) -> Result<(), Fault> {
    if to.starts_with("s3://") {
        return ObjectsUrl::parse(to).map(drop).map_err(|error| match error {
            ServerError::ObjectsUrl(why) => wrong("jobs.backup.to", &why),
            other => other.into(),
        });
    }
    if !Path::new(to).is_absolute() || to == "/" {
        let why = "it must be the full path of a folder of its own, or s3://bucket/prefix";
        return Err(wrong("jobs.backup.to", why));
    }
    Ok(())
}

fn cleanup_job(cleanup: &CleanupSettings, owner: &PersonId) -> Result<SystemJob, Fault> {
    let older_than = match &cleanup.older_than {
        None => None,
        Some(text) => Some(
            schedule::duration(text)
                .filter(|length| *length >= Duration::from_secs(24 * 60 * 60))
                .ok_or_else(|| {
                    wrong("jobs.sessionCleanup.olderThan", "it must be a day or more, such as 90d")
                })?,
        ),
    };
    let keep_newest = cleanup.keep_newest;
    if keep_newest == Some(0) {
        return Err(wrong("jobs.sessionCleanup.keepNewest", "it must be 1 or more"));
    }
    if older_than.is_none() && keep_newest.is_none() {
        return Err(wrong("jobs.sessionCleanup", "set `olderThan`, `keepNewest` or both"));
    }
    let every = cleanup.every.as_deref().unwrap_or("1d");
    Ok(SystemJob {
        work: SystemWork::SessionCleanup { older_than, keep_newest },
        ..job("session-cleanup", owner, "jobs.sessionCleanup.every", every)?
    })
}

fn job(name: &str, owner: &PersonId, field: &str, every: &str) -> Result<SystemJob, Fault> {
    let period = schedule::period(every)
        .map_err(|bad| wrong(field, &format!("{} ({})", bad.why, bad.example)))?;
    if period.length() < Duration::from_secs(60) {
        return Err(wrong(field, "two times must be at least a minute apart"));
    }
    Ok(SystemJob {
        id: format!("system:{name}").parse()?,
        owner: owner.clone(),
        period,
        agent: None,
        model: None,
        work: SystemWork::MemorySync,
    })
}

fn wrong(field: &str, why: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("{field}: {why}"))
}
