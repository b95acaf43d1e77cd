use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, PersonId, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::{Authorised, ModelRouter, ModelWish, ToolCx, ToolError, TypedTool};

/// Lets an agent go on with another of the configured models.
pub(super) struct SelectModel {
    spec: ToolSpec,
    router: Arc<dyn ModelRouter>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// provider/model; default: by the rules
    model: Option<String>,
    /// Kind of work: code, reasoning, writing, …
    task: Option<String>,
    /// Only models on this machine
    local: Option<bool>,
}

impl SelectModel {
    pub(super) fn new(router: Arc<dyn ModelRouter>) -> Self {
        let description = "Go on with another model for the rest of this run.";
        let spec = ToolSpec {
            timeout: Duration::from_secs(5),
            needs: vec![Capability::Models],
            // Two at once would leave it open which of them counts.
            ..spec_of::<Arguments>("select_model", "model_routing", ToolEffect::Write, description)
        };
        Self { spec, router }
    }
}

#[async_trait]
impl TypedTool for SelectModel {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, _: &PersonId) -> Result<(), String> {
        if self.router.has_choice() { Ok(()) } else { Err(String::new()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let choose = Verb::new("choose", "choosing", "chose");
        match (text_argument(arguments, "model"), text_argument(arguments, "task")) {
            ("", "") => choose.of("a model"),
            ("", task) => choose.of(format!("a model for {task}")),
            (model, _) => Verb::new("go on with", "going on with", "went on with").of(model),
        }
    }

    async fn plan(&self, _: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        Ok(reading(&self.spec, Target::ModelChoice))
    }

    async fn invoke(
        &self,
        asked: Arguments,
        plan: Authorised<Plan>,
        _: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { model, task, local } = asked;
        let wish = ModelWish { model, task, local: local.unwrap_or(false) };
        let pick = self.router.pick(&wish).map_err(|fault| {
            ToolError::Arguments(format!("{} {}", fault.message, fault.hint()).trim().to_owned())
        })?;
        let output = format!("{} answers from here on. {}", pick.model, pick.reason);
        Ok(ToolOutcome { model: Some(pick.model), ..ToolOutcome::ok(output, plan.summary) })
    }
}
