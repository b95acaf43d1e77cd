//! What people do with jobs: create, change, accept, pause, resume, run now, delete.

use onyx_storage::{
    Area, AuditEntry, Expect, JobChange, JobRow, JobSlot, ObjectKey, SlotTrigger, StoreError,
};
use onyx_tools::{PersonFiles, job_path};
use onyx_types::{
    Actor, Approver, ErrorCode, Fault, Hash, JobId, JobKind, PersonId, RecordedTool, Timestamp,
};
use serde_json::{Map, Value};

use super::fields::{FIELDS, PastMoment};
use super::listing::{Job, JobState, no_such_job, prompt_of};
use super::schedule::Rule;
use super::spec::{JobFlaw, JobSpec};
use super::{Jobs, JobsCore, file};

/// Fields of a job, as a person sends them; `null` removes one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobEdit {
    pub fields: Map<String, Value>,
}

impl JobEdit {
    fn check_names(&self) -> Result<(), Fault> {
        match self.fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            Some(odd) => {
                let message = format!("{odd}: a job has no such field");
                let hint = format!("There are {}.", FIELDS.join(", "));
                Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint))
            }
            None => Ok(()),
        }
    }
}

impl Jobs {
    /// Creates a job, accepted by the person who creates it.
    pub async fn create(
        &self,
        approver: &Approver,
        id: &JobId,
        edit: JobEdit,
    ) -> Result<Job, Fault> {
        edit.check_names()?;
        if id.kind() != JobKind::File {
            let message = "id: only a job with a file of its own can be created";
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
        let person = approver.person();
        let prompt = prompt_of(&edit.fields).map_err(flawed)?.to_owned();
        self.shared.written_spec(person, &edit.fields, &prompt).await.map_err(flawed)?;
        let text = file::compose(&edit.fields, &prompt);
        self.shared.write(person, id, &text, Expect::Absent).await.map_err(|fault| {
            if fault.code == ErrorCode::VersionConflict {
                let message = format!("id: a job {id} already exists");
                return Fault::new(ErrorCode::VersionConflict, message)
                    .with_hint("Change it, or choose another id.");
            }
            fault
        })?;
        self.accept_text(person, id, &text).await
    }

    /// Changes the fields that are named. The person who changes a job thereby accepts its new
    /// content.
    pub async fn change(
        &self,
        approver: &Approver,
        id: &JobId,
        edit: JobEdit,
        expected: Option<Hash>,
    ) -> Result<Job, Fault> {
        edit.check_names()?;
        let person = approver.person();
        let job = self.get(person, id).await?;
        only_files(&job)?;
        if expected.is_some_and(|expected| expected != job.hash) {
            return Err(Fault::plain(ErrorCode::VersionConflict));
        }
        // The file cannot be parsed, so it is replaced completely.
        let (mut fields, mut prompt) = file::front_of(&job.text).unwrap_or_default();
        if edit.fields.contains_key("prompt") {
            prompt = prompt_of(&edit.fields).map_err(flawed)?.to_owned();
        }
        for (name, value) in edit.fields.into_iter().filter(|(name, _)| name != "prompt") {
            if value.is_null() {
                fields.shift_remove(&name);
            } else {
                fields.insert(name, value);
            }
        }
        self.shared.written_spec(person, &fields, &prompt).await.map_err(flawed)?;
        let text = file::compose(&fields, &prompt);
        self.shared.write(person, id, &text, Expect::Is(job.hash)).await?;
        self.accept_text(person, id, &text).await
    }

    /// Accepts exactly the content that the person has looked at.
    pub async fn accept(&self, approver: &Approver, id: &JobId, seen: Hash) -> Result<Job, Fault> {
        let person = approver.person();
        let job = self.get(person, id).await?;
        if job.hash != seen {
            let message = format!("The job {id} has changed since you looked at it.");
            return Err(
                Fault::new(ErrorCode::VersionConflict, message).with_hint("Look at it again.")
            );
        }
        let spec = job.spec.clone().map_err(flawed)?;
        let now = self.shared.setup.clock.wall();
        if spec.timing.schedule.next_after(now, now).is_none() {
            let message = format!("The job {id} has no future time.");
            return Err(
                Fault::new(ErrorCode::InvalidRequest, message).with_hint("Change when it runs.")
            );
        }
        self.accept_text(person, id, &job.text).await
    }

    pub(super) async fn accept_text(
        &self,
        person: &PersonId,
        id: &JobId,
        text: &str,
    ) -> Result<Job, Fault> {
        let before = self.shared.setup.jobs.job(person, id).await?;
        let by = Actor::Person(person.clone());
        self.shared.put_accepted(person, id, text, before, by).await?;
        self.shared.changed(person, id);
        self.get(person, id).await
    }

    pub async fn pause(&self, person: &PersonId, id: &JobId) -> Result<Job, Fault> {
        let why = "You paused it.".to_owned();
        self.change_row(person, id, JobChange { paused: Some(Some(why)), ..JobChange::default() })
            .await
    }

    /// Ends a pause. Slots whose time passed during the pause are not fired.
    pub async fn resume(&self, person: &PersonId, id: &JobId) -> Result<Job, Fault> {
        let job = self.get(person, id).await?;
        let now = self.shared.setup.clock.wall();
        let settled = job.row.as_ref().map(|row| row.settled.max(now));
        let change =
            JobChange { paused: Some(None), failures: Some(0), settled, ..JobChange::default() };
        self.change_row(person, id, change).await
    }

    /// Records that the person has looked at the job's results.
    pub async fn mark_seen(&self, person: &PersonId, id: &JobId) -> Result<Job, Fault> {
        let seen_at = Some(self.shared.setup.clock.wall());
        self.change_row(person, id, JobChange { seen_at, ..JobChange::default() }).await
    }

    async fn change_row(
        &self,
        person: &PersonId,
        id: &JobId,
        change: JobChange,
    ) -> Result<Job, Fault> {
        let job = self.get(person, id).await?;
        if !self.shared.setup.jobs.change_job(person, id, change).await? {
            return Err(not_accepted(&job));
        }
        self.shared.changed(person, id);
        self.get(person, id).await
    }

    /// Fires the job once, now, regardless of its schedule. Returns the new slot.
    pub async fn run_now(&self, person: &PersonId, id: &JobId) -> Result<JobSlot, Fault> {
        let job = self.get(person, id).await?;
        job.spec.clone().map_err(flawed)?;
        if matches!(job.state, JobState::Waiting(_)) {
            return Err(not_accepted(&job));
        }
        let mut at = self.shared.setup.clock.wall();
        loop {
            let slot = JobSlot::queued(person.clone(), id.clone(), at, SlotTrigger::Person);
            if self.shared.setup.jobs.add_slot(slot.clone()).await? {
                self.shared.changed(person, id);
                return Ok(slot);
            }
            at = Timestamp::from_millis(at.as_millis() + 1);
        }
    }

    /// Deletes the job with its history. The file's last content stays among its versions.
    pub async fn remove(&self, person: &PersonId, id: &JobId) -> Result<(), Fault> {
        let job = self.get(person, id).await?;
        only_files(&job)?;
        let path = format!("vault/{}", job_path(id));
        self.shared.person_files(person).delete(&path, Expect::Anything).await?;
        let by = Actor::Person(person.clone());
        let audit = self.shared.audit(person, by, format!("removed the job {id}"));
        self.shared.setup.jobs.remove_job(person, id, audit).await?;
        self.shared.changed(person, id);
        Ok(())
    }
}

impl JobsCore {
    /// Records that a person, or the config for the system's jobs, accepted this content.
    pub(super) async fn put_accepted(
        &self,
        person: &PersonId,
        id: &JobId,
        text: &str,
        before: Option<JobRow>,
        by: Actor,
    ) -> Result<(), Fault> {
        let now = self.setup.clock.wall();
        // The anchor is a whole second, so that the times counted from it are easy to read.
        let fresh = Timestamp::from_millis(now.as_millis().div_euclid(1_000) * 1_000);
        let hash = Hash::of(text.as_bytes());
        let anchor = match &before {
            Some(row) if self.counts_alike(person, &row.accepted_text, text) => row.anchor,
            Some(_) | None => fresh,
        };
        let row = JobRow {
            person: person.clone(),
            job: id.clone(),
            accepted_hash: hash,
            accepted_text: text.to_owned(),
            accepted_at: now,
            anchor,
            settled: now,
            paused: before.as_ref().and_then(|row| row.paused.clone()),
            failures: before.as_ref().map_or(0, |row| row.failures),
            session: before.as_ref().and_then(|row| row.session),
            seen_at: before.as_ref().and_then(|row| row.seen_at),
        };
        let audit = self.audit(person, by, format!("accepted the job {id} as {hash}"));
        Ok(self.setup.jobs.put_job(row, audit).await?)
    }

