use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, reading, text_argument};
use crate::schema::{arguments, schema_of};
use crate::{Asked, Authorised, ModelPick, ModelRouter, ModelWish, Tool, ToolCx, ToolError};

const NAME: &str = "select_model";

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
            name: NAME.to_owned(),
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

    fn summary(&self, arguments: &Value) -> String {
        match (text_argument(arguments, "model"), text_argument(arguments, "task")) {
            ("", "") => "Choose a model".to_owned(),
            ("", task) => format!("Choose a model for {task}"),
            (model, _) => format!("Go on with {model}"),
        }
    }

    /// The whole conversation goes to the model that takes over: where somebody hears it who did not before, it leaves.
    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { model, task, local } = arguments(&input)?;
        let wish = ModelWish { model, task, local: local.unwrap_or(false) };
        let pick = picked(&*self.router, wish, cx)?;
        let target = Target { name: pick.model.clone(), base: None, instruction: false };
        let summary = format!("Go on with {}", pick.model);
        if !cx.audience.grows_by(&pick) {
            return Ok(reading(&self.spec, input, target, summary));
        }
        let text = format!("The whole conversation goes to {}. {}", pick.model, pick.reason);
        let preview = Preview::Text { text: text.trim().to_owned() };
        Ok(Plan { summary, ..acting(&self.spec, input, ToolEffect::Reach, target, preview) })
    }

    async fn invoke(&self, plan: Authorised<Plan>, _: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let model = selected_model(&plan).unwrap_or_default();
        let output = format!("{model} answers from here on.");
        Ok(ToolOutcome { model: Some(model), ..ToolOutcome::ok(output, plan.summary) })
    }
}

/// The model that a plan of this tool goes on with; `None` for every other plan.
pub fn selected_model(plan: &Plan) -> Option<String> {
    let target = plan.targets.first().filter(|_| plan.tool == NAME)?;
    Some(target.name.clone())
}

/// What the config's rules make of a wish, where the agent may use it.
pub(super) fn picked(
    router: &dyn ModelRouter,
    wish: ModelWish,
    cx: &ToolCx,
) -> Result<ModelPick, ToolError> {
    let pick = router.pick(&cx.audience.bound(wish)).map_err(|fault| {
        ToolError::Arguments(format!("{} {}", fault.message, fault.hint()).trim().to_owned())
    })?;
    if cx.audience.refuses(&pick) {
        let why = format!("only models of this machine may be used here, and {} is none", pick.model);
        return Err(ToolError::Refused(why));
    }
    Ok(pick)
}
