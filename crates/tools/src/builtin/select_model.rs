use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, ModelId, PersonId, Plan, Preview, Target, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, reading, spec_of, text_argument};
use crate::{Authorised, ModelPick, ModelRouter, ModelWish, ToolCx, ToolError, TypedTool};

const NAME: &str = "select_model";

/// Lets an agent continue with another of the configured models.
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
            // Calls run one after another, so that it is clear which model was chosen last.
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
            (model, _) => Verb::new("continue with", "continuing with", "continued with").of(model),
        }
    }

    /// Plans to continue with another model. The whole conversation is sent to it, so the call
    /// counts as sending if its provider does not have the conversation yet.
    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { model, task, local } = arguments;
        let (model, task) = (model.as_ref().map(ModelId::new), task.clone());
        let wish = ModelWish { model, task, local: local.unwrap_or(false) };
        let pick = picked(&*self.router, wish, cx)?;
        let target = Target::Model(pick.model.clone());
        let summary = format!("Continue with {}", pick.model);
        if !cx.audience.grows_by(&pick) {
            return Ok(Plan { summary, ..reading(&self.spec, target) });
        }
        let text = format!("The whole conversation goes to {}. {}", pick.model, pick.reason);
        let preview = Preview::Text { text: text.trim().to_owned() };
        Ok(Plan { summary, ..acting(&self.spec, ToolEffect::Reach, target, preview) })
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        _: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Some(model) = selected_model(&plan) else {
            return Err(ToolError::Failed("the plan names no model".to_owned()));
        };
        let output = format!("{model} answers from here on.");
        Ok(ToolOutcome { model: Some(model), ..ToolOutcome::ok(output, plan.summary) })
    }
}

/// The model that a plan of this tool continues with; `None` for every other plan.
pub fn selected_model(plan: &Plan) -> Option<ModelId> {
    let own = plan.targets.first().filter(|_| plan.tool == *NAME)?;
    match &own.target {
        Target::Model(model) => Some(model.clone()),
        _ => None,
    }
}

/// The model that the config's rules choose, if the agent may use it.
pub(super) fn picked(
    router: &dyn ModelRouter,
    wish: ModelWish,
    cx: &ToolCx,
) -> Result<ModelPick, ToolError> {
    let pick = router.pick(&cx.audience.bound(wish)).map_err(|fault| {
        ToolError::Arguments(format!("{} {}", fault.message, fault.hint()).trim().to_owned())
    })?;
    if cx.audience.refuses(&pick) {
        let why = format!(
            "{} is not a model of this machine, and only those may be used here",
            pick.model
        );
        return Err(ToolError::Refused(why));
    }
    Ok(pick)
}
