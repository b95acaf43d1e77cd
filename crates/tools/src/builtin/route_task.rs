use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::ask_agent::{PATIENCE, failed, told};
use super::select_model::picked;
use super::{acting, text_argument, tool};
use crate::schema::arguments;
use crate::{Asked, Authorised, Delegates, ModelRouter, ModelWish, Tool, ToolCx, ToolError};

pub(super) struct RouteTask {
    spec: ToolSpec,
    delegates: Arc<dyn Delegates>,
    router: Arc<dyn ModelRouter>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
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
            ..tool::<Arguments>("route_task", "model_routing", ToolEffect::Write, description)
        };
        Self { spec, delegates, router }
    }
}

#[async_trait]
impl Tool for RouteTask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        *asked.has_models.get_or_init(|| self.router.has_choice())
    }

    fn summary(&self, arguments: &Value) -> String {
        match (text_argument(arguments, "model"), text_argument(arguments, "task")) {
            ("", "") => "Let another model do a task".to_owned(),
            ("", task) => format!("Let another model do a task of {task}"),
            (model, _) => format!("Let {model} do a task"),
        }
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { prompt, model, task, local } = arguments(&input)?;
        let wish = ModelWish { model, task, local: local.unwrap_or(false) };
        let pick = picked(&*self.router, wish, cx)?;
        // The task's words go to that model, which may be the first of its provider to hear of it.
        let leaves = cx.audience.grows_by(&pick);
        let effect = if leaves { ToolEffect::Reach } else { ToolEffect::Write };
        let target = Target { name: pick.model.clone(), base: None, instruction: false };
        let preview = Preview::Text { text: format!("to {}:\n{prompt}", pick.model) };
        let plan = acting(&self.spec, input, effect, target, preview);
        Ok(Plan { summary: format!("Let {} do a task", pick.model), ..plan })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { prompt, .. } = arguments(&plan.arguments)?;
        // The one that the plan names, whatever the rules would choose by now.
        let model = plan.targets.first().map(|target| target.name.as_str()).unwrap_or_default();
        let answered = self.delegates.think(model, &prompt, cx).await;
        Ok(told(answered.map_err(|fault| failed(&fault))?, plan.summary))
    }
}
