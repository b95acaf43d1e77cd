//! Lists jobs with their states and the times at which they fire next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Area, Files, JobRow, JobSlot, LocalObjects, ObjectKey, Objects, StoreError};
use onyx_tools::{JOBS_FOLDER, JobOutside};
use onyx_types::{AgentId, ErrorCode, Fault, Hash, JobId, JobKind, PersonId, Timestamp, slug};
use serde_json::{Map, Value, json};

use super::fields::{self, FieldRules, PastMoment};
use super::file::{self, LONGEST_FRONT};
use super::schedule::{Rule, Schedule};
use super::settings::SystemJob;
use super::spec::{Deliver, JobFlaw, JobSpec, Misfire, Overlap, SessionUse, Timing, Work};
use super::{Jobs, JobsCore};
use crate::actions::Action;

const MOST_JOBS: usize = 500;
/// How many future times of a job are shown.
pub(super) const SHOWN_AHEAD: usize = 5;

/// A job as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub kind: JobKind,
    /// The content of the job's file, or what the config says of it.
    pub text: String,
    pub hash: Hash,
    /// What the job's file says to do, or the reason why it cannot fire.
    pub spec: Result<JobSpec, JobFlaw>,
    /// What works but is probably not what was meant.
    pub warnings: Vec<String>,
    pub state: JobState,
    /// The job's row in the ledger.
    pub row: Option<JobRow>,
    pub next: Vec<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    Active,
    Paused(String),
    /// The file says `enabled: false`.
    Disabled,
    /// A person must accept the job's content before it fires.
    Waiting(JobChangeWaiting),
    /// The file cannot be read as a job.
    Broken,
    /// The job has no future time.
    Finished,
}

/// What a person must look at before the job fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobChangeWaiting {
    New,
    /// The job's content has changed; `before` is the text that was accepted.
    Changed {
        before: String,
    },
}

impl Job {
    /// Whether the job may fire.
    pub(super) fn is_active(&self) -> bool {
        self.state == JobState::Active || self.state == JobState::Finished
    }

    /// The job's times within this duration from now, at most `most`.
    pub fn times_within(&self, now: Timestamp, length: Duration, most: usize) -> Vec<Timestamp> {
        let Ok(spec) = &self.spec else { return Vec::new() };
        let anchor = self.row.as_ref().map_or(now, |row| row.anchor);
        let end = now.saturating_add(length);
        let end = spec.timing.expires.map_or(end, |expires| expires.min(end));
        let times = spec.timing.schedule.next_times(anchor, now, most);
        times.into_iter().take_while(|time| *time <= end).collect()
    }
}

impl Jobs {
    /// Lists all jobs of the person, broken ones too.
    pub async fn list(&self, person: &PersonId) -> Result<Vec<Job>, Fault> {
        self.shared.jobs_of(person).await
    }

    pub async fn get(&self, person: &PersonId, id: &JobId) -> Result<Job, Fault> {
        let mut jobs = self.shared.jobs_of(person).await?.into_iter();
        jobs.find(|job| job.id == *id).ok_or_else(|| no_such_job(id))
    }

    /// The results of its slots, newest first.
    pub async fn history(
        &self,
        person: &PersonId,
        id: &JobId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<JobSlot>, Fault> {
        self.get(person, id).await?;
        Ok(self.shared.setup.jobs.slots(person, id, before, limit).await?)
    }

    /// The newest result of a listed job.
    pub async fn last(&self, person: &PersonId, id: &JobId) -> Result<Option<JobSlot>, Fault> {
        Ok(self.shared.setup.jobs.slots(person, id, None, 1).await?.pop())
    }

    /// How many failures of each job the person has not looked at.
    pub async fn troubles(&self, person: &PersonId) -> Result<BTreeMap<JobId, u64>, Fault> {
        Ok(self.shared.setup.jobs.unseen_troubles(person).await?.into_iter().collect())
    }

    /// What a job with these fields would be: its spec and its next times.
    pub async fn preview(
        &self,
        person: &PersonId,
        fields: &Map<String, Value>,
    ) -> Result<(JobSpec, Vec<Timestamp>), JobFlaw> {
        let spec = self.shared.written_spec(person, fields, prompt_of(fields)?).await?;
        let now = self.shared.setup.clock.wall();
        let next = next_times(&spec.timing, now, now);
        Ok((spec, next))
    }
}

pub(super) fn no_such_job(id: &JobId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no job {id}."))
        .with_hint(format!("Jobs are the files of {JOBS_FOLDER} in the vault."))
}

/// The prompt among the fields of a request.
pub(super) fn prompt_of(fields: &Map<String, Value>) -> Result<&str, JobFlaw> {
    match fields.get("prompt") {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(prompt)) => Ok(prompt),
        Some(_) => Err(JobFlaw::new("prompt", "it must be a text")),
    }
}

