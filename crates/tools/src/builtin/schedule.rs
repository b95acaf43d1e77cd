use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{Consent, Origin, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{changing, text_argument, tool, writing};
use crate::files::{Place, apply};
use crate::gate::By;
use crate::schema::arguments;
use crate::{Authorised, JobDesk, Tool, ToolCx, ToolError, job_path};

/// Makes a job. It always asks: what fires later, with nobody there, is agreed to beforehand.
pub(super) struct Schedule {
    spec: ToolSpec,
    desk: Arc<dyn JobDesk>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Short name, e.g. "morning-summary"
    id: String,
    /// What to do then
    prompt: String,
    /// e.g. "0 8 * * MON-FRI"
    cron: Option<String>,
    /// e.g. "2h", or "2w" with the first time as `at`
    every: Option<String>,
    /// e.g. "2030-12-01T09:00"
    at: Option<String>,
    /// Default: the person's
    timezone: Option<String>,
}

impl Arguments {
    fn fields(self) -> (String, Map<String, Value>) {
        let Self { id, prompt, cron, every, at, timezone } = self;
        let named = [("cron", cron), ("every", every), ("at", at), ("timezone", timezone)];
        let given = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let given = given.chain([("prompt", prompt)]);
        (id, given.map(|(name, value)| (name.to_owned(), Value::String(value))).collect())
    }
}

impl Schedule {
    pub(super) fn new(desk: Arc<dyn JobDesk>) -> Self {
        let description = "Make a job that runs later, by cron, every or at. The person is asked.";
        let spec = tool::<Arguments>("schedule", "schedule", ToolEffect::Write, description);
        Self { spec, desk }
    }
}

#[async_trait]
impl Tool for Schedule {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, arguments: &Value) -> String {
        format!("Schedule {}", text_argument(arguments, "id"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let (id, fields) = arguments::<Arguments>(&input)?.fields();
        let proposed = self.desk.propose(&cx.key.person, &id, fields).await;
        let job = proposed.map_err(|fault| ToolError::Arguments(fault.message))?;
        let vault = Place::vault(cx)?;
        let key = crate::paths::key(&job_path(&job.id))?;
        let base = vault.read(&key).await?.map(|reading| reading.hash);
        let verb = if base.is_some() { "Change the job" } else { "Schedule" };
        let summary = format!("{verb} {}: {}", job.id, job.words);
        let text = format!("{}\nNext:\n  {}\n\n{}", job.words, job.next.join("\n  "), job.text);
        let target = vault.target(cx, &key, base);
        let plan = writing(&self.spec, input, target, summary, Preview::Text { text });
        Ok(Plan { consent: Consent::Person, ..changing(plan, &job.text, Origin::Person) })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        if plan.by() != By::Person {
            return Err(ToolError::Refused("only a person can agree to a job".to_owned()));
        }
        let plan = plan.into_inner();
        let (id, _) = arguments::<Arguments>(&plan.arguments)?.fields();
        let id = id.parse().map_err(|error| ToolError::Arguments(format!("id: {error}")))?;
        let text = plan.changes.first().and_then(|change| change.after.clone()).unwrap_or_default();
        apply(&plan, cx).await?;
        let accepted = self.desk.accept(&cx.key.person, &id, &text).await;
        accepted.map_err(|fault| ToolError::Failed(fault.message))?;
        Ok(ToolOutcome::ok(format!("done: {}", plan.summary), plan.summary))
    }
}
