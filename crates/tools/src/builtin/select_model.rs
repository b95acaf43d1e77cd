use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, text_argument};
use crate::schema::{arguments, schema_of};
use crate::{Asked, Authorised, ModelRouter, ModelWish, Tool, ToolCx, ToolError};

/// Lets an agent go on with another of the configured models.
pub(super) struct SelectModel {
    spec: ToolSpec,
    router: Arc<dyn ModelRouter>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// provider/model; default: by the rules
    model: Option<String>,
    /// Kind of work: code, reasoning, writing, …
    task: Option<String>,
    /// Only models on this machine
    local: Option<bool>,
}

impl SelectModel {
    pub(super) fn new(router: Arc<dyn ModelRouter>) -> Self {
        let spec = ToolSpec {
            name: "select_model".to_owned(),
            group: "model_routing",
            description: "Go on with another model for the rest of this run.".to_owned(),
            input_schema: schema_of::<Arguments>().into(),
            // Two at once would leave it open which of them counts.
            usual_effect: ToolEffect::Write,
            repeats: false,
            timeout: Duration::from_secs(5),
        };
        Self { spec, router }
    }
}

#[async_trait]
impl Tool for SelectModel {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        *asked.has_models.get_or_init(|| self.router.has_choice())
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let choose = Verb::new("choose", "choosing", "chose");
        match (text_argument(arguments, "model"), text_argument(arguments, "task")) {
            ("", "") => choose.of("a model"),
            ("", task) => choose.of(format!("a model for {task}")),
            (model, _) => Verb::new("go on with", "going on with", "went on with").of(model),
        }
    }

    async fn plan(&self, input: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let target = Target { name: "model".to_owned(), base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.spec, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, _: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { model, task, local } = arguments(&plan.arguments)?;
        let wish = ModelWish { model, task, local: local.unwrap_or(false) };
        let pick = self.router.pick(&wish).map_err(|fault| {
            ToolError::Arguments(format!("{} {}", fault.message, fault.hint()).trim().to_owned())
        })?;
        let output = format!("{} answers from here on. {}", pick.model, pick.reason);
        Ok(ToolOutcome { model: Some(pick.model), ..ToolOutcome::ok(output, plan.summary) })
    }
}
