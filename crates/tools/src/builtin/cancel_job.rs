use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{JobId, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, text_argument, tool};
use crate::files::Place;
use crate::schema::arguments;
use crate::{Asked, Authorised, JobDesk, Tool, ToolCx, ToolError, job_path};

/// Takes a job away. Its file goes with a kept version, so a person can bring it back.
pub(super) struct CancelJob {
    spec: ToolSpec,
    desk: Arc<dyn JobDesk>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
}

impl Arguments {
    fn id(&self) -> Result<JobId, ToolError> {
        self.id.parse().map_err(|error| ToolError::Arguments(format!("id: {error}")))
    }
}

impl CancelJob {
    pub(super) fn new(desk: Arc<dyn JobDesk>) -> Self {
        let description = "Take a job away for good.";
        let spec = tool::<Arguments>("cancel_job", "schedule", ToolEffect::Write, description);
        Self { spec, desk }
    }
}

#[async_trait]
impl Tool for CancelJob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        self.desk.has_jobs(asked.person)
    }

    fn lacks(&self) -> String {
        "there are no jobs".to_owned()
    }

    fn summary(&self, arguments: &Value) -> String {
        format!("Cancel the job {}", text_argument(arguments, "id"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let id = arguments::<Arguments>(&input)?.id()?;
        let line = self.desk.line(&cx.key.person, &id).await;
        let text = line.map_err(|fault| ToolError::Arguments(fault.message))?;
        let vault = Place::vault(cx)?;
        let key = crate::paths::key(&job_path(&id))?;
        let base = vault.read(&key).await?.map(|reading| reading.hash);
        let target = vault.target(cx, &key, base);
        let summary = self.summary(&input);
        let plan = acting(&self.spec, input, ToolEffect::Write, target, Preview::Text { text });
        Ok(Plan { summary, ..plan })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let id = arguments::<Arguments>(&plan.arguments)?.id()?;
        let cancelled = self.desk.cancel(&cx.key.person, &id).await;
        cancelled.map_err(|fault| ToolError::Failed(fault.message))?;
        Ok(ToolOutcome::ok(format!("the job {id} is gone"), plan.summary))
    }
}
