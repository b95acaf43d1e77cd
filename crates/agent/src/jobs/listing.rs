//! Lists jobs with their states and the times at which they fire next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    Area, Files, JobRow, JobSlot, LocalObjects, Object, ObjectKey, Objects, StoreError,
};
use onyx_tools::{JOBS_FOLDER, JobOutside};
use onyx_types::{AgentId, ErrorCode, Fault, Hash, JobId, JobKind, PersonId, Timestamp, slug};
use serde_json::{Map, Value, json};

use super::fields::{self, FieldRules, PastMoment};
use super::file::{self, LONGEST_FRONT};
use super::schedule::{Rule, Schedule};
use super::settings::SystemJob;
use super::spec::{Deliver, JobFlaw, JobSpec, Misfire, Overlap, SessionUse, Timing, Work};
use super::{Jobs, JobsCore};
use crate::actions::{Action, ScheduledActions, VaultFile, list_folders, read_files};

const MOST_JOBS: usize = 500;
/// For how many people the files are read before they are parsed, so that the memory which this
/// takes is bounded.
const PEOPLE_AT_ONCE: usize = 256;
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
        self.shared.job_of(person, id).await?.ok_or_else(|| no_such_job(id))
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
        let FoundJobs { jobs, unread } = self.all_jobs_of(person).await?;
        match unread.into_iter().next() {
            Some(unread) => Err(unread.fault),
            None => Ok(jobs),
        }
    }

    /// One job of a person, whether or not the others can be read.
    pub(super) async fn job_of(&self, person: &PersonId, id: &JobId) -> Result<Option<Job>, Fault> {
        let FoundJobs { jobs, unread } = self.all_jobs_of(person).await?;
        if let Some(job) = jobs.into_iter().find(|job| job.id == *id) {
            return Ok(Some(job));
        }
        let concerns = |unread: &UnreadJob| unread.job.as_ref().is_none_or(|job| job == id);
        match unread.into_iter().find(concerns) {
            Some(unread) => Err(unread.fault),
            None => Ok(None),
        }
    }

    async fn all_jobs_of(&self, person: &PersonId) -> Result<FoundJobs, Fault> {
        let rows = self.setup.jobs.jobs_of(person).await?;
        let mut found = self.found_jobs(std::slice::from_ref(person), rows).await?;
        Ok(found.pop().unwrap_or_default())
    }

    /// The jobs of all these people. What cannot be read is logged and left out, so that it does not
    /// hold up the jobs of others.
    pub(super) async fn jobs_of_people(&self, people: Vec<PersonId>) -> Result<AllJobs, Fault> {
        let rows = self.setup.jobs.jobs().await?;
        let found = self.found_jobs(&people, rows).await?;
        let mut all = AllJobs::new();
        for (person, FoundJobs { jobs, unread }) in people.into_iter().zip(found) {
            for UnreadJob { job, fault } in unread {
                let job = job.map_or("all".to_owned(), |job| job.to_string());
                tracing::warn!(%person, job, %fault, "a job cannot be read; it does not fire until it can");
            }
            all.extend(jobs.into_iter().map(|job| ((person.clone(), job.id.clone()), job)));
        }
        Ok(all)
    }

    /// The jobs of these people, in the order of the people. `rows` has at least theirs.
    async fn found_jobs(
        &self,
        people: &[PersonId],
        rows: Vec<JobRow>,
    ) -> Result<Vec<FoundJobs>, Fault> {
        let rows = rows.into_iter();
        let mut rows: BTreeMap<(PersonId, JobId), JobRow> =
            rows.map(|row| ((row.person.clone(), row.job.clone()), row)).collect();
        let mut all = Vec::with_capacity(people.len());
        for some in people.chunks(PEOPLE_AT_ONCE) {
            let files = self.job_files(some).await?;
            let actions = self.setup.actions.scheduled(some).await?;
            for ((person, files), actions) in some.iter().zip(files).zip(actions) {
                let ReadJobs { found, unread } = self.read_jobs(person, files, actions);
                let jobs = found.into_iter().map(|found| {
                    let row = rows.remove(&(person.clone(), found.id.clone()));
                    self.job(found, row)
                });
                let jobs: Vec<Job> = jobs.collect();
                if unread.is_empty() || !jobs.is_empty() {
                    self.remember(person, !jobs.is_empty());
                }
                all.push(FoundJobs { jobs, unread });
            }
        }
        Ok(all)
    }

    /// Puts together what the files, the actions and the config say of one person's jobs.
    fn read_jobs(
        &self,
        person: &PersonId,
        files: ReadJobs,
        actions: Result<ScheduledActions, Fault>,
    ) -> ReadJobs {
        let ReadJobs { mut found, mut unread } = files;
        match actions {
            Ok(actions) => {
                let jobs = actions.found.into_iter();
                found.extend(jobs.filter_map(|action| self.action_job(person, action)));
                unread.extend(actions.unread.into_iter().map(|action| UnreadJob {
                    job: action_job_id(&action.id),
                    fault: action.fault,
                }));
            }
            Err(fault) => unread.push(UnreadJob { job: None, fault }),
        }
        let system = self.settings().system.into_iter().filter(|job| job.owner == *person);
        found.extend(system.map(|job| self.system_job(person, job)));
        ReadJobs { found, unread }
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

    /// What the job files of these people say, in the order of the people.
    async fn job_files(&self, people: &[PersonId]) -> Result<Vec<ReadJobs>, Fault> {
        let folder: ObjectKey = JOBS_FOLDER.parse().map_err(StoreError::from)?;
        let listed = list_folders(&*self.setup.files, people, &folder, MOST_JOBS).await?;
        let mut all: Vec<ReadJobs> = people.iter().map(|_| ReadJobs::default()).collect();
        let (mut wanted, mut named) = (Vec::new(), Vec::new());
        for (number, listed) in listed.into_iter().enumerate() {
            let listed = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    all[number].unread.push(UnreadJob { job: None, fault: error.into() });
                    continue;
                }
            };
            for key in listed.into_iter().filter(|entry| !entry.is_folder).map(|entry| entry.key) {
                match key.parts().last().and_then(file::id_of) {
                    None => {}
                    Some(Ok(id)) => {
                        wanted.push(VaultFile { person: people[number].clone(), key });
                        named.push((number, id));
                    }
                    Some(Err(stem)) => all[number].found.extend(misnamed(&stem)),
                }
            }
        }
        let longest = self.setup.roster.get().limits().max_action_bytes + LONGEST_FRONT;
        let read = read_files(&*self.setup.files, &wanted, longest as u64).await?;
        for ((number, id), read) in named.into_iter().zip(read) {
            match self.found_job(&people[number], id.clone(), read) {
                Ok(found) => all[number].found.push(found),
                Err(fault) => all[number].unread.push(UnreadJob { job: Some(id), fault }),
            }
        }
        for read in &mut all {
            read.found.sort_by(|one, other| one.id.cmp(&other.id));
        }
        Ok(all)
    }

    /// The job that a file describes; `read` is the file.
    fn found_job(
        &self,
        person: &PersonId,
        id: JobId,
        read: Result<Option<Object>, StoreError>,
    ) -> Result<FoundJob, Fault> {
        let broken = |why: String| FoundJob::broken(id.clone(), JobFlaw::new("file", why));
        let object = match read {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(broken("it is gone".to_owned())),
            // The file is a link, or longer than any job may be.
            Err(StoreError::Refused(why)) => return Ok(broken(why)),
            Err(error) => return Err(error.into()),
        };
        let Ok(text) = String::from_utf8(object.bytes) else {
            return Ok(broken("it is not UTF-8".to_owned()));
        };
        let (spec, warnings) = match self.read_text(person, &text, PastMoment::Read) {
            Ok((spec, warnings)) => (Ok(spec), warnings),
            Err(flaw) => (Err(flaw), Vec::new()),
        };
        Ok(FoundJob { id, text, spec, warnings })
    }

    /// The job that an action's `schedule:` makes.
    fn action_job(&self, person: &PersonId, action: Action) -> Option<FoundJob> {
        let Action { id, text, recipe, warnings, .. } = action;
        let recipe = recipe.ok()?;
        let schedule = recipe.schedule.as_deref()?.trim();
        let job = action_job_id(&id)?;
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

/// The jobs of all people at one moment.
pub(super) type AllJobs = BTreeMap<(PersonId, JobId), Job>;

/// The jobs of one person, as far as they can be read.
#[derive(Default)]
struct FoundJobs {
    jobs: Vec<Job>,
    unread: Vec<UnreadJob>,
}

/// What could be read of one person's jobs, without the ledger.
#[derive(Default)]
struct ReadJobs {
    found: Vec<FoundJob>,
    unread: Vec<UnreadJob>,
}

/// A job that may exist, but cannot be read now.
struct UnreadJob {
    /// `None`: it may be any job of the person.
    job: Option<JobId>,
    fault: Fault,
}

fn action_job_id(action: &str) -> Option<JobId> {
    format!("action:{action}").parse().ok()
}

/// A job whose file has a name that no job can have, so that the file is listed all the same.
fn misnamed(stem: &str) -> Option<FoundJob> {
    let why = format!(
        "{stem:?} is not a name for a job: use a-z, 0-9, '-' and '_' and begin with a letter or digit"
    );
    Some(FoundJob::broken(listed_as(stem)?, JobFlaw::new("file", why)))
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

/// The nearest valid id for a file whose name is none.
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