fn next_times(timing: &Timing, anchor: Timestamp, after: Timestamp) -> Vec<Timestamp> {
    let times = timing.schedule.next_times(anchor, after, SHOWN_AHEAD);
    let counts = |time: &Timestamp| timing.expires.is_none_or(|expires| *time <= expires);
    times.into_iter().filter(counts).collect()
}

impl JobsCore {
    pub(super) async fn jobs_of(&self, person: &PersonId) -> Result<Vec<Job>, Fault> {
        let rows = self.setup.jobs.jobs().await?.into_iter();
        let mut rows: BTreeMap<JobId, JobRow> =
            rows.filter(|row| row.person == *person).map(|row| (row.job.clone(), row)).collect();
        let mut jobs = Vec::new();
        for found in self.job_files(person).await? {
            let row = rows.remove(&found.id);
            jobs.push(self.job(found, row));
        }
        for action in self.setup.actions.list(person).await? {
            let Some(found) = self.action_job(person, action) else { continue };
            let row = rows.remove(&found.id);
            jobs.push(self.job(found, row));
        }
        for system in self.settings().system.into_iter().filter(|job| job.owner == *person) {
            let found = self.system_job(person, system);
            let row = rows.remove(&found.id);
            jobs.push(self.job(found, row));
        }
        self.remember(person, !jobs.is_empty());
        Ok(jobs)
    }

    fn remember(&self, person: &PersonId, has_jobs: bool) {
        let mut known = self.with_jobs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if has_jobs {
            known.insert(person.clone());
        } else {
            known.remove(person);
        }
    }

    fn job(&self, found: FoundJob, row: Option<JobRow>) -> Job {
        let FoundJob { id, text, spec, warnings } = found;
        let now = self.setup.clock.wall();
        let hash = Hash::of(text.as_bytes());
        let state = state(&spec, row.as_ref(), hash, now);
        let anchor = row.as_ref().map_or(now, |row| row.anchor);
        let next = match (&spec, &state) {
            (Ok(spec), JobState::Active | JobState::Paused(_) | JobState::Waiting(_)) => {
                next_times(&spec.timing, anchor, now)
            }
            _ => Vec::new(),
        };
        Job { kind: id.kind(), id, text, hash, spec, warnings, state, row, next }
    }

    /// The spec of fields that a person writes now, so `at` must be in the future.
    pub(super) async fn written_spec(
        &self,
        person: &PersonId,
        given: &Map<String, Value>,
        prompt: &str,
    ) -> Result<JobSpec, JobFlaw> {
        let spec = self.spec_of(person, given, prompt, PastMoment::Refused)?;
        for way in &spec.deliver {
            if let Deliver::Peer(address) = way {
                self.check_peer(person, address).await?;
            }
        }
        Ok(spec)
    }

    /// Checks the peer's address, so that a mistake is reported now and not with the first result.
    async fn check_peer(&self, person: &PersonId, address: &str) -> Result<(), JobFlaw> {
        let unknown = |why: String| {
            let example = "`onyx connectors list` and its page show the known peers";
            JobFlaw::new("deliver", why).with_example(example)
        };
        let peers = self.peers().ok_or_else(|| unknown("no connector is running here".into()))?;
        peers.check(person, address).await.map_err(|fault| unknown(fault.message))
    }

