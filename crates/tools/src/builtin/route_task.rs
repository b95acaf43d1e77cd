use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, ModelId, PersonId, Plan, Preview, Target, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::ask_agent::{PATIENCE, failed, outcome_of};
use super::select_model::picked;
use super::{acting, spec_of, text_argument};
use crate::{Authorised, Delegates, ModelRouter, ModelWish, ToolCx, ToolError, TypedTool};

pub(super) struct RouteTask {
    spec: ToolSpec,
    delegates: Arc<dyn Delegates>,
    router: Arc<dyn ModelRouter>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// All the model needs to know
    #[schemars(length(min = 1))]
    prompt: String,
    /// provider/model; default: by the rules
    model: Option<String>,
    /// Kind of work: code, reasoning, writing, …
    task: Option<String>,
    /// Only models on this machine
    local: Option<bool>,
}

impl RouteTask {
    pub(super) fn new(delegates: Arc<dyn Delegates>, router: Arc<dyn ModelRouter>) -> Self {
        let description = "Let another model do a task and get its answer.";
        let spec = ToolSpec {
            timeout: PATIENCE,
            needs: vec![Capability::Models],
            ..spec_of::<Arguments>("route_task", "model_routing", ToolEffect::Write, description)
        };
        Self { spec, delegates, router }
    }
}

#[async_trait]
impl TypedTool for RouteTask {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, _: &PersonId) -> Result<(), String> {
        if self.router.has_choice() { Ok(()) } else { Err(String::new()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let whom = match (text_argument(arguments, "model"), text_argument(arguments, "task")) {
            ("", "") => "another model do a task".to_owned(),
            ("", task) => format!("another model do a task of {task}"),
            (model, _) => format!("{model} do a task"),
        };
        Verb::new("let", "letting", "let").of(whom)
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { prompt, model, task, local } = arguments;
        let (model, task) = (model.as_ref().map(ModelId::new), task.clone());
        let wish = ModelWish { model, task, local: local.unwrap_or(false) };
        let pick = picked(&*self.router, wish, cx)?;
        // The task is sent to that model, whose provider may not have seen anything of the
        // conversation yet.
        let leaves = cx.audience.grows_by(&pick);
        let effect = if leaves { ToolEffect::Reach } else { ToolEffect::Write };
        let target = Target::Model(pick.model.clone());
        let preview = Preview::Text { text: format!("to {}:\n{prompt}", pick.model) };
        let plan = acting(&self.spec, effect, target, preview);
        Ok(Plan { summary: format!("Let {} do a task", pick.model), ..plan })
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { prompt, .. } = arguments;
        // The model of the plan is used, even if the rules would choose another one by now.
        let Some(model) = plan.targets.first().map(|own| ModelId::new(own.target.to_string()))
        else {
            return Err(ToolError::Failed("the plan names no model".to_owned()));
        };
        let answered = self.delegates.think(&model, &prompt, cx).await;
        Ok(outcome_of(answered.map_err(|fault| failed(&fault))?, plan.summary))
    }
}
