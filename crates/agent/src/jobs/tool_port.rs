//! Answers the job tools: implements the port through which agents list, create and cancel jobs.

use async_trait::async_trait;
use onyx_tools::{JobPort, ProposedJob};
use onyx_types::{Fault, Hash, JobId, PersonId};
use serde_json::{Map, Value};

use super::edit::flawed;
use super::listing::{Job, JobState, prompt_of};
use super::{Jobs, describe, file, moment};

#[async_trait]
impl JobPort for Jobs {
    fn has_jobs(&self, person: &PersonId) -> bool {
        let known = &self.shared.with_jobs;
        known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).contains(person)
    }

    async fn propose(
        &self,
        person: &PersonId,
        id: &str,
        fields: Map<String, Value>,
    ) -> Result<ProposedJob, Fault> {
        let id: JobId = id.parse()?;
        let prompt = prompt_of(&fields).map_err(flawed)?;
        let (spec, next) = self.preview(person, &fields).await.map_err(flawed)?;
        let zone = &spec.timing.schedule.zone;
        Ok(ProposedJob {
            text: file::compose(&fields, prompt),
            words: describe(&spec.timing.schedule),
            next: next.into_iter().map(|at| moment(at, zone)).collect(),
            id,
        })
    }

    async fn accept(&self, person: &PersonId, id: &JobId, text: &str) -> Result<(), Fault> {
        let job = self.get(person, id).await?;
        // The file holds something else by now, which nobody has agreed to.
        if job.hash != Hash::of(text.as_bytes()) {
            return Err(Fault::plain(onyx_types::ErrorCode::VersionConflict));
        }
        self.accept_text(person, id, text).await.map(drop)
    }

    async fn lines(&self, person: &PersonId) -> Result<Vec<String>, Fault> {
        Ok(self.list(person).await?.iter().map(line).collect())
    }

    async fn cancel(&self, person: &PersonId, id: &JobId) -> Result<(), Fault> {
        self.remove(person, id).await
    }

    async fn line(&self, person: &PersonId, id: &JobId) -> Result<String, Fault> {
        self.get(person, id).await.map(|job| line(&job))
    }
}

fn line(job: &Job) -> String {
    let state = match &job.state {
        JobState::Active => "active".to_owned(),
        JobState::Paused(why) => format!("paused ({why})"),
        JobState::Disabled => "disabled".to_owned(),
        JobState::Waiting(_) => "waits for the person to accept it".to_owned(),
        JobState::Broken => "broken".to_owned(),
        JobState::Finished => "finished".to_owned(),
    };
    let when = match &job.spec {
        Ok(spec) => describe(&spec.timing.schedule),
        Err(flaw) => flaw.to_string(),
    };
    let next = match (&job.spec, job.next.first()) {
        (Ok(spec), Some(next)) => format!("; next {}", moment(*next, &spec.timing.schedule.zone)),
        _ => String::new(),
    };
    format!("{}: {when}; {state}{next}", job.id)
}