    /// Whether both texts count the same period. Then the job keeps its anchor, so that an edit of
    /// something else moves no slot.
    fn counts_alike(&self, person: &PersonId, before: &str, after: &str) -> bool {
        let rule = |text: &str| {
            let read = self.read_text(person, text, PastMoment::Read);
            read.ok().map(|(spec, _): (JobSpec, _)| spec.timing.schedule.rule)
        };
        match (rule(before), rule(after)) {
            (Some(Rule::Every { period, .. }), Some(Rule::Every { period: other, .. })) => {
                period == other
            }
            _ => false,
        }
    }

    pub(super) fn audit(&self, person: &PersonId, by: Actor, what: String) -> AuditEntry {
        AuditEntry {
            ts: self.setup.clock.wall(),
            person: person.clone(),
            actor: by,
            agent: None,
            session: None,
            run: None,
            tool: Some(RecordedTool::constant("job")),
            effect: None,
            decision: None,
            diff_summary: what,
            result: "ok".to_owned(),
        }
    }

    pub(super) fn changed(&self, person: &PersonId, id: &JobId) {
        self.tell(person, id, None);
        self.wake.notify_one();
    }

    fn person_files(&self, person: &PersonId) -> PersonFiles {
        let (files, clock) = (self.setup.files.clone(), self.setup.clock.clone());
        PersonFiles::new(files, person.clone(), clock)
    }

