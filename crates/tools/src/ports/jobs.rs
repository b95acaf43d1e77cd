//! What the job tools need from the agent crate.

use async_trait::async_trait;
use onyx_types::{Fault, JobId, PersonId};
use serde_json::{Map, Value};

/// A job as it would be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedJob {
    pub id: JobId,
    /// The content of its file.
    pub text: String,
    /// The schedule in plain words.
    pub words: String,
    /// The next five times, in the person's time zone.
    pub next: Vec<String>,
}

/// Creates, lists and cancels jobs for the job tools.
#[async_trait]
pub trait JobPort: Send + Sync {
    /// Whether the person has jobs. It must be cheap.
    fn has_jobs(&self, person: &PersonId) -> bool;

    /// Checks a job and describes it. Nothing is written.
    async fn propose(
        &self,
        person: &PersonId,
        id: &str,
        fields: Map<String, Value>,
    ) -> Result<ProposedJob, Fault>;

    /// Accepts exactly this content of a job, to which a person agreed. The file is written
    /// already.
    async fn accept(&self, person: &PersonId, id: &JobId, text: &str) -> Result<(), Fault>;

    /// A line of text for each job.
    async fn lines(&self, person: &PersonId) -> Result<Vec<String>, Fault>;

    async fn cancel(&self, person: &PersonId, id: &JobId) -> Result<(), Fault>;

    /// A line of text about a job, or the message that there is none.
    async fn line(&self, person: &PersonId, id: &JobId) -> Result<String, Fault>;
}

/// The path of a job's file in the vault.
pub fn job_path(id: &JobId) -> String {
    format!("{JOBS_FOLDER}/{}.md", id.name())
}

/// The folder of job files in a vault. It cannot be moved, because files there count as instructions.
pub const JOBS_FOLDER: &str = "agent/jobs";