    fn spec_of(
        &self,
        person: &PersonId,
        given: &Map<String, Value>,
        prompt: &str,
        past: PastMoment,
    ) -> Result<JobSpec, JobFlaw> {
        let roster = self.setup.roster.get();
        let mail = self.mail();
        let reading = FieldRules {
            zone: &self.setup.clock.zone_of(person),
            now: self.setup.clock.wall(),
            past,
            longest_prompt: roster.limits().max_action_bytes,
            knows_agent: &|agent: &AgentId| roster.get(agent).is_some(),
            check_address: &JobOutside::check_address,
            check_mail: &|to: &str| match &mail {
                Some(mail) => mail.check(to),
                None => Err("the config names no mail server (`mail`)".to_owned()),
            },
        };
        fields::read(given, prompt, &reading)
    }

    /// Reads a job file into a spec and warnings.
    pub(super) fn read_text(
        &self,
        person: &PersonId,
        text: &str,
        past: PastMoment,
    ) -> Result<(JobSpec, Vec<String>), JobFlaw> {
        let file = file::parse(text)?;
        Ok((self.spec_of(person, &file.fields, file.prompt, past)?, file.warnings))
    }

    async fn job_files(&self, person: &PersonId) -> Result<Vec<FoundJob>, Fault> {
        let vault = self.setup.files.objects(&Area::Vault(person.clone()))?;
        let folder: ObjectKey = JOBS_FOLDER.parse().map_err(StoreError::from)?;
        let listed = match vault.list(Some(&folder), MOST_JOBS).await {
            Err(StoreError::NotFound) => return Ok(Vec::new()),
            listed => listed?,
        };
        let mut found = Vec::new();
        for key in listed.into_iter().filter(|entry| !entry.is_folder).map(|entry| entry.key) {
            let Some(id) = key.parts().last().and_then(file::id_of) else { continue };
            let read = self.read_file(person, &key).await?;
            found.push(match (id, read) {
                (Ok(id), Ok(text)) => {
                    let (spec, warnings) = match self.read_text(person, &text, PastMoment::Read) {
                        Ok((spec, warnings)) => (Ok(spec), warnings),
                        Err(flaw) => (Err(flaw), Vec::new()),
                    };
                    FoundJob { id, text, spec, warnings }
                }
                (Ok(id), Err(flaw)) => FoundJob::broken(id, flaw),
                (Err(stem), _) => {
                    let Some(id) = listed_as(&stem) else { continue };
                    let why = format!(
                        "{stem:?} is not a name for a job: use a-z, 0-9, '-' and '_' and begin with a letter or digit"
                    );
                    FoundJob::broken(id, JobFlaw::new("file", why))
                }
            });
        }
        Ok(found)
    }

    async fn read_file(
        &self,
        person: &PersonId,
        key: &ObjectKey,
    ) -> Result<Result<String, JobFlaw>, Fault> {
        let vault = self.setup.files.objects(&Area::Vault(person.clone()))?;
        let longest = self.setup.roster.get().limits().max_action_bytes + LONGEST_FRONT;
        Ok(match vault.get(key, longest as u64).await {
            Ok(Some(object)) => {
                String::from_utf8(object.bytes).map_err(|_| JobFlaw::new("file", "it is not UTF-8"))
            }
            Ok(None) => Err(JobFlaw::new("file", "it is gone")),
            // The file is a link, or longer than any job may be.
            Err(StoreError::Refused(why)) => Err(JobFlaw::new("file", why)),
            Err(error) => return Err(error.into()),
        })
    }