    async fn write(
        &self,
        person: &PersonId,
        id: &JobId,
        text: &str,
        expect: Expect,
    ) -> Result<(), Fault> {
        // Opening the vault creates it if it does not exist yet.
        self.setup.files.objects(&Area::Vault(person.clone()))?;
        let path = format!("vault/{}", job_path(id));
        let _: ObjectKey = path.parse().map_err(StoreError::from)?;
        self.person_files(person).write(&path, text.as_bytes(), expect).await?;
        Ok(())
    }
}

pub(super) fn flawed(flaw: JobFlaw) -> Fault {
    let JobFlaw { field, why, example } = flaw;
    let fault = Fault::new(ErrorCode::InvalidRequest, format!("{field}: {why}"));
    match example {
        Some(example) => fault.with_hint(format!("For example: {example}.")),
        None => fault,
    }
}

fn only_files(job: &Job) -> Result<(), Fault> {
    let (what, hint) = match job.kind {
        JobKind::File => return Ok(()),
        JobKind::Action => ("comes from an action", "Change `schedule:` in the action's file."),
        JobKind::System => ("comes from the config", "Change `jobs` in onyx.json."),
    };
    let message = format!("The job {} {what}.", job.id);
    Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint))
}

fn not_accepted(job: &Job) -> Fault {
    if job.row.is_none() && job.state == JobState::Broken {
        return no_such_job(&job.id);
    }
    let message = format!("What the job {} says now is not accepted.", job.id);
    Fault::new(ErrorCode::ConfirmationRequired, message)
        .with_hint("Look at it in the Inbox and accept it.")
}
