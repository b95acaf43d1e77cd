use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, PersonId, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of};
use crate::{Authorised, JobPort, ToolCx, ToolError, TypedTool};

pub(super) struct ListJobs {
    spec: ToolSpec,
    jobs: Arc<dyn JobPort>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

impl ListJobs {
    pub(super) fn new(jobs: Arc<dyn JobPort>) -> Self {
        let description = "The person's jobs: when they run, how the last run went.";
        let spec = spec_of::<Arguments>("list_jobs", "schedule", ToolEffect::Read, description);
        let spec = ToolSpec { needs: vec![Capability::Jobs], ..spec };
        Self { spec, jobs }
    }
}

#[async_trait]
impl TypedTool for ListJobs {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        if self.jobs.has_jobs(person) { Ok(()) } else { Err("there are no jobs".to_owned()) }
    }

    fn label(&self, _: &Value) -> CallLabel {
        Verb::new("list", "listing", "listed").of("jobs")
    }

    async fn plan(&self, _: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        Ok(reading(&self.spec, Target::Jobs))
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let lines = self.jobs.lines(&cx.key.person).await;
        let lines = lines.map_err(|fault| ToolError::Failed(fault.message))?;
        let output =
            if lines.is_empty() { "there are no jobs".to_owned() } else { lines.join("\n") };
        Ok(ToolOutcome::ok(output, plan.into_inner().summary))
    }
}
