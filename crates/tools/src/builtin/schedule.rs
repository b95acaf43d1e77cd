use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Consent, Origin, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{changing, spec_of, text_argument, writing};
use crate::files::{AgentFiles, apply};
use crate::gate::AuthorisedBy;
use crate::{Authorised, JobPort, ToolCx, ToolError, TypedTool, job_path};

/// Creates a job. It always asks a person, because the job will fire unattended.
pub(super) struct Schedule {
    spec: ToolSpec,
    jobs: Arc<dyn JobPort>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    id: String,
    prompt: String,
    /// e.g. "0 8 * * MON-FRI"
    cron: Option<String>,
    /// e.g. "2h"; "2w" with `at` as its first time
    every: Option<String>,
    /// e.g. "2030-12-01T09:00"
    at: Option<String>,
    timezone: Option<String>,
}

impl Arguments {
    fn fields(&self) -> Map<String, Value> {
        let Self { prompt, cron, every, at, timezone, .. } = self;
        let named = [("cron", cron), ("every", every), ("at", at), ("timezone", timezone)];
        let fields = named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let fields = fields.chain([("prompt", prompt)]);
        fields.map(|(name, value)| (name.to_owned(), Value::String(value.clone()))).collect()
    }
}

impl Schedule {
    pub(super) fn new(jobs: Arc<dyn JobPort>) -> Self {
        let description = "Make a job that runs later, by cron, every or at. The person is asked.";
        let spec = spec_of::<Arguments>("schedule", "schedule", ToolEffect::Write, description);
        Self { spec, jobs }
    }
}

#[async_trait]
impl TypedTool for Schedule {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("schedule", "scheduling", "scheduled");
        verb.of(text_argument(arguments, "id"))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let proposed = self.jobs.propose(&cx.key.person, &arguments.id, arguments.fields()).await;
        let job = proposed.map_err(|fault| ToolError::Arguments(fault.message))?;
        let vault = AgentFiles::vault(cx)?;
        let key = crate::paths::key(&job_path(&job.id))?;
        let base = vault.read(&key).await?.map(|reading| reading.hash);
        let verb = if base.is_some() { "Change the job" } else { "Schedule" };
        let summary = format!("{verb} {}: {}", job.id, job.words);
        let text = format!("{}\nNext:\n  {}\n\n{}", job.words, job.next.join("\n  "), job.text);
        let target = vault.target(cx, &key, base);
        let plan = writing(&self.spec, target, summary, Preview::Text { text });
        Ok(Plan { consent: Consent::Person, ..changing(plan, &job.text, Origin::Person) })
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        if plan.by() != AuthorisedBy::Person {
            return Err(ToolError::Refused("only a person can agree to a job".to_owned()));
        }
        let plan = plan.into_inner();
        let id =
            arguments.id.parse().map_err(|error| ToolError::Arguments(format!("id: {error}")))?;
        let text = plan.changes.first().and_then(|change| change.after.clone()).unwrap_or_default();
        apply(&plan, cx).await?;
        let accepted = self.jobs.accept(&cx.key.person, &id, &text).await;
        accepted.map_err(|fault| ToolError::Failed(fault.message))?;
        Ok(ToolOutcome::ok(format!("done: {}", plan.summary), plan.summary))
    }
}