    /// The job that an action's `schedule:` makes.
    fn action_job(&self, person: &PersonId, action: Action) -> Option<FoundJob> {
        let Action { id, text, recipe, warnings, .. } = action;
        let recipe = recipe.ok()?;
        let schedule = recipe.schedule.as_deref()?.trim();
        let job: JobId = format!("action:{id}").parse().ok()?;
        let given = match schedule.split_once(' ') {
            Some(("every", every)) => json!({"every": every}),
            Some(("at", at)) => json!({"at": at}),
            _ => json!({"cron": schedule}),
        };
        let given = given.as_object().cloned().unwrap_or_default();
        let spec = self.spec_of(person, &given, &recipe.prompt, PastMoment::Read);
        let spec = spec.map(|spec| JobSpec {
            work: Work::Action(id),
            agent: recipe.agent,
            model: recipe.model,
            ..spec
        });
        let spec = spec.map_err(|flaw| JobFlaw { field: "schedule", ..flaw });
        Some(FoundJob { id: job, text, spec, warnings })
    }

    fn system_job(&self, person: &PersonId, job: SystemJob) -> FoundJob {
        let text = format!("{job:?}");
        let spec = JobSpec {
            timing: Timing {
                schedule: Schedule {
                    rule: Rule::Every { period: job.period, from: None },
                    zone: self.setup.clock.zone_of(person),
                },
                jitter: Duration::ZERO,
                misfire: Misfire::Once,
                grace: Duration::from_secs(60),
                overlap: Overlap::Skip,
                expires: None,
            },
            work: Work::System(job.work),
            when: None,
            agent: job.agent,
            model: job.model,
            session: SessionUse::Fresh,
            deliver: vec![Deliver::Session],
            max_cost: None,
            enabled: true,
        };
        FoundJob { id: job.id, text, spec: Ok(spec), warnings: Vec::new() }
    }
}

/// A job as read from its file, its action or the config.
struct FoundJob {
    id: JobId,
    text: String,
    spec: Result<JobSpec, JobFlaw>,
    warnings: Vec<String>,
}

impl FoundJob {
    fn broken(id: JobId, flaw: JobFlaw) -> Self {
        Self { id, text: String::new(), spec: Err(flaw), warnings: Vec::new() }
    }
}

/// The nearest valid id for a file whose name is none, so that the file is listed all the same.
fn listed_as(stem: &str) -> Option<JobId> {
    slug(stem).parse().ok()
}

fn state(
    spec: &Result<JobSpec, JobFlaw>,
    row: Option<&JobRow>,
    hash: Hash,
    now: Timestamp,
) -> JobState {
    let Ok(spec) = spec else { return JobState::Broken };
    let Some(row) = row else { return JobState::Waiting(JobChangeWaiting::New) };
    if row.accepted_hash != hash {
        let before = row.accepted_text.clone();
        return JobState::Waiting(JobChangeWaiting::Changed { before });
    }
    if !spec.enabled {
        return JobState::Disabled;
    }
    if let Some(why) = &row.paused {
        return JobState::Paused(why.clone());
    }
    let after = now.max(row.settled);
    let next = spec.timing.schedule.next_after(row.anchor, after);
    let counts = |time: Timestamp| spec.timing.expires.is_none_or(|expires| time <= expires);
    if next.is_some_and(counts) { JobState::Active } else { JobState::Finished }
}

/// Reads the file from the agent's folder, or from the workspace that its config names instead.
pub(super) async fn read_heartbeat(
    files: &dyn Files,
    agent: &AgentId,
    workspace: Option<&str>,
) -> Result<Option<String>, Fault> {
    const LONGEST: u64 = 64 * 1024;
    let objects: Arc<dyn Objects> =
        match workspace.map(|folder| LocalObjects::open(folder.as_ref())) {
            Some(Ok(objects)) => Arc::new(objects),
            Some(Err(error)) => {
                tracing::warn!(%agent, %error, "the agent's workspace cannot be read");
                return Ok(None);
            }
            None => files.objects(&Area::Agent(agent.clone()))?,
        };
    let key = "HEARTBEAT.md".parse().map_err(StoreError::from)?;
    match objects.get(&key, LONGEST).await {
        Ok(object) => Ok(object.map(|it| String::from_utf8_lossy(&it.bytes).into_owned())),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
