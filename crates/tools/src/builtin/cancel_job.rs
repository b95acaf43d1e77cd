use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, JobId, PersonId, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, spec_of, text_argument};
use crate::files::AgentFiles;
use crate::{Authorised, JobPort, ToolCx, ToolError, TypedTool, job_path};

/// Deletes a job. A version of its file is kept, so a person can bring it back.
pub(super) struct CancelJob {
    spec: ToolSpec,
    jobs: Arc<dyn JobPort>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    id: String,
}

impl Arguments {
    fn id(&self) -> Result<JobId, ToolError> {
        self.id.parse().map_err(|error| ToolError::Arguments(format!("id: {error}")))
    }
}

impl CancelJob {
    pub(super) fn new(jobs: Arc<dyn JobPort>) -> Self {
        let description = "Take a job away for good.";
        let spec = spec_of::<Arguments>("cancel_job", "schedule", ToolEffect::Write, description);
        let spec = ToolSpec { needs: vec![Capability::Jobs], ..spec };
        Self { spec, jobs }
    }
}

#[async_trait]
impl TypedTool for CancelJob {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        if self.jobs.has_jobs(person) { Ok(()) } else { Err("there are no jobs".to_owned()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let [plain, doing, did] =
            ["cancel", "cancelling", "cancelled"].map(|verb| format!("{verb} the job"));
        Verb::new(&plain, &doing, &did).of(text_argument(arguments, "id"))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let id = arguments.id()?;
        let line = self.jobs.line(&cx.key.person, &id).await;
        let text = line.map_err(|fault| ToolError::Arguments(fault.message))?;
        let vault = AgentFiles::vault(cx)?;
        let key = crate::paths::key(&job_path(&id))?;
        let base = vault.read(&key).await?.map(|reading| reading.hash);
        let target = vault.target(cx, &key, base);
        Ok(acting(&self.spec, ToolEffect::Write, target, Preview::Text { text }))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let id = arguments.id()?;
        let cancelled = self.jobs.cancel(&cx.key.person, &id).await;
        cancelled.map_err(|fault| ToolError::Failed(fault.message))?;
        Ok(ToolOutcome::ok(format!("the job {id} is gone"), plan.summary))
    }
}
