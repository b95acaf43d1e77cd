//! What the job tools need from the agent crate.

use async_trait::async_trait;
use onyx_types::{Fault, JobId, PersonId};
use serde_json::{Map, Value};

/// A job as it would be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedJob {
    pub id: JobId,
    /// Its file.
    pub text: String,
    /// When it fires, in plain words.
    pub words: String,
    /// The next five times, where the person lives.
    pub next: Vec<String>,
}

/// Through which tools create, list and cancel jobs.
#[async_trait]
pub trait JobPort: Send + Sync {
    /// Does the person have jobs? Cheap.
    fn has_jobs(&self, person: &PersonId) -> bool;

    /// Checks a job and shows what it would be. Nothing is written.
    async fn propose(
        &self,
        person: &PersonId,
        id: &str,
        fields: Map<String, Value>,
    ) -> Result<ProposedJob, Fault>;

    /// A person agreed to exactly this file, which is written already.
    async fn accept(&self, person: &PersonId, id: &JobId, text: &str) -> Result<(), Fault>;

    /// One line for each job.
    async fn lines(&self, person: &PersonId) -> Result<Vec<String>, Fault>;

    async fn cancel(&self, person: &PersonId, id: &JobId) -> Result<(), Fault>;

    /// What a job says in one line, or that there is none.
    async fn line(&self, person: &PersonId, id: &JobId) -> Result<String, Fault>;
}

/// Where the file of a job stands in the vault.
pub fn job_path(id: &JobId) -> String {
    format!("{JOBS_FOLDER}/{}.md", id.name())
}

/// The folder of job files in a vault. It cannot be moved, because files there count as instructions.
pub const JOBS_FOLDER: &str = "agent/jobs";
