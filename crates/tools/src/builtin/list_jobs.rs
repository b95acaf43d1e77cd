use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, tool};
use crate::{Asked, Authorised, JobDesk, Tool, ToolCx, ToolError};

pub(super) struct ListJobs {
    spec: ToolSpec,
    desk: Arc<dyn JobDesk>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

impl ListJobs {
    pub(super) fn new(desk: Arc<dyn JobDesk>) -> Self {
        let description = "The person's jobs: when they run, how the last run went.";
        let spec = tool::<Arguments>("list_jobs", "schedule", ToolEffect::Read, description);
        Self { spec, desk }
    }
}

#[async_trait]
impl Tool for ListJobs {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        self.desk.has_jobs(asked.person)
    }

    fn lacks(&self) -> String {
        "there are no jobs".to_owned()
    }

    fn summary(&self, _: &Value) -> String {
        "List jobs".to_owned()
    }

    async fn plan(&self, input: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let target = Target { name: "jobs".to_owned(), base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.spec, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let lines = self.desk.lines(&cx.key.person).await;
        let lines = lines.map_err(|fault| ToolError::Failed(fault.message))?;
        let output =
            if lines.is_empty() { "there are no jobs".to_owned() } else { lines.join("\n") };
        Ok(ToolOutcome::ok(output, plan.into_inner().summary))
    }
}
