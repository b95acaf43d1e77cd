use async_trait::async_trait;
use onyx_types::{CallLabel, Origin, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};

use super::{NoArguments, failed, files, reading, spec, target};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(super) struct ListTestInputs(ToolSpec);

impl ListTestInputs {
    pub(super) fn new() -> Self {
        let description = "Every test input of the persona, with its content.";
        Self(spec::<NoArguments>("list_test_inputs", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for ListTestInputs {
    type Arguments = NoArguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, _: &Value) -> CallLabel {
        Verb::new("list", "listing", "listed").of("the test inputs")
    }

    async fn plan(&self, _: &NoArguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let target = target(files(cx)?.system_prompt_name(), None);
        Ok(reading(&self.0, target))
    }

    async fn invoke(
        &self,
        _: NoArguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let inputs = files(cx)?.test_inputs().await.map_err(failed)?;
        let origins = inputs.iter().map(|input| input.content.origin);
        let origin = origins.max().unwrap_or(Origin::Person);
        let one = |input: &onyx_storage::TestInput| json!({"id": input.id.as_str(), "content": input.content.text});
        let output = json!({"testInputs": inputs.iter().map(one).collect::<Vec<_>>()});
        let summary = plan.into_inner().summary;
        Ok(ToolOutcome::ok(output.to_string(), summary).from_origin(origin))
    }
}
